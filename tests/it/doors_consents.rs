//! Calls that wait for consent, in the words of pages: the answer to a request ends with the question, and the next request
//! brings what the person said.

use serde_json::{Value, json};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::doors::{careful_hub_of, objects, post, seen, storyteller, told};
use super::proxy::STREAM;
use super::remote_kinds::hub_with;

const AG_UI: &str = "/compat/ag-ui/helper";
const AI_SDK: &str = "/compat/ai-sdk/helper";

/// A hub whose agent asks before it calls its tool.
async fn careful() -> (ScriptedServer, TestHub, tempfile::TempDir) {
    let origin = storyteller().await;
    let (hub, place) = careful_hub_of(&origin).await;
    (origin, hub, place)
}

fn events(body: &str) -> Vec<Value> {
    objects(body).into_iter().map(|(_, object)| object).collect()
}

fn of_kind<'a>(all: &'a [Value], kind: &str) -> Vec<&'a Value> {
    all.iter().filter(|event| event["type"] == kind).collect()
}

fn input(run: &str, resume: &Value) -> Value {
    json!({
        "threadId": "c", "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": "m1", "role": "user", "content": "Weather?"}], "resume": resume,
    })
}

async fn ag_ui(hub: &TestHub, run: &str, resume: &Value) -> Vec<Value> {
    events(&told(post(hub, AG_UI, &input(run, resume)).await).await.0)
}

/// Asks, and is asked back.
async fn interrupted(hub: &TestHub) -> Vec<Value> {
    let all = ag_ui(hub, "run-1", &Value::Null).await;
    let end = all.last().unwrap();
    let interrupt = &end["outcome"]["interrupts"][0];
    assert_eq!(
        (&end["type"], &end["outcome"]["type"]),
        (&json!("RUN_FINISHED"), &json!("interrupt")),
        "{end}"
    );
    let ids = (&interrupt["id"], &interrupt["toolCallId"], &interrupt["reason"]);
    assert_eq!(ids, (&json!("call_1"), &json!("call_1"), &json!("tool_call")));
    assert_eq!(interrupt["responseSchema"]["required"], json!(["approved"]));
    assert_eq!(hub.summary("c").await["runs"][0]["status"], "running", "everybody else sees it wait");
    all
}

