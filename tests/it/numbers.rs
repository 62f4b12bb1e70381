//! The hub in numbers, and whether it is ready.

use model::frame::{LogHealth, ServerFrame};
use tests::{TestHub, wait};

async fn becomes(hub: &TestHub, name: &str, wanted: u64) {
    wait::until(name, async || (hub.number(name).await == wanted).then_some(())).await;
}

#[tokio::test]
async fn numbers_follow_what_happens_and_are_zero_when_everybody_has_left() {
    let hub = TestHub::start().await;
    let answer = hub.request("GET", "/metrics").send().await.unwrap();
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    let mut viewers = [hub.view("c").await, hub.view("c").await];
    for viewer in &mut viewers {
        viewer.live().await;
    }
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.publish(1, r#"{"k":"run.start","run":"r"}"#).await.unwrap();
    publisher.publish(9, r#"{"k":"run.start","run":"r"}"#).await.unwrap_err();
    for viewer in &mut viewers {
        viewer.reach(1).await;
    }
    for (name, wanted) in [
        ("publications_total", 1),
        ("events_total", 1),
        ("duplicates_total", 1),
        ("gaps_total", 1),
        ("sockets", 3),
        ("subscriptions", 2),
        ("readers", 0),
        ("frames_total", 2),
        ("encodes_total", 1),
        ("conversations_in_memory", 1),
    ] {
        assert_eq!(hub.number(name).await, wanted, "{name}");
    }
    assert!(hub.number("ring_bytes").await > 0);
    drop((viewers, publisher));
    for name in ["sockets", "subscriptions", "list_subscriptions", "readers", "tasks"] {
        becomes(&hub, name, 0).await;
    }
}

#[tokio::test]
async fn a_hub_that_works_is_ready() {
    let hub = TestHub::start().await;
    let ready = hub.request("GET", "/readyz").send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 200);
    let said = ready.text().await.unwrap();
    // A log in a database says what its settings make true.
    let (word, promise) = said.trim_end().split_once("; ").unwrap_or((said.trim_end(), ""));
    assert_eq!((word, promise.is_empty()), ("ready", !tests::hub::is_on_postgres()), "{said}");
}

/// Says in `conversation` what fills a small disk.
async fn fill(hub: &TestHub, conversation: &str) {
    // What does not compress.
    let mut number = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        format!("{number:016x}")
    };
    for _ in 0..8 {
        let text: String = (0..8_000).map(|_| word()).collect();
        let line = format!(r#"{{"k":"message","message":"{}","role":"user","text":"{text}"}}"#, word());
        let post = hub.request("POST", &format!("/v1/conversations/{conversation}/events"));
        let answer = post.header("fanlight-durability", "memory").body(line).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "publications are taken all the same");
    }
}

#[tokio::test]
async fn a_full_disk_is_named_in_readiness_in_numbers_and_on_every_socket() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let hub = TestHub::start_with(&["--log", &log, "--log-max-bytes", "400000"]).await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    fill(&hub, "c").await;
    let failing = |frame: &ServerFrame| {
        matches!(frame, ServerFrame::Health { log: LogHealth::DiskFull, since: Some(_), detail: Some(_) })
    };
    // The viewer is told, and goes on to see what is said.
    wait::within("a word on the disk", async { while !failing(&viewer.step().await) {} }).await;
    viewer.reach(8).await;
    let refused = hub.request("GET", "/readyz").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 503);
    let problem: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "disk_full", "{problem}");
    let page = hub.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(page.contains("fanlight_log_failing{code=\"disk_full\"} 1\n"), "{page}");
    assert!(hub.number("log_queue_bytes").await > 0);
    // Who comes later is told at once.
    let mut late = hub.view("c").await;
    wait::within("the same for who comes", async { while !failing(&late.step().await) {} }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_can_be_had_while_the_log_writes() {
    let hub = std::sync::Arc::new(TestHub::start().await);
    let writers = (0..4).map(|writer| {
        let hub = std::sync::Arc::clone(&hub);
        tokio::spawn(async move {
            for number in 0..100 {
                let path = format!("/v1/conversations/c{writer}-{number}/events");
                let event = r#"{"k":"message","message":"m1","role":"user","text":"Hello"}"#;
                assert_eq!(hub.request("POST", &path).body(event).send().await.unwrap().status(), 200);
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    // Each look takes locks that the writer of the log takes as well.
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        hub.number("log_queue_bytes").await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(hub.number("publications_total").await, 400);
}
