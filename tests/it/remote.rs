//! Agents elsewhere that fail, are stopped, are asked again; a hub that dies while one answers.

use serde_json::{Value, json};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::STREAM;
use super::remote_kinds::{hub_at, hub_with, say};
use super::runner::{command, events, last_run, runs};

/// The beginning of an answer in AG-UI, which has not ended.
fn begun(text: &str) -> Vec<ServerStep> {
    let payloads = [
        json!({"type": "RUN_STARTED", "threadId": "c", "runId": "x"}),
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "call_1", "toolCallName": "look_up", "delta": "{}"}),
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": text}),
    ];
    let pieces = payloads.iter().map(|payload| ServerStep::piece(format!("data: {payload}\n\n").as_bytes()));
    std::iter::once(ServerStep::begin("200 OK", &STREAM)).chain(pieces).collect()
}

/// A whole one.
fn whole(text: &str) -> Vec<ServerStep> {
    let end = json!({"type": "RUN_FINISHED", "threadId": "c", "runId": "x"});
    let end = ServerStep::piece(format!("data: {end}\n\n").as_bytes());
    begun(text).into_iter().chain([end, ServerStep::end(&[])]).collect()
}

async fn far(origin: &ScriptedServer, more: &str) -> (TestHub, tempfile::TempDir) {
    hub_with(origin, "ag-ui", "/agent", more).await
}

async fn has_text(hub: &TestHub, text: &str) {
    runs(hub, |runs| runs.last().is_some_and(|run| run["text"] == text)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_elsewhere_that_is_stopped_is_hung_up_on() {
    let origin =
        ScriptedServer::start(|_| begun("Well").into_iter().chain([ServerStep::Silence]).collect()).await;
    let (hub, _place) = far(&origin, "").await;
    let done = say(&hub, "Hello").await;
    has_text(&hub, "Well").await;
    let (status, stopped) = command(&hub, json!({"id": "s", "command": "stop"})).await;
    assert_eq!((status, &stopped["run"]), (200, &done["run"]));
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("cancelled"), Some("Well")));
    origin.until_left().await;
    let (status, problem) = command(&hub, json!({"id": "t", "command": "stop"})).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("not_running")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_can_cancel_is_told_to() {
    let started = "event: RunStarted\ndata: {\"event\": \"RunStarted\", \"run_id\": \"ar 1\", \"session_id\": \"c\"}\n\nevent: RunContent\ndata: {\"event\": \"RunContent\", \"run_id\": \"ar 1\", \"content\": \"Well\"}\n\n";
    let origin = ScriptedServer::start(move |asked| {
        if asked.start.contains("/cancel") {
            return ServerStep::answer("200 OK", &[], b"{}");
        }
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(started.as_bytes()), ServerStep::Silence]
    })
    .await;
    let (hub, _place) = hub_with(&origin, "agno", "", "model = \"teams/weather\"").await;
    say(&hub, "Hello").await;
    has_text(&hub, "Well").await;
    command(&hub, json!({"id": "s", "command": "stop"})).await;
    assert_eq!(last_run(&hub).await["status"], "cancelled");
    origin.until_left().await;
    let asked = tests::wait::until("the cancelling", async || origin.asked().into_iter().nth(1)).await;
    assert_eq!(asked.start, "POST /teams/weather/runs/ar%201/cancel HTTP/1.1");
}

/// What a server does, the code of the error that comes of it, whether it may be retried, and how the run ends.
type FaultCase = (Vec<ServerStep>, &'static str, bool, &'static str);