fn goes_on(all: &[Value], run: &str) {
    let begin = json!({"type": "RUN_STARTED", "threadId": "c", "runId": run});
    let end = json!({"type": "RUN_FINISHED", "threadId": "c", "runId": run});
    assert_eq!((&all[0], all.last().unwrap()), (&begin, &end));
    assert!(of_kind(all, "TOOL_CALL_START").is_empty(), "it has been told of the call: {all:?}");
    let text: String =
        of_kind(all, "TEXT_MESSAGE_CONTENT").iter().map(|it| it["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "It is sunny.");
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_is_asked_for_consent_and_gives_it() {
    let (_origin, hub, _place) = careful().await;
    interrupted(&hub).await;
    let payload = json!({"approved": true, "editedArgs": {"city": "Oslo"}});
    let resume = json!([{"interruptId": "call_1", "status": "resolved", "payload": payload}]);
    let all = ag_ui(&hub, "run-2", &resume).await;
    goes_on(&all, "run-2");
    assert_eq!(of_kind(&all, "TOOL_CALL_RESULT")[0]["content"], "{\"city\":\"Oslo\"}");
    let summary = seen(&hub, "c").await;
    assert_eq!(
        (summary["runs"].as_array().map(Vec::len), &summary["runs"][0]["status"]),
        (Some(1), &json!("complete"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_refuses_consent_and_hears_of_what_others_have_answered() {
    let (origin, hub, _place) = careful().await;
    interrupted(&hub).await;
    let reject = json!({"id": "1", "command": "reject", "tool": "call_1"}).to_string();
    let sent = hub.request("POST", "/v1/conversations/c/commands").body(reject).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    seen(&hub, "c").await;
    let resume = json!([{"interruptId": "call_1", "status": "cancelled"}]);
    let all = ag_ui(&hub, "run-2", &resume).await;
    goes_on(&all, "run-2");
    assert!(of_kind(&all, "TOOL_CALL_RESULT").is_empty(), "{all:?}");
    assert_eq!(origin.asked().len(), 2, "nothing is asked twice");
    for (resume, status) in [
        (json!([{"interruptId": "nothing", "status": "cancelled"}]), 409),
        (json!([{"interruptId": "call_1", "status": "resolved", "payload": {"yes": true}}]), 400),
        (json!([{"interruptId": "call_1"}]), 400),
    ] {
        assert_eq!(post(&hub, AG_UI, &input("run-3", &resume)).await.status(), status, "{resume}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_is_asked_for_consent_and_gives_it_or_not() {
    for (chat, approved) in [("yes", true), ("no", false)] {
        let (_origin, hub, _place) = careful().await;
        let question = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Weather?"}]});
        let ask = |messages: Value| json!({"id": chat, "messages": messages, "trigger": "submit-message"});
        let all = events(&told(post(&hub, AI_SDK, &ask(json!([question]))).await).await.0);
        let asked = of_kind(&all, "tool-approval-request")[0];
        assert_eq!(asked["toolCallId"], "call_1");
        assert_eq!(
            (&all.last().unwrap()["type"], &all.last().unwrap()["finishReason"]),
            (&json!("finish"), &json!("tool-calls"))
        );
        let approval = json!({"id": asked["approvalId"], "approved": approved});
        let part = json!({"type": "dynamic-tool", "toolName": "t__echo", "toolCallId": "call_1", "providerExecuted": true,
            "state": "approval-responded", "input": {"city": "Rome"}, "approval": approval});
        let message = json!({"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, part]});
        let all = events(&told(post(&hub, AI_SDK, &ask(json!([question, message]))).await).await.0);
        assert_eq!((&all[0]["type"], &all[0]["messageId"]), (&json!("start"), &json!("a1")));
        let came = if approved { "tool-output-available" } else { "tool-output-denied" };
        assert_eq!(of_kind(&all, came)[0]["toolCallId"], "call_1", "{all:?}");
        assert!(of_kind(&all, "tool-input-start").is_empty(), "{all:?}");
        let text: String =
            of_kind(&all, "text-delta").iter().map(|it| it["delta"].as_str().unwrap()).collect();
        assert_eq!(text, "It is sunny.");
    }
}

/// A stream of an agent elsewhere that calls what its caller offers.
fn calls(kind: &str) -> Vec<ServerStep> {
    let payloads = if kind == "openai" {
        let call = json!([{"index": 0, "id": "call_9", "type": "function", "function": {"name": "ask_user", "arguments": "{}"}}]);
        let chunk = |delta: Value, end: Value| json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
        vec![chunk(json!({"tool_calls": call}), Value::Null), chunk(json!({}), json!("tool_calls"))]
    } else {
        vec![
            json!({"type": "RUN_STARTED", "threadId": "c", "runId": "x"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "call_9", "toolCallName": "ask_user"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "call_9"}),
            json!({"type": "RUN_FINISHED", "threadId": "c", "runId": "x"}),
        ]
    };
    let pieces = payloads.iter().map(|payload| ServerStep::piece(format!("data: {payload}\n\n").as_bytes()));
    let end = (kind == "openai").then(|| ServerStep::piece(b"data: [DONE]\n\n"));
    let begin = std::iter::once(ServerStep::begin("200 OK", &STREAM));
    begin.chain(pieces).chain(end).chain([ServerStep::end(&[])]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_callers_are_offered_to_agents_elsewhere_that_can_be_told_of_them() {
    let schema = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let tools = json!([{"name": "ask_user", "description": "asks", "parameters": schema}]);
    for (kind, expected) in [
        ("openai", json!([{"type": "function", "function": tools[0]}])),
        ("ag-ui", tools.clone()),
        ("forge", Value::Null),
    ] {
        let origin = ScriptedServer::start(move |_| calls(kind)).await;
        let (hub, _place) = hub_with(&origin, kind, "", "model = \"m\"").await;
        let mut asks = input("run-1", &Value::Null);
        asks["tools"] = tools.clone();
        let answer = post(&hub, "/compat/ag-ui/far", &asks).await;
        let left_out = answer.headers().get("fanlight-left-out").map(|it| it.to_str().unwrap().to_owned());
        let all = events(&told(answer).await.0);
        let body: Value = serde_json::from_slice(&origin.asked()[0].body).unwrap();
        assert_eq!(body["tools"], expected, "{kind}");
        assert_eq!(left_out.as_deref(), expected.is_null().then_some("tools"), "{kind}");
        if expected.is_null() {
            continue;
        }
        assert_eq!(of_kind(&all, "TOOL_CALL_START")[0]["toolCallName"], "ask_user", "{kind}: {all:?}");
        assert_eq!(all.last().unwrap()["type"], "RUN_FINISHED", "{kind}");
        // What it gave back is told with the next request.
        let mut asks = input("run-2", &Value::Null);
        let back = json!({"id": "t", "role": "tool", "toolCallId": "call_9", "content": "blue"});
        asks["messages"]
            .as_array_mut()
            .unwrap()
            .extend([json!({"id": "a", "role": "assistant", "content": ""}), back]);
        told(post(&hub, "/compat/ag-ui/far", &asks).await).await;
        let body: Value = serde_json::from_slice(&origin.asked()[1].body).unwrap();
        let result =
            body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
        assert_eq!(result["content"], "blue", "{kind}: {body}");
    }
}
