//! Requests for answers to conversations that others took part in.

use std::time::Duration;

use model::testkit::{events, folded, logged};
use upstream::Upstream;

use super::*;

fn config(speaks: RemoteKind, url: &str, model: Option<&str>) -> RemoteConfig {
    RemoteConfig {
        speaks,
        upstream: Upstream::new("far", url, speaks.api()).unwrap(),
        path: speaks.path_behind(url).to_owned(),
        key_env: None,
        model: model.map(Into::into),
        patience: Duration::from_secs(1),
        price: None,
    }
}

fn of(config: &RemoteConfig, conversation: &str, lines: &str) -> RemoteRequest {
    let conversation = ConversationId::parse(conversation).unwrap();
    let mut view = folded(&logged(events(lines)));
    view.runs.values_mut().for_each(|run| run.own = true);
    let run = RunId::new("now");
    asked(&Occasion {
        config,
        agent: "far",
        conversation: &conversation,
        run: &run,
        view: &view,
        fresh: "f",
        tools: &[],
        terms: &Terms::default(),
    })
}

fn text(asked: &RemoteRequest) -> String {
    String::from_utf8(asked.body.clone()).unwrap()
}

/// Somebody else answered first, then the agent in the conversation `c`.
const BOTH: &str = r#"
    {"k":"message","message":"m1","role":"system","text":"Be brief."}
    {"k":"message","message":"m2","role":"user","text":"Hello"}
    {"k":"run.start","run":"r1","name":"other"}
    {"k":"part.start","run":"r1","part":"a","kind":"text"}
    {"k":"part.delta","run":"r1","part":"a","text":"Hi."}
    {"k":"run.end","run":"r1","status":"complete"}
    {"k":"message","message":"m3","role":"user","text":"How warm?"}
    {"k":"run.start","run":"r2","name":"far"}
    {"k":"custom","run":"r2","name":"remote_session","value":{"session":"c"}}
    {"k":"run.end","run":"r2","status":"error"}
    {"k":"message","message":"m4","role":"user","text":"Where?"}
    {"k":"run.start","run":"r3","name":"far"}
    {"k":"run.end","run":"r3","status":"error"}
    {"k":"message","message":"m5","role":"user","text":"In Oslo."}
"#;

#[test]
fn who_remembers_is_told_what_is_new() {
    let config = config(RemoteKind::Agno, "http://127.0.0.1:7777/", Some("a b"));
    let asked = of(&config, "c", BOTH);
    assert_eq!(asked.path, "/agents/a%20b/runs");
    // What the run r3 was asked never reached it.
    let body = text(&asked);
    assert!(body.contains("name=\"message\"\r\n\r\nWhere?\n\nIn Oslo.\r\n"), "{body}");
    assert!(body.contains("name=\"session_id\"\r\n\r\nc\r\n"), "{body}");
}

#[test]
fn who_knows_nothing_of_a_fork_is_told_all() {
    let agno = config(RemoteKind::Agno, "http://127.0.0.1:7777/", Some("workflows/w"));
    let asked = of(&agno, "c-fork", BOTH);
    assert_eq!(asked.path, "/workflows/w/runs");
    let all = "What was said before:\n\nsystem: Be brief.\n\nuser: Hello\n\nassistant: Hi.\n\nHow warm?\n\nWhere?\n\nIn Oslo.";
    assert!(text(&asked).contains(all), "{}", text(&asked));
    let graph = config(RemoteKind::LangGraph, "http://127.0.0.1:2024", None);
    let body: Value = serde_json::from_slice(&of(&graph, "c", BOTH).body).unwrap();
    let messages = body["input"]["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (6, &json!("system")));
    assert_eq!(body["assistant_id"], "agent");
}

#[test]
fn forge_takes_the_system_message_apart() {
    let config = config(RemoteKind::Forge, "http://127.0.0.1:8001/api/", None);
    let asked = of(&config, "c", BOTH);
    assert_eq!(asked.path, "/chat/stream");
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((&body["system_prompt"], &body["user_message"]), (&json!("Be brief."), &json!("In Oslo.")));
    assert_eq!(body.get("model"), None);
}

#[test]
fn only_some_can_be_told_to_stop() {
    let agno = config(RemoteKind::Agno, "http://127.0.0.1:7777/", Some("w"));
    let beginning = b"event: RunStarted\ndata: {\"created_at\": 1, \"run_id\": \"ar-1\"}\n\n";
    let theirs = theirs(RemoteKind::Agno, beginning).unwrap();
    assert_eq!(cancelled(&agno, Some("c"), &theirs).unwrap().path, "/agents/w/runs/ar-1/cancel");
    let graph = config(RemoteKind::LangGraph, "http://127.0.0.1:2024/x", None);
    assert_eq!(cancelled(&graph, Some("t"), "1").unwrap().path, "/threads/t/runs/1/cancel");
    assert_eq!(cancelled(&config(RemoteKind::Ralph, "http://127.0.0.1:1", None), None, "1"), None);
}

#[test]
fn each_conversation_has_a_thread_of_its_own() {
    let uuid = uuid_of("c");
    let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!((lengths, uuid_of("c")), (vec![8, 4, 4, 4, 12], uuid.clone()));
    assert_ne!(uuid, uuid_of("d"));
}