fn fault_cases() -> Vec<FaultCase> {
    let json = [("content-type", "application/json"), ("retry-after", "7")];
    let unauthorized = br#"{"detail": "Invalid token"}"#;
    let busy = br#"{"error": {"message": "Slow down", "type": "rate_limit_error"}}"#;
    vec![
        (ServerStep::answer("401 Unauthorized", &json, unauthorized), "http_401", false, "error"),
        (ServerStep::answer("429 Too Many Requests", &json, busy), "rate_limit_error", true, "error"),
        (
            ServerStep::answer("503 Service Unavailable", &[], b"<html>Bad gateway</html>"),
            "http_503",
            true,
            "error",
        ),
        (
            ServerStep::answer("307 Temporary Redirect", &[("location", "/agent/")], b""),
            "http_307",
            false,
            "error",
        ),
        (begun("Well").into_iter().chain([ServerStep::Reset]).collect(), "upstream_cut", true, "interrupted"),
        (
            begun("Well").into_iter().chain([ServerStep::end(&[])]).collect(),
            "upstream_cut",
            true,
            "interrupted",
        ),
        (begun("Well").into_iter().chain([ServerStep::Silence]).collect(), "agent_silent", true, "error"),
        (vec![ServerStep::Silence], "agent_silent", true, "error"),
        (
            vec![ServerStep::Say(b"nonsense\r\n\r\n".to_vec()), ServerStep::Reset],
            "upstream_failed",
            true,
            "error",
        ),
        (
            ServerStep::answer("200 OK", &STREAM, b"\x00\xffnot what was asked for"),
            "no_answer",
            true,
            "error",
        ),
        (ServerStep::answer("200 OK", &STREAM, b""), "no_answer", true, "error"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_agents_elsewhere_have_names_and_may_be_tried_again() {
    for (steps, code, retryable, status) in fault_cases() {
        let times = std::sync::atomic::AtomicU32::new(0);
        let origin =
            ScriptedServer::start(move |_| match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => steps.clone(),
                _ => whole("At last"),
            })
            .await;
        let (hub, _place) = far(&origin, "silence_seconds = 1").await;
        let done = say(&hub, "Hello").await;
        let run = last_run(&hub).await;
        let error = &run["error"];
        assert_eq!((error["code"].as_str(), run["status"].as_str()), (Some(code), Some(status)), "{run}");
        assert_eq!(error["retryable"].as_bool().unwrap_or_default(), retryable, "{error}");
        if code == "rate_limit_error" {
            assert_eq!(error["retry_after_ms"], 7_000);
        }
        let (again, _) = command(&hub, json!({"id": "r", "command": "retry"})).await;
        assert_eq!(again, 200, "{code}");
        let all = runs(&hub, |runs| runs.last().is_some_and(|run| run["status"] == "complete")).await;
        assert_eq!((all.len(), &all[0]["id"]), (1, &done["run"]), "{code}: the same run goes on");
        let text = all[0]["text"].as_str().unwrap();
        assert!(text.ends_with("At last"), "{code}: {text}");
        let said: Value = serde_json::from_slice(&origin.asked()[1].body).unwrap();
        let hello = json!([{"id": "m1", "role": "user", "content": "Hello"}]);
        assert_eq!(said["messages"], hello, "{code}: what broke off is not told");
        let ids: Vec<Value> = events(&hub)
            .await
            .into_iter()
            .filter(|it| it["k"] == "tool.start")
            .map(|it| it["tool"].clone())
            .collect();
        let expected = if text == "At last" { json!(["call_1"]) } else { json!(["call_1", "call_1.2"]) };
        assert_eq!(json!(ids), expected, "{code}: ids of answers do not collide");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_there_is_said_to_be_unreachable() {
    let nowhere = super::commands::nowhere().await;
    let (hub, _place) = hub_at(&format!("http://{nowhere}"), "forge", "").await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!(
        (&run["error"]["code"], &run["error"]["retryable"]),
        (&json!("upstream_unreachable"), &json!(true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_while_an_agent_elsewhere_answers_is_answered_too() {
    let origin = ScriptedServer::start(|asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        if body["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "user").count() > 1 {
            return whole("Both");
        }
        let mut steps = whole("One");
        steps.insert(4, ServerStep::Wait);
        steps
    })
    .await;
    let (hub, _place) = far(&origin, "").await;
    let first = say(&hub, "Hello").await;
    has_text(&hub, "One").await;
    let second = say(&hub, "One more thing").await;
    assert_eq!(first["run"], second["run"], "it is at work, and will hear of it");
    origin.go_on();
    let all = runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    assert_eq!((&all[0]["text"], &all[1]["text"]), (&json!("One"), &json!("Both")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_elsewhere_that_the_death_of_the_hub_cut_off_is_interrupted_and_may_be_tried_again() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin =
        ScriptedServer::start(move |_| match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => begun("Well").into_iter().chain([ServerStep::Silence]).collect(),
            _ => whole("At last"),
        })
        .await;
    let (mut hub, _place) = far(&origin, "").await;
    say(&hub, "Hello").await;
    has_text(&hub, "Well").await;
    hub.kill().await;
    hub.restart().await;
    let run = last_run(&hub).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("interrupted"), &json!("hub_died")), "{run}");
    assert_eq!(origin.asked().len(), 1, "nothing is asked twice by itself");
    let (status, done) = command(&hub, json!({"id": "r", "command": "retry"})).await;
    assert_eq!((status, &done["run"]), (200, &run["id"]));
    let all = runs(&hub, |runs| runs.last().is_some_and(|run| run["status"] == "complete")).await;
    // What was on the screens last may not have been on the disk yet.
    assert!(all[0]["text"].as_str().unwrap().ends_with("At last"), "{all:?}");
}

fn without_armory_notice() -> Value {
    json!({"code": "ARMORY_UNAVAILABLE", "message": "Tools are out of reach", "retryable": true})
}

/// What Forge's server streams when its servers with tools are out of reach: `error` first, and then `rest`.
fn without_armory(rest: &[(&str, Value)]) -> Vec<ServerStep> {
    let events = std::iter::once(("error", without_armory_notice())).chain(rest.iter().cloned());
    let events = events.map(|(name, payload)| format!("event: {name}\r\ndata: {payload}\r\n\r\n"));
    ServerStep::answer("200 OK", &STREAM, events.collect::<String>().as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_without_its_tools_answers_and_its_run_is_complete() {
    let token = ("token", json!({"token": "Hello", "cumulative": "Hello"}));
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 1});
    let complete = ("complete", json!({"response": "Hello", "usage": usage}));
    let fault = ("error", json!({"code": "MODEL_ERROR", "message": "status_code: 500", "retryable": true}));
    for (rest, status, code) in [
        (vec![token.clone(), complete], "complete", "ARMORY_UNAVAILABLE"),
        (vec![("complete", json!({"response": "", "usage": null}))], "complete", "ARMORY_UNAVAILABLE"),
        (vec![token.clone()], "interrupted", "upstream_cut"),
        (vec![fault.clone()], "error", "MODEL_ERROR"),
        (vec![token, fault], "error", "MODEL_ERROR"),
        (vec![], "error", "ARMORY_UNAVAILABLE"),
    ] {
        let streamed = rest.clone();
        let origin = ScriptedServer::start(move |_| without_armory(&streamed)).await;
        let (hub, _place) = hub_with(&origin, "forge", "/chat/stream", "").await;
        say(&hub, "Hi").await;
        let run = last_run(&hub).await;
        assert_eq!(
            (run["status"].as_str(), run["error"]["code"].as_str()),
            (Some(status), Some(code)),
            "{rest:?}: {run}"
        );
        let told: Vec<String> = events(&hub)
            .await
            .into_iter()
            .filter(|it| it["k"] == "error")
            .map(|it| it["code"].to_string())
            .collect();
        let unique: std::collections::HashSet<&String> = told.iter().collect();
        assert_eq!(unique.len(), told.len(), "each is told once: {told:?}");
        assert_eq!(told[0], "\"ARMORY_UNAVAILABLE\"", "{rest:?}");
        // Its own clients are told what the server said, in its words and order.
        let asked = json!({"user_message": "Hi"});
        let answer = super::doors::post(&hub, "/compat/forge/chat/stream", &asked).await;
        let told = super::doors::objects(&super::doors::told(answer).await.0);
        if status == "complete" {
            let mut wanted = vec![("error".to_owned(), without_armory_notice())];
            wanted.extend(rest.iter().map(|(name, payload)| ((*name).to_owned(), payload.clone())));
            assert_eq!(told, wanted);
        }
    }
}
