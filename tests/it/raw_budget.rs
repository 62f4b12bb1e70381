//! Raw events have a budget per run where they enter the log: over sockets and over HTTP, across restarts and with several hubs.

use model::limits::RAW_BYTES_PER_RUN_MAX;
use serde_json::Value;
use tests::{TestHub, TestPublisher};

use crate::cluster::Cluster;

/// The bytes of the value of one raw event here, its quotes among them.
const VALUE_BYTES: usize = 60_002;

/// How many raw events the tests send, 3.6 MB.
const SENT: usize = 60;

/// How many of them are in the log: those that hold the budget, and the one with which it is used up.
const LOGGED: usize = {
    #[expect(clippy::cast_possible_truncation, reason = "tests run where this is no loss")]
    let budget = RAW_BYTES_PER_RUN_MAX as usize;
    budget / VALUE_BYTES + 1
};

fn raw(run: &str, bytes: usize) -> String {
    format!(r#"{{"k":"raw","run":"{run}","name":"odd","value":"{}"}}"#, "x".repeat(bytes - 2))
}

/// A run with [`SENT`] raw events between two texts, one event a line.
fn turn(run: &str) -> Vec<String> {
    let text = |text: &str| format!(r#"{{"k":"part.delta","run":"{run}","part":"p","text":"{text}"}}"#);
    let mut lines = vec![
        format!(r#"{{"k":"run.start","run":"{run}"}}"#),
        format!(r#"{{"k":"part.start","run":"{run}","part":"p","kind":"text"}}"#),
        text("before "),
    ];
    lines.extend((0..SENT).map(|_| raw(run, VALUE_BYTES)));
    lines.extend([text("after"), format!(r#"{{"k":"run.end","run":"{run}","status":"complete"}}"#)]);
    lines
}

/// The events of a conversation's export.
async fn exported(hub: &TestHub, conversation: &str) -> Vec<Value> {
    let answer =
        hub.request("GET", &format!("/v1/conversations/{conversation}/export/jsonl")).send().await.unwrap();
    let text = answer.text().await.unwrap();
    assert!(text.len() < 3 << 20, "{} bytes", text.len());
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// The details of what is said of the budget in the state of a conversation.
async fn said(hub: &TestHub, conversation: &str) -> Vec<String> {
    let summary = hub.summary(conversation).await;
    let anomalies = summary["anomalies"].as_array().unwrap().iter();
    anomalies
        .filter(|it| it["code"] == "too_many")
        .map(|it| it["detail"].as_str().unwrap().to_owned())
        .collect()
}

/// What is said of `run` when its budget is used up, and at its end when `count` events were left out.
fn notices(run: &str, count: usize) -> [String; 2] {
    let of = format!("raw events of {run} over {RAW_BYTES_PER_RUN_MAX} bytes");
    [
        format!("{of}: later ones are left out"),
        format!("{of}: {count} with {} bytes were left out", count * VALUE_BYTES),
    ]
}

/// Checks that the rest of the run came as it was sent, that few raw events did, and that no seq is missing.
async fn is_whole(hub: &TestHub, conversation: &str) {
    let events = exported(hub, conversation).await;
    let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(events.iter().filter(|event| event["k"] == "raw").count(), LOGGED);
    let run = &hub.summary(conversation).await["runs"][0];
    assert_eq!((run["text"].as_str(), run["status"].as_str()), (Some("before after"), Some("complete")));
}

#[tokio::test]
async fn i1_i10_raw_events_over_the_budget_are_acked_counted_and_not_logged() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let mut viewer = hub.view("c").await;
    let lines = turn("r");
    for (number, line) in (1..).zip(&lines) {
        let ack = publisher.numbered(number, line).await.unwrap();
        assert_eq!((ack.events, ack.duplicate), (1, false), "{number}");
    }
    // Each number was taken once, also those whose events were left out.
    let last = lines.len() as u64;
    let again = publisher.numbered(last - 9, &lines[lines.len() - 10..].join("\n")).await.unwrap();
    assert!(again.duplicate, "{again:?}");
    let message = r#"{"k":"message","message":"m","role":"user","text":"on"}"#;
    let head = publisher.numbered(last + 1, message).await.unwrap().seq;
    viewer.reach(head).await;
    assert_eq!(viewer.hash(), hub.view_hash("c").await);
    is_whole(&hub, "c").await;
    assert_eq!(said(&hub, "c").await, notices("r", SENT - LOGGED));
    assert_eq!(hub.number("raw_left_out_total").await, (SENT - LOGGED) as u64);
}

#[tokio::test]
async fn i7_a_body_of_raw_events_makes_a_bounded_export_and_the_same_body_the_same_one() {
    let hub = TestHub::start().await;
    for conversation in ["first", "second"] {
        let mut body = hub.ingest("fanlight", conversation);
        for line in turn("r") {
            body.write(line + "\n").await;
        }
        let (status, answer) = body.finish().await;
        assert_eq!(status, 200, "{answer}");
        is_whole(&hub, conversation).await;
        assert_eq!(said(&hub, conversation).await, notices("r", SENT - LOGGED));
    }
    let [mut first, mut second] = [exported(&hub, "first").await, exported(&hub, "second").await];
    for event in first.iter_mut().chain(&mut second) {
        let event = event.as_object_mut().unwrap();
        for name in ["at", "producer_at", "epoch", "conv", "publisher", "title", "exported_at"] {
            event.remove(name);
        }
    }
    assert_eq!(first, second);
}

#[tokio::test]
async fn i7_of_long_raw_events_the_first_are_logged_whole_and_the_others_with_their_beginnings() {
    let hub = TestHub::start().await;
    let mut body = hub.ingest("fanlight", "c");
    body.write("{\"k\":\"run.start\",\"run\":\"r\"}\n").await;
    for _ in 0..40 {
        body.write(raw("r", 1 << 19) + "\n").await;
    }
    body.write("{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}\n").await;
    body.finish().await;
    let answer = hub.request("GET", "/v1/conversations/c/export/jsonl").send().await.unwrap();
    let text = answer.text().await.unwrap();
    assert!(
        (text.len() as u64) < 2 * RAW_BYTES_PER_RUN_MAX + (64 << 10) + (16 << 10),
        "{} bytes",
        text.len()
    );
    assert_eq!(text.lines().filter(|line| line.len() > 1 << 19).count(), 4);
    assert!(text.contains("raw event: 524288 bytes, the limit is 65536 since those of r have 2097152"));
}

#[tokio::test]
async fn a_restarted_hub_knows_which_budgets_are_used_up() {
    let mut hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let lines = turn("r");
    let (first, rest) = lines.split_at(LOGGED + 10);
    let mut head = 0;
    for line in first {
        head = publisher.says(line).await.seq;
    }
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    let mut publisher = TestPublisher::named("another", hub.address(), "c").await;
    // The next owner says once that the run goes on.
    assert!(publisher.says(&rest[0]).await.seq <= head + 1);
    let again = publisher.says(&rest[1]).await.seq;
    assert_eq!(publisher.says(&rest[2]).await.seq, again, "nothing of it is logged");
    for line in &rest[3..] {
        publisher.says(line).await;
    }
    let of_this_life = rest.iter().filter(|line| line.contains(r#""k":"raw""#)).count();
    assert_eq!(said(&hub, "c").await, notices("r", of_this_life), "said once, counted since the restart");
}

#[tokio::test]
async fn the_owner_of_several_hubs_decides_and_all_have_the_same() {
    let cluster = Cluster::start(2).await;
    let [owner, other] = [&cluster.hubs[0], &cluster.hubs[1]];
    owner.publisher("c").await.says(r#"{"k":"message","message":"m","role":"user","text":"Go"}"#).await;
    let mut viewer = other.view("c").await;
    let mut publisher = other.publisher("c").await;
    let mut head = 0;
    for line in turn("r") {
        head = publisher.says(&line).await.seq;
    }
    viewer.reach(head).await;
    assert_eq!(viewer.hash(), owner.view_hash("c").await);
    for hub in [owner, other] {
        is_whole(hub, "c").await;
        assert_eq!(said(hub, "c").await, notices("r", SENT - LOGGED));
    }
}
