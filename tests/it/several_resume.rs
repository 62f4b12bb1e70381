//! Viewers that come back at another hub than the one they were at.

use futures_util::StreamExt as _;
use tests::wait::within;
use tests::wire::WebSocketWire;
use tests::{TestHub, TestViewer};

use crate::cluster::{Cluster, status};

const OPEN: &str = r#"{"k":"run.start","run":"r"}
{"k":"part.start","run":"r","part":"p","kind":"text"}"#;

fn delta(text: &str) -> String {
    format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{text}"}}"#)
}

async fn comes_back(viewer: &mut TestViewer, hub: &TestHub) {
    viewer.resume_over(WebSocketWire::connect(hub.address()).await).await;
}

#[tokio::test]
async fn i2_a_viewer_that_comes_back_at_a_hub_that_did_not_follow_gets_the_events_it_missed() {
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let mut publisher = a.publisher("c").await;
    publisher.says(OPEN).await;
    let (mut early, mut viewer) = (a.view("c").await, a.view("c").await);
    early.live().await;
    early.cut();
    publisher.says(&delta("one ")).await;
    viewer.live().await;
    viewer.cut();
    let before = (early.seen.snapshots, viewer.seen.snapshots);
    let last = publisher.says(&delta("two ")).await;
    comes_back(&mut viewer, b).await;
    viewer.reach(last.seq).await;
    assert_eq!((viewer.text().as_str(), viewer.epoch()), ("one two ", last.epoch));
    // One that missed more comes to the same hub, which follows by now.
    let last = publisher.says(&delta("three")).await;
    comes_back(&mut early, b).await;
    for viewer in [&mut early, &mut viewer] {
        viewer.reach(last.seq).await;
        assert_eq!((viewer.text().as_str(), viewer.hash()), ("one two three", a.view_hash("c").await));
    }
    assert_eq!((early.seen.snapshots, viewer.seen.snapshots), before, "events, and no state");
    // As a reader of SSE with the position of the beginning.
    let stream = c.request("GET", "/v1/conversations/c/events").header("accept", "text/event-stream");
    let stream = stream.header("last-event-id", format!("{}:2", last.epoch)).send().await.unwrap();
    let (mut stream, mut said) = (stream.bytes_stream(), String::new());
    while !said.contains("one two three") {
        let bytes = within("an SSE event", stream.next()).await.expect("the stream goes on").unwrap();
        said.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert!(said.contains("event: batch") && !said.contains("event: snap"), "{said}");
}

#[tokio::test]
async fn a_viewer_that_missed_more_than_the_state_holds_gets_the_state_at_whichever_hub() {
    let cluster = Cluster::start(2).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let mut publisher = a.publisher("c").await;
    publisher.says(OPEN).await;
    let mut viewers = [a.view("c").await, a.view("c").await];
    for viewer in &mut viewers {
        viewer.live().await;
        viewer.cut();
    }
    let long = "x".repeat(10_000);
    let mut last = publisher.says(&status(&long)).await;
    for _ in 0..40 {
        last = publisher.says(&status(&long)).await;
    }
    for viewer in &mut viewers {
        let before = viewer.seen.snapshots;
        comes_back(viewer, b).await;
        viewer.reach(last.seq).await;
        assert_eq!((viewer.seen.snapshots, viewer.hash()), (before + 1, a.view_hash("c").await));
    }
}
