//! All viewers are cut at once and come back, while the publisher goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::View;
use model::event::RunStatus;
use tests::wait::{load_for, patiently, within};
use tests::wire::WebSocketWire;
use tests::{TestHub, TestViewer};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::settings::{Bytes, SeededRandom, Settings, allow_files};
use crate::story::{CLOSE, OPEN, StoryWords};

/// Viewers that connect at the same time before the storm.
const AT_ONCE: usize = 64;

/// Between two publications.
const PACE: Duration = Duration::from_millis(20);

/// What a viewer brings home.
struct Survivor {
    viewer: TestViewer,
    /// From the cut on.
    live_after: Duration,
    /// Frames, snapshots and bytes between the cut and being live.
    frames: usize,
    snapshots: usize,
    bytes: usize,
}

/// What viewers wait for.
struct StormState {
    address: SocketAddr,
    doors: Semaphore,
    /// Passed when everybody is live, first before the storm and then after it.
    together: Barrier,
    cut: watch::Receiver<bool>,
}

fn is_over(view: &View) -> bool {
    view.runs.values().any(|run| run.status == RunStatus::Complete)
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_viewers_that_are_cut_all_at_once_resume_without_a_gap_or_a_double() {
    let settings = Settings::of("storm");
    let count = settings.storm_viewers;
    allow_files(count * 3 + 500);
    let mut random = settings.random();
    let hub = TestHub::start().await;
    let (cut, is_cut) = watch::channel(false);
    let weather = Arc::new(StormState {
        address: hub.address(),
        doors: Semaphore::new(AT_ONCE),
        together: Barrier::new(count as usize + 1),
        cut: is_cut,
    });
    let (stop, stopped) = watch::channel(false);
    let talking = tokio::spawn(talk(hub.address(), random.fork(), stopped));
    let mut viewers = JoinSet::new();
    for _ in 0..count {
        viewers.spawn(weather_the_storm(Arc::clone(&weather)));
    }
    everybody("before the storm", &weather, &mut viewers).await;
    load_for(Duration::from_millis(random.between(100, 500))).await;
    cut.send_replace(true);
    everybody("after the storm", &weather, &mut viewers).await;
    stop.send_replace(true);
    let (head, text) = talking.await.unwrap();
    let survivors = patiently("the viewers' end", viewers.join_all()).await;
    let expected = hub.view_hash("c").await;
    for survivor in &survivors {
        assert_eq!(survivor.viewer.view().seq, head);
        assert_eq!(survivor.viewer.text(), text);
        assert_eq!(survivor.viewer.hash(), expected);
    }
    tell(&survivors, head);
    drop(survivors);
    rush(hub.address(), count, &expected).await;
    // Newcomers who come at the same position share one snapshot; there are at most as many as there are positions, and
    // nobody encodes one for each viewer.
    let (encoded, shared) = (hub.number("snapshots_total").await, hub.number("snapshots_shared_total").await);
    println!("storm: {encoded} snapshots were encoded, {shared} more were wanted and shared");
    assert!(
        encoded + shared >= 2 * count && encoded * 4 < encoded + shared,
        "{encoded} of {}",
        encoded + shared
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_knocks_while_the_hub_is_busy_waits_at_the_door() {
    let system = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = system.trim().parse::<u64>().unwrap().min(1_000);
    allow_files(count * 3 + 500);
    let hub = TestHub::start().await;
    // It accepts nobody now; the system connects as many as may wait.
    hub.signal("STOP").await;
    let mut knocking = JoinSet::new();
    for _ in 0..count {
        knocking.spawn(TcpStream::connect(hub.address()));
    }
    let waiting = within("all to be let in", knocking.join_all()).await;
    hub.signal("CONT").await;
    assert!(waiting.iter().all(Result::is_ok));
    // It lets them in, and who comes behind them too.
    WebSocketWire::connect(hub.address()).await;
}

/// As many newcomers as there were viewers, all at once. Each wants the snapshot.
async fn rush(address: SocketAddr, count: u64, expected: &str) {
    let began = Instant::now();
    let mut newcomers = JoinSet::new();
    for _ in 0..count {
        newcomers.spawn(async move {
            let mut viewer = TestViewer::connect(address, "c").await;
            viewer.live().await;
            (viewer.hash(), viewer.seen.bytes)
        });
    }
    let all = patiently("the newcomers", newcomers.join_all()).await;
    assert!(all.iter().all(|(hash, _)| hash == expected));
    let (ms, bytes) = (began.elapsed().as_millis(), all.iter().map(|(_, bytes)| *bytes as u64).sum());
    println!("storm: {count} newcomers at once are live after {ms} ms with {}", Bytes(bytes));
}

/// Waits until all are live; a viewer that fails before ends the test at once.
async fn everybody(when: &str, weather: &StormState, viewers: &mut JoinSet<Survivor>) {
    tokio::select! {
        _all = patiently(when, weather.together.wait()) => {}
        Some(gone) = viewers.join_next() => panic!("{when} a viewer ended: {:?}", gone.err()),
    }
}

/// Publishes a few words every 20 ms until it is stopped; the head and all that was said.
async fn talk(
    address: SocketAddr,
    mut random: SeededRandom,
    stopped: watch::Receiver<bool>,
) -> (u64, String) {
    let mut publisher = tests::TestPublisher::connect(address, "c").await;
    let mut pace = interval(PACE);
    publisher.says(OPEN).await;
    let mut said = String::new();
    while !*stopped.borrow() {
        pace.tick().await;
        let mut words = StoryWords::default();
        for _ in 0..random.between(1, 5) {
            let word = format!("{:x} ", random.next() >> 40);
            words += &word;
            said += &word;
        }
        publisher.says(words.lines()).await;
    }
    (publisher.says(CLOSE).await.seq, said)
}

/// Views, is cut, resumes and views on. The viewer itself fails at the first hole or double.
async fn weather_the_storm(weather: Arc<StormState>) -> Survivor {
    let mut viewer = TestViewer::away(weather.address, "c");
    {
        let _turn = weather.doors.acquire().await.unwrap();
        viewer.resume().await;
        viewer.live().await;
    }
    weather.together.wait().await;
    let mut cut = weather.cut.clone();
    loop {
        tokio::select! {
            _cut = cut.wait_for(|cut| *cut) => break,
            // Dropping it in the middle loses nothing: frames are taken whole, and the socket ends here anyway.
            _frame = viewer.step() => {}
        }
    }
    viewer.cut();
    let (before, began) = (viewer.seen.clone(), Instant::now());
    viewer.resume().await;
    viewer.live().await;
    let live_after = began.elapsed();
    let (frames, snapshots) =
        (viewer.seen.batches - before.batches, viewer.seen.snapshots - before.snapshots);
    let bytes = viewer.seen.bytes - before.bytes;
    let everybody = weather.together.wait();
    tokio::pin!(everybody);
    loop {
        tokio::select! {
            _all = &mut everybody => break,
            _frame = viewer.step() => {}
        }
    }
    viewer.until(is_over).await;
    Survivor { viewer, live_after, frames: frames + snapshots, snapshots, bytes }
}

fn tell(survivors: &[Survivor], head: u64) {
    let mut times: Vec<_> = survivors.iter().map(|survivor| survivor.live_after.as_millis()).collect();
    times.sort_unstable();
    let sum = |of: fn(&Survivor) -> usize| survivors.iter().map(of).sum::<usize>();
    println!("storm: {} viewers, {head} events", survivors.len());
    println!(
        "storm: live again after {} ms (half of them), {} ms (all)",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    println!(
        "storm: {} frames with {} until then, {} of them snapshots",
        sum(|survivor| survivor.frames),
        Bytes(sum(|survivor| survivor.bytes) as u64),
        sum(|survivor| survivor.snapshots)
    );
}
