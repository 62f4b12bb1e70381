//! A person agrees to what was shown and asked about, and to nothing else.

use model::code::ErrorCode;
use model::digest::digest;
use model::frame::ServerFrame;
use model::limits::PART_BYTES_MAX;
use serde_json::{Value, json};
use tests::wire::WebSocketWire;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::STREAM;
use super::remote_kinds;
use super::runner::{command, events, runs, say};
use super::runner_tools::{called, calling, came, hub};

/// Waits until the first call waits for consent; its arguments.
async fn asked(hub: &TestHub) -> String {
    let waits = |run: &Value| run["tool_calls"][0]["state"] == "approval";
    runs(hub, |runs| runs.last().is_some_and(waits)).await;
    let view = hub.json("/v1/conversations/c").await;
    let run = view["runs"].as_object().unwrap().values().next_back().unwrap();
    let call = run["tools"].as_object().unwrap().values().next().unwrap();
    call["arguments"]["text"].as_str().unwrap().to_owned()
}

fn approve(id: &str, saw: &str) -> Value {
    json!({"id": id, "command": "approve", "tool": "a", "saw": saw})
}

async fn mismatch(hub: &TestHub, body: Value) {
    let (status, problem) = command(hub, body).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("consent_mismatch")), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn consent_to_other_arguments_than_those_that_are_asked_about_is_refused() {
    let origin = calling(vec![("a", "echo", json!({"to": "prod"}))]).await;
    let (hub, _place) = hub(&origin, "confirm = [\"t__*\"]").await;
    say(&hub, "Hello").await;
    let arguments = asked(&hub).await;
    let other = digest("{\"to\":\"mars\"}");
    mismatch(&hub, approve("1", &other)).await;
    mismatch(&hub, approve("2", "")).await;
    let mut edited = approve("3", &other);
    edited["arguments"] = json!({"to": "test"});
    mismatch(&hub, edited).await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let frame = json!({"t": "command", "conv": "c", "command": approve("4", &other)});
    wire.send_text(frame.to_string()).await;
    let ServerFrame::Refused { id, code, .. } = wire.frame().await else { panic!("a refusal") };
    assert_eq!((id.as_str(), code), ("4", ErrorCode::ConsentMismatch));
    assert_eq!(asked(&hub).await, arguments, "it waits on");
    let answers = events(&hub).await.into_iter().filter(|event| event["k"] == "approval.answer").count();
    assert_eq!(answers, 0);
    // What was refused may be tried again with its id.
    assert_eq!(command(&hub, approve("1", &digest(&arguments).to_uppercase())).await.0, 200);
    assert_eq!(came(&called(&hub).await, "a").1, "{\"to\":\"prod\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_somebody_changes_meanwhile_are_not_those_that_are_executed() {
    let origin = calling(vec![("a", "echo", json!({"to": "prod"}))]).await;
    let (mut hub, _place) = hub(&origin, "confirm = [\"t__*\"]").await;
    let run = say(&hub, "Hello").await["run"].as_str().unwrap().to_owned();
    let before = asked(&hub).await;
    let change = json!({"k": "tool.call", "run": run, "tool": "a", "arguments": "{\"to\":\"mars\"}"});
    let mut publisher = hub.publisher("c").await;
    let refused = publisher.publish(1, &change.to_string()).await.unwrap_err();
    let ServerFrame::Error { code, .. } = refused else { panic!("{refused:?}") };
    assert_eq!(code, ErrorCode::RunOfHub);
    assert_eq!(asked(&hub).await, before);
    // A hub that starts again asks about the same.
    hub.stop().await;
    hub.start_again().await;
    assert_eq!(asked(&hub).await, before);
    mismatch(&hub, approve("1", &digest("{\"to\":\"mars\"}"))).await;
    assert_eq!(command(&hub, json!({"id": "2", "command": "approve", "tool": "a"})).await.0, 200);
    let calls = called(&hub).await;
    assert_eq!(came(&calls, "a"), ("complete".into(), before));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_can_see_whole_nobody_can_agree_to() {
    let long = "x".repeat(PART_BYTES_MAX);
    let origin = ScriptedServer::start(move |asked| {
        let has_results = super::runner::messages(asked).iter().any(|message| message["role"] == "tool");
        if has_results {
            return super::runner::answer("Done.");
        }
        let function = json!({"name": "t__echo", "arguments": json!({"to": long}).to_string()});
        let calls = json!([{"index": 0, "id": "a", "type": "function", "function": function}]);
        let said = tests::model::delta(&json!({"tool_calls": calls}));
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&said),
            ServerStep::piece(tests::model::END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let (hub, _place) = hub(&origin, "confirm = [\"t__*\"]").await;
    say(&hub, "Hello").await;
    let beginning = asked(&hub).await;
    assert_eq!(beginning.len(), PART_BYTES_MAX);
    mismatch(&hub, json!({"id": "1", "command": "approve", "tool": "a"})).await;
    mismatch(&hub, approve("2", &digest(&beginning))).await;
    let mut edited = approve("3", &digest(&beginning));
    edited["arguments"] = json!({"to": "test"});
    let (status, done) = command(&hub, edited).await;
    assert_eq!(status, 200, "{done}");
    assert_eq!(came(&called(&hub).await, "a").1, "{\"to\":\"test\"}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_elsewhere_that_asks_about_something_else_meanwhile_is_not_agreed_with() {
    let started = json!({"type": "RUN_STARTED", "threadId": "c", "runId": "1"});
    let begun = json!({"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "send"});
    let arguments = json!({"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": "{\"to\":\"b\"}"});
    let written = json!({"type": "TOOL_CALL_END", "toolCallId": "a"});
    let interrupt = json!({"id": "i", "reason": "tool_call", "toolCallId": "a"});
    let outcome = json!({"type": "interrupt", "interrupts": [interrupt]});
    let over = json!({"type": "RUN_FINISHED", "threadId": "c", "runId": "1", "outcome": outcome});
    let all = [started, begun, arguments, written, over];
    let origin = ScriptedServer::start(move |_| {
        let said = all.iter().map(|event| ServerStep::piece(format!("data: {event}\n\n").as_bytes()));
        std::iter::once(ServerStep::begin("200 OK", &STREAM))
            .chain(said)
            .chain([ServerStep::end(&[])])
            .collect()
    })
    .await;
    let (hub, _place) = remote_kinds::hub_with(&origin, "ag-ui", "", "").await;
    remote_kinds::say(&hub, "Send it").await;
    let arguments = asked(&hub).await;
    mismatch(&hub, approve("1", &digest("{}"))).await;
    let (status, done) = command(&hub, approve("2", &digest(&arguments))).await;
    assert_eq!(status, 200, "{done}");
}
