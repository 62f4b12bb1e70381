//! All hubs of a log are stopped and started again, one after the other, while publishers publish and viewers watch. Nobody misses
//! anything, gets anything twice or sees an error.
//!
//! `FANLIGHT_TEST_ROLLING=1000x20` is the number of viewers and publishers; figures are printed with `--nocapture`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::frame::{ClientFrame, Pub, ServerFrame};
use model::{ConversationId, Envelope, PublisherId};
use tests::TestViewer;
use tests::wait::{patiently, patiently_until};
use tests::wire::WebSocketWire;

use crate::cluster::{Cluster, status, statuses};

/// The variable with the numbers of viewers and publishers.
const SIZE: &str = "FANLIGHT_TEST_ROLLING";

/// How many watch and publish where nobody says otherwise.
const SMALL: (usize, usize) = (60, 6);

/// Viewers and publishers.
fn size() -> (usize, usize) {
    let Ok(said) = std::env::var(SIZE) else { return SMALL };
    let (viewers, publishers) = said.split_once('x').expect("VIEWERSxPUBLISHERS");
    (viewers.parse().unwrap(), publishers.parse().unwrap())
}

/// A socket at one of the hubs, the one with that number first.
async fn any_socket(hubs: &[SocketAddr], at: usize) -> (WebSocketWire, usize) {
    let mut at = at;
    patiently("a hub that takes connections", async {
        loop {
            if let Some(wire) = WebSocketWire::try_connect(hubs[at % hubs.len()]).await {
                return (wire, at);
            }
            at += 1;
        }
    })
    .await
}

/// What a publisher did. It stays until this is dropped.
struct Published {
    wire: WebSocketWire,
    /// Frames that were acked.
    acked: u64,
    /// How often it came back at another hub.
    moves: usize,
    /// The longest time from the first try of a frame to its ack.
    longest: Duration,
}

/// Publishes numbered statuses, each until it is acked, until `is_over`.
async fn publish(hubs: Arc<[SocketAddr]>, number: usize, is_over: Arc<AtomicBool>) -> Published {
    let (name, conversation) = (format!("p{number}"), format!("c{number}"));
    let (mut wire, mut at) = any_socket(&hubs, number).await;
    let (mut acks, mut moves, mut longest) = (0, 0, Duration::ZERO);
    while !is_over.load(Ordering::Acquire) {
        let next = acks + 1;
        let frame = ClientFrame::Pub(Pub {
            id: next,
            conv: ConversationId::parse(&conversation).unwrap(),
            pid: Some(PublisherId::new(&name)),
            pepoch: 1,
            pfirst: 0,
            pseq: next,
            durability: None,
            events: vec![Envelope::parse(&status(&next.to_string())).unwrap()],
        });
        let began = Instant::now();
        while !(wire.offer(&frame).await && acked(&mut wire, next).await) {
            (wire, at) = any_socket(&hubs, at + 1).await;
            moves += 1;
        }
        longest = longest.max(began.elapsed());
        acks = next;
    }
    Published { wire, acked: acks, moves, longest }
}

/// Whether the frame `number` is acked before the socket ends. No refusal is taken.
async fn acked(wire: &mut WebSocketWire, number: u64) -> bool {
    while let Ok((answer, _)) = wire.frame_or_end().await {
        match answer {
            ServerFrame::Ack(ack) if ack.id == number => return true,
            ServerFrame::Error { .. } => panic!("{answer:?}"),
            _ => {}
        }
    }
    false
}

/// A viewer, and how often it came back.
struct Watched {
    viewer: TestViewer,
    moves: usize,
}

