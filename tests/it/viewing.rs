//! What viewers get beside plain events: snapshots in pieces, and the check of what they have.

use model::frame::ServerFrame;
use tests::tampering_proxy::TamperingProxy;
use tests::{TestHub, TestViewer};

#[tokio::test(flavor = "multi_thread")]
async fn a_large_snapshot_comes_in_pieces_and_counts_with_the_last() {
    const RUNS: usize = 5;
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let words = "w".repeat(450 << 10);
    for run in 0..RUNS {
        let lines = format!(
            r#"{{"k":"message","message":"m{run}","role":"user","text":"and now?"}}
            {{"k":"run.start","run":"r{run}"}}
            {{"k":"part.delta","run":"r{run}","part":"p","text":"{words}"}}
            {{"k":"part.end","run":"r{run}","part":"p"}}"#
        );
        publisher.says(&lines).await;
    }
    let mut viewer = hub.view("c").await;
    let (mut pieces, mut sizes) = (0, Vec::new());
    while viewer.seen.snapshots == 0 {
        let before = viewer.seen.bytes;
        if let ServerFrame::Snap { more, .. } = viewer.step().await {
            assert_eq!(more, viewer.view().seq == 0, "it is applied with the last piece");
            pieces += 1;
            sizes.push(viewer.seen.bytes - before);
        }
    }
    assert!(pieces == 3 && sizes.iter().all(|size| *size < 1_100_000), "{sizes:?}");
    assert_eq!(viewer.view().runs.len(), RUNS);
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_was_changed_on_its_way_is_noticed_and_mended() {
    let hub = TestHub::start().await;
    let relay = TamperingProxy::start(hub.address(), |frame| {
        // Only in events: the snapshot comes as it is.
        if frame.contains(r#""t":"batch""#) { frame.replace("honest", "bogus!") } else { frame }
    })
    .await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    let mut viewer = TestViewer::connect(relay.address(), "c").await;
    viewer.live().await;
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"an honest word"}"#).await;
    viewer.reach(2).await;
    assert_eq!(viewer.text(), "an bogus! word");
    let head = publisher.says(r#"{"k":"part.end","run":"r","part":"p"}"#).await.seq;
    while viewer.seen.snapshots < 2 {
        viewer.step().await;
    }
    viewer.reach(head).await;
    assert_eq!((viewer.text().as_str(), viewer.seen.drifts), ("an honest word", 1));
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
}

#[tokio::test]
async fn what_a_publisher_says_wrong_about_a_text_is_noted_and_put_right() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"word"}"#).await;
    let head = publisher.says(r#"{"k":"part.end","run":"r","part":"p","len":99}"#).await.seq;
    viewer.reach(head).await;
    assert_eq!((head, viewer.seen.drifts), (4, 0));
    assert_eq!(viewer.view().anomalies.first.last().unwrap().detail, "p");
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
}
