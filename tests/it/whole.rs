//! Imports and forks are there as a whole or not at all, whenever the hub dies.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;
use tokio::task::JoinHandle;

/// Events of a history.
const EVENTS: u64 = 3_000;

/// Transactions after which the hub is killed: the first is the first that has anything of the history.
const KILLED_AFTER: std::ops::RangeInclusive<u64> = 1..=5;

fn history() -> String {
    let text = "what was said ".repeat(40);
    let mut lines = String::from("{\"fanlight\":\"native\",\"version\":1,\"conversation\":\"c\"}\n");
    lines.push_str("{\"k\":\"run.start\",\"run\":\"r\",\"seq\":1,\"at\":1795300000000}\n");
    for seq in 2..=EVENTS {
        let line = json!({"k": "status", "run": "r", "text": format!("{seq} {text}"), "seq": seq, "at": 1_795_300_000_000_u64 + seq});
        writeln!(lines, "{line}").unwrap();
    }
    lines
}

/// Waits until the hub has made `more` transactions after `before`, or the answer has come.
async fn committed<T>(hub: &TestHub, before: u64, more: u64, answer: &JoinHandle<T>) {
    until("some transactions", async || {
        (answer.is_finished() || hub.number("log_commits_total").await >= before + more).then_some(())
    })
    .await;
}

/// The head of a conversation and whether something is open in it; nothing where there is none.
async fn head(hub: &TestHub, conversation: &str) -> Option<(u64, bool)> {
    let view = hub.json(&format!("/v1/conversations/{conversation}")).await;
    if view["code"] == "unknown_conversation" {
        return None;
    }
    Some((view["seq"].as_u64().unwrap(), view["runs"]["r"]["status"] == "running"))
}

#[tokio::test]
async fn i9_an_import_that_the_death_of_the_hub_breaks_off_leaves_nothing_or_all_of_it() {
    let history = history();
    let mut hub = TestHub::start().await;
    let mut broken = 0;
    for after in KILLED_AFTER {
        let (name, before) = (format!("c{after}"), hub.number("log_commits_total").await);
        let request = hub.request("PUT", &format!("/v1/conversations/{name}/events"));
        let answer = tokio::spawn(request.body(history.clone()).send());
        committed(&hub, before, after, &answer).await;
        let answered = answer.is_finished();
        hub.restart().await;
        answer.abort();
        let found = head(&hub, &name).await.map(|(head, _)| head);
        assert!(found.is_none_or(|head| head == EVENTS), "{found:?} of {EVENTS}");
        assert!(!answered || found.is_some(), "an import that was answered is gone");
        broken += u64::from(found.is_none());
        // The name is free, or taken.
        let again = hub.request("PUT", &format!("/v1/conversations/{name}/events")).body(history.clone());
        let status = again.send().await.unwrap().status().as_u16();
        assert_eq!(status, if found.is_none() { 200 } else { 409 }, "{name}");
        assert_eq!(head(&hub, &name).await.map(|(head, _)| head), Some(EVENTS));
    }
    println!("{broken} imports were broken off");
}

#[tokio::test]
async fn i9_a_fork_that_was_answered_is_whole_and_another_one_is_not_there_at_all() {
    let mut hub = TestHub::start().await;
    let put = hub.request("PUT", "/v1/conversations/c/events").body(history()).send().await.unwrap();
    assert_eq!(put.status(), 200);
    for after in KILLED_AFTER {
        let (name, before) = (format!("fork{after}"), hub.number("log_commits_total").await);
        let body = json!({"id": name, "command": "fork", "into": name}).to_string();
        let request = hub.request("POST", "/v1/conversations/c/commands").body(body);
        let answer = tokio::spawn(async move { request.send().await.map(|answer| answer.status().as_u16()) });
        committed(&hub, before, after, &answer).await;
        let answered = answer.is_finished();
        hub.restart().await;
        if answered {
            assert_eq!(answer.await.unwrap().unwrap(), 200);
        } else {
            answer.abort();
        }
        let found = head(&hub, &name).await;
        // All that was said, where the fork was taken, and the end of the run that went on.
        assert!(found.is_none_or(|found| found == (EVENTS + 2, false)), "{found:?} of {EVENTS}");
        assert!(!answered || found.is_some(), "a fork that was answered is gone");
    }
    let forked = json!({"id": "last", "command": "fork", "into": "last"}).to_string();
    let answer = hub.request("POST", "/v1/conversations/c/commands").body(forked).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    hub.restart().await;
    let view: Value = hub.json("/v1/conversations/last").await;
    assert_eq!(view["seq"], EVENTS + 2);
    assert_eq!(view["runs"]["r"]["status"], "interrupted");
}