/// Watches until its view has the hash that is in `last` for its conversation, once that is known; comes back
/// at the next hub when it is asked to.
async fn watch(
    hubs: Arc<[SocketAddr]>,
    number: usize,
    of: usize,
    mut last: tokio::sync::watch::Receiver<Vec<String>>,
) -> Watched {
    let conversation = number % of;
    let mut at = number;
    let mut viewer = TestViewer::away(hubs[at % hubs.len()], &format!("c{conversation}"));
    let mut moves = 0;
    loop {
        if !viewer.is_connected() {
            let (wire, now) = any_socket(&hubs, at).await;
            at = now + 1;
            viewer.resume_over(wire).await;
        }
        if last.borrow_and_update().get(conversation).is_some_and(|wanted| viewer.hash() == *wanted) {
            return Watched { viewer, moves };
        }
        // Both only wait, and may be cancelled.
        tokio::select! {
            stays = viewer.step_or_leave() => moves += usize::from(!stays),
            changed = last.changed() => changed.expect("the test goes on"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_i10_i13_all_hubs_are_restarted_in_turn_and_nobody_misses_anything_or_sees_an_error() {
    let (viewers, publishers) = size();
    let mut cluster = Cluster::start(3).await;
    let hubs: Arc<[SocketAddr]> = cluster.hubs.iter().map(tests::TestHub::address).collect();
    let is_over = Arc::<AtomicBool>::default();
    let writing: Vec<_> = (0..publishers)
        .map(|number| tokio::spawn(publish(Arc::clone(&hubs), number, Arc::clone(&is_over))))
        .collect();
    let (tell, told) = tokio::sync::watch::channel(Vec::new());
    let watching: Vec<_> = (0..viewers)
        .map(|number| tokio::spawn(watch(Arc::clone(&hubs), number, publishers, told.clone())))
        .collect();
    for number in 0..publishers {
        let list = format!("c{number}");
        patiently_until(&list, async || (statuses(&cluster.hubs[0], &list).await.len() > 3).then_some(()))
            .await;
    }
    for hub in &mut cluster.hubs {
        let began = Instant::now();
        assert_eq!(hub.stop().await, Some(0));
        let stopped = began.elapsed();
        hub.start_again().await;
        hub.ready().await;
        println!("{} was stopped after {stopped:?} and ready after {:?}", hub.address(), began.elapsed());
    }
    is_over.store(true, Ordering::Release);
    let mut published = Vec::new();
    for publisher in writing {
        published.push(patiently("a publisher", publisher).await.unwrap());
    }
    for (number, of) in published.iter().enumerate() {
        let wanted: Vec<String> = (1..=of.acked).map(|number| number.to_string()).collect();
        assert_eq!(statuses(&cluster.hubs[0], &format!("c{number}")).await, wanted, "c{number}");
    }
    let mut hashes = Vec::new();
    for number in 0..publishers {
        hashes.push(cluster.hubs[1].view_hash(&format!("c{number}")).await);
    }
    tell.send(hashes).unwrap();
    let (mut moves, mut snapshots) = (0, 0);
    let mut epochs = vec![None; publishers];
    for (number, viewer) in watching.into_iter().enumerate() {
        let Watched { viewer, moves: moved } = patiently("a viewer", viewer).await.unwrap();
        assert_eq!(viewer.seen.drifts, 0);
        let epoch = epochs[number % publishers].get_or_insert_with(|| viewer.epoch());
        assert_eq!(*epoch, viewer.epoch(), "all are in the epoch in which it began");
        (moves, snapshots) = (moves + moved, snapshots + viewer.seen.snapshots);
    }
    let acked: u64 = published.iter().map(|of| of.acked).sum();
    let longest = published.iter().map(|of| of.longest).max().unwrap_or_default();
    let came_back: usize = published.iter().map(|of| of.moves).sum();
    println!(
        "{viewers} viewers came back {moves} times and got {snapshots} states; {publishers} publishers came back {came_back} \
         times, {acked} frames were acked, the longest wait for an ack was {longest:?}"
    );
    assert!(moves >= viewers && came_back >= publishers, "each hub was left by those that were at it");
    drop(published.into_iter().map(|of| of.wire).collect::<Vec<_>>());
}
