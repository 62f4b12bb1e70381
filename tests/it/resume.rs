//! Late, slow, cut and resumed viewers all end with the same view.

use model::frame::Rung;
use tests::{TestHub, TestViewer};

/// Opens run `r` with one text part.
const OPEN: &str = r#"
    {"k":"run.start","run":"r","model":"m"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
"#;

const CLOSE: &str = r#"
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete"}
"#;

/// `count` deltas, numbered from `first`.
fn deltas(first: usize, count: usize) -> String {
    let line =
        |number| format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"w{number} \"}}\n");
    (first..first + count).map(line).collect()
}

fn text_of(count: usize) -> String {
    (0..count).fold(String::new(), |text, number| text + &format!("w{number} "))
}

#[tokio::test(flavor = "multi_thread")]
async fn i1_i2_fifty_viewers_late_cut_and_slow_end_with_the_same_view() {
    const ROUNDS: usize = 40;
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    let mut viewers: Vec<TestViewer> = Vec::new();
    for round in 0..ROUNDS {
        // Two more in each of the first rounds, so most come late.
        if viewers.len() < 50 {
            viewers.push(hub.view("c").await);
            viewers.push(hub.view("c").await);
        }
        publisher.says(&deltas(round * 50, 50)).await;
        for (number, viewer) in viewers.iter_mut().enumerate() {
            match (number % 5, round % 4) {
                // Every fifth is cut and comes back with its position.
                (0, 1) => viewer.cut(),
                (0, 3) => viewer.resume().await,
                // Every fifth does not read before the end.
                (0, 2) | (1, _) => {}
                _ if viewer.is_connected() && viewer.view().seq < (2 + round * 50) as u64 => {
                    viewer.step().await;
                }
                _ => {}
            }
        }
    }
    let head = publisher.says(CLOSE).await.seq;
    // I1: dense from 1.
    assert_eq!(head, 2 + (ROUNDS * 50) as u64 + 2);
    let expected = hub.view_hash("c").await;
    for viewer in &mut viewers {
        if !viewer.is_connected() {
            viewer.resume().await;
        }
        // I2: the viewer itself fails at the first hole.
        viewer.reach(head).await;
        assert_eq!(viewer.text(), text_of(ROUNDS * 50));
        assert_eq!(viewer.hash(), expected);
    }
    assert_eq!(viewers.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_joiner_of_a_long_run_gets_a_snapshot_not_its_tokens() {
    const TOKENS: usize = 20_000;
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("long").await;
    publisher.says(OPEN).await;
    for first in (0..TOKENS).step_by(2_000) {
        publisher.says(&deltas(first, 2_000)).await;
    }
    let mut viewer = hub.view("long").await;
    viewer.live().await;
    assert_eq!((viewer.seen.snapshots, viewer.seen.events), (1, 0));
    assert_eq!(viewer.view().seq, TOKENS as u64 + 2);
    assert_eq!(viewer.hash(), hub.view_hash("long").await);
    // Bytes near those of the text, not of 20,000 events.
    let text = viewer.text().len();
    assert!(viewer.seen.bytes < text + 4_096, "{} bytes for {text} of text", viewer.seen.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_that_does_not_read_gets_few_joined_frames_and_disturbs_nobody() {
    let hub = TestHub::start_in_memory().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    let (mut slow, mut quick) = (hub.view("c").await, hub.view("c").await);
    slow.live().await;
    quick.live().await;
    let big = "x".repeat(4_000);
    for number in 0..4_000 {
        let line =
            format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p{}\",\"text\":\"{big}\"}}", number % 5);
        let seq = publisher.says(&line).await.seq;
        quick.reach(seq).await;
    }
    let head = publisher.says(CLOSE).await.seq;
    slow.reach(head).await;
    while slow.seen.lags.last().is_none_or(|rung| *rung != Rung::Immediate) {
        slow.step().await;
    }
    quick.reach(head).await;
    assert_eq!(slow.hash(), quick.hash());
    assert_eq!(slow.hash(), hub.view_hash("c").await);
    // It is told that it fell behind, and that it is not behind any more; nobody else is.
    assert_ne!(slow.seen.lags.first(), Some(&Rung::Immediate));
    assert_eq!(slow.seen.lags.last(), Some(&Rung::Immediate), "{:?}", slow.seen.lags);
    assert_eq!(quick.seen.lags, []);
    let frames = slow.seen.batches + slow.seen.snapshots;
    assert!(
        frames < quick.seen.batches / 2,
        "{frames} frames for the slow, {} for the quick",
        quick.seen.batches
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_viewer_resumes_with_what_it_missed_and_nothing_twice() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    let before = viewer.seen.snapshots;
    viewer.cut();
    let head = publisher.says(&deltas(0, 10)).await.seq;
    viewer.resume().await;
    viewer.reach(head).await;
    assert_eq!(viewer.text(), text_of(10));
    // It came back with the events, joined, and not with everything.
    assert_eq!((viewer.seen.snapshots - before, viewer.seen.events), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_of_the_memory_log_a_viewer_is_told_that_history_is_another() {
    let mut hub = TestHub::start_in_memory().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    publisher.says(&deltas(0, 10)).await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    assert_eq!(viewer.text(), text_of(10));
    viewer.cut();
    hub.restart().await;
    hub.publisher("c").await.says(OPEN).await;
    viewer.resume().await;
    viewer.live().await;
    assert_eq!((viewer.view().seq, viewer.text()), (2, String::new()));
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_may_come_before_the_conversation() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("not-yet").await;
    viewer.live().await;
    let head = hub.publisher("not-yet").await.says(OPEN).await.seq;
    viewer.reach(head).await;
    assert_eq!(viewer.view().runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_socket_holds_many_subscriptions() {
    use model::frame::{ClientFrame, ServerFrame, SubscriptionOptions};
    let hub = TestHub::start().await;
    let mut wire = tests::wire::WebSocketWire::connect(hub.address()).await;
    let name = |sub: u32| format!("c{sub}");
    for sub in 1..=40 {
        wire.send(&ClientFrame::Sub {
            sub,
            conv: name(sub).parse().unwrap(),
            have: None,
            wish: SubscriptionOptions::default(),
        })
        .await;
    }
    for sub in 1..=40 {
        hub.publisher(&name(sub)).await.says(OPEN).await;
    }
    let mut there = std::collections::BTreeSet::new();
    while there.len() < 40 {
        match wire.frame().await {
            ServerFrame::Batch { sub, to: 2, .. } | ServerFrame::Snap { sub, seq: 2, .. } => {
                there.insert(sub);
            }
            _ => {}
        }
    }
}
