//! A healthy conversation beside neighbours that do their worst for minutes: nothing of it is lost, the hub's memory is
//! bounded, and how much later its events come is printed.

use std::time::{Duration, Instant};

use tests::wait::{patiently_until, until};
use tests::{ChildProcess, TestHub, TestViewer};
use tokio::sync::watch;
use tokio::time::interval;

use crate::settings::{Bytes, Settings, allow_files};
use crate::stream::{self, Plan, Streamed};

pub(crate) mod callers;
pub(crate) mod neighbours;
mod sockets;
pub(crate) mod upstream;

use neighbours::{NeighbourPlace, Neighbours};

/// What the hub's memory must stay below, in bytes: half as much again as it was in ten minutes. docs/chaos.md says what it was, and that
/// 512 MiB is the goal.
const RESIDENT_MAX: u64 = 1 << 30;

/// Length of an event's text in the healthy conversation, in bytes.
pub(crate) const TEXT_BYTES: u64 = 200;

/// What the hub says of its memory.
const HELD: [&str; 4] = ["ring_bytes", "log_queue_bytes", "proxy_copy_bytes", "event_bytes_total"];

/// Between two looks at the hub's memory.
const LOOK: Duration = Duration::from_millis(100);

/// Between two tellings of how far it is.
const TELL: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn i8_hostile_neighbours_take_nothing_from_a_healthy_conversation() {
    let settings = Settings::of("hostile");
    allow_files(settings.hostile_viewers * 4 + 4_000);
    let upstream = upstream::start().await;
    let upstream = format!("evil=http://{upstream}");
    let arguments = ["--trace", "error", "--upstream", &upstream];
    let mut hub = TestHub::start_with(&arguments).await;
    let plan = |seconds| Plan::lasting(seconds, settings.hostile_rate, TEXT_BYTES);
    let crowd = stream::gather(&hub, "quiet", settings.hostile_viewers).await;
    let quiet = stream::run(&hub, "quiet", &plan(settings.hostile_quiet_seconds), crowd).await;
    let empty = hub.process();

    // The same load on the same cores, none of it on this hub: what is worse than this is the hub's own doing.
    let other = TestHub::start_with(&arguments).await;
    let crowd = stream::gather(&hub, "apart", settings.hostile_viewers).await;
    let neighbours =
        Neighbours::move_in(NeighbourPlace::to(other.address(), &settings), settings.hostile_kind);
    let apart = stream::run(&hub, "apart", &plan(settings.hostile_quiet_seconds), crowd).await;
    drop((neighbours.move_out().await, other));

    let crowd = stream::gather(&hub, "healthy", settings.hostile_viewers).await;
    let neighbours = Neighbours::move_in(NeighbourPlace::to(hub.address(), &settings), settings.hostile_kind);
    let (over, is_over) = watch::channel(false);
    let looking = tokio::spawn(highest(hub.pid(), is_over));
    let beside = stream::run(&hub, "healthy", &plan(settings.hostile_seconds), crowd).await;
    over.send_replace(true);
    let peak = looking.await.unwrap();
    for name in HELD {
        println!("hostile: {name}: {}", Bytes(hub.number(name).await));
    }
    let deeds = neighbours.move_out().await;

    tell([&quiet, &apart, &beside], empty, peak);
    let head = beside.head;
    // The viewers leave before the hub is killed.
    drop((quiet, apart, beside));
    for (name, count) in &deeds {
        println!("hostile: {name}: {count} times");
        assert!(*count > 0, "{name} never came");
    }
    assert!(peak < RESIDENT_MAX, "the hub had {}", Bytes(peak));
    // Each viewer had each event once and in order. What is in the log is the same.
    let expected = hub.view_hash("healthy").await;
    until_stored(&hub).await;
    hub.restart().await;
    let mut viewer = TestViewer::connect(hub.address(), "healthy").await;
    viewer.reach(head).await;
    assert_eq!(viewer.hash(), expected);
}

/// Waits until nothing waits to be written.
async fn until_stored(hub: &TestHub) {
    patiently_until("all to be stored", async || (hub.number("log_queue_bytes").await == 0).then_some(()))
        .await;
    until("the hub to be ready", async || {
        let answer = hub.request("GET", "/readyz").send().await.ok()?;
        answer.status().is_success().then_some(())
    })
    .await;
}

/// The most memory that the process had, in bytes, until it is over.
async fn highest(pid: u32, mut is_over: watch::Receiver<bool>) -> u64 {
    let (mut peak, mut look, mut told) = (0, interval(LOOK), Instant::now());
    loop {
        tokio::select! {
            _gone = is_over.wait_for(|over| *over) => return peak,
            _tick = look.tick() => {
                let now = ChildProcess::of(pid).resident_bytes;
                peak = peak.max(now);
                if told.elapsed() >= TELL {
                    told = Instant::now();
                    println!("hostile: the hub has {}, at most {}", Bytes(now), Bytes(peak));
                }
            }
        }
    }
}

/// Prints the latencies of the healthy viewers: with nobody else, with the neighbours at another hub, and with them here.
fn tell(all: [&Streamed; 3], empty: ChildProcess, peak: u64) {
    println!(
        "| | quiet | neighbours at another hub | neighbours here | here to quiet | here to another hub |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for (what, share) in [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let [quiet, apart, beside] = all.map(|one| one.latencies.quantile(share) as f64 / 1e3);
        let (to_quiet, to_apart) = (beside / quiet.max(0.001), beside / apart.max(0.001));
        println!("| {what}, ms | {quiet:.2} | {apart:.2} | {beside:.2} | {to_quiet:.2} | {to_apart:.2} |");
    }
    println!("| memory of the hub | {} | | at most {} | | |", Bytes(empty.resident_bytes), Bytes(peak));
}
