//! The contracts of pages: AG-UI and the AI SDK's `useChat`.

use serde_json::{Value, json};
use tests::wait::within;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::doors::{handing_over, hub_of, objects, post, said, seen, slow, storyteller, told, until};
use super::runner::hub_with;

const AG_UI: &str = "/compat/ag-ui/helper";
const AI_SDK: &str = "/compat/ai-sdk/helper";

fn input(run: &str, messages: &Value, tools: &Value) -> Value {
    json!({
        "threadId": "thread 1", "runId": run, "state": {}, "messages": messages, "tools": tools, "context": [],
        "forwardedProps": {},
    })
}

fn chat(messages: &Value) -> Value {
    json!({"id": "chat-1", "messages": messages, "trigger": "submit-message"})
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "content": text, "parts": [{"type": "text", "text": text}]})
}

fn events(body: &str) -> Vec<Value> {
    objects(body).into_iter().map(|(_, object)| object).collect()
}

/// The kinds of events, one after the other.
fn kinds(body: &str) -> Vec<String> {
    events(body).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_is_told_a_run_with_the_ids_of_its_client() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let (body, name) =
        told(post(&hub, AG_UI, &input("run-1", &json!([user("m1", "Weather?")]), &json!([]))).await).await;
    let all = events(&body);
    assert_eq!(all[0], json!({"type": "RUN_STARTED", "threadId": "thread 1", "runId": "run-1"}));
    assert_eq!(
        all.last().unwrap(),
        &json!({"type": "RUN_FINISHED", "threadId": "thread 1", "runId": "run-1"})
    );
    let result = all.iter().find(|event| event["type"] == "TOOL_CALL_RESULT").unwrap();
    assert_eq!(
        (&result["toolCallId"], &result["content"]),
        (&json!("call_1"), &json!("{\"city\":\"Rome\"}"))
    );
    let kinds = kinds(&body);
    for kind in ["REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_END"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
    }
    assert_eq!(name, "thread 1");
    let assistant = json!({"id": "a", "role": "assistant", "content": "Let me look."});
    let history = json!([user("m1", "Weather?"), assistant, user("m2", "And now?")]);
    let (body, again) = told(post(&hub, AG_UI, &input("run-2", &history, &json!([]))).await).await;
    assert!(body.contains("\"runId\":\"run-2\""), "{body}");
    assert_eq!(again, name);
    let summary = seen(&hub, "thread 1").await;
    assert_eq!(said(&summary), ["Weather?", "And now?"]);
    let view = hub.request("GET", "/v1/conversations/thread%201").send().await.unwrap().text().await.unwrap();
    assert!(view.contains("\"m1\""), "messages keep the ids of their client: {view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_is_told_what_its_client_does_not_have() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let ask = async |run: &str, messages: &Value| {
        events(&told(post(&hub, AG_UI, &input(run, messages, &json!([]))).await).await.0)
    };
    let question = user("m1", "Weather?");
    let all = ask("run-1", &json!([question])).await;
    assert!(all.iter().all(|event| event["type"] != "MESSAGES_SNAPSHOT"), "{all:?}");
    let history = json!([question, {"id": "a", "role": "assistant", "content": "Let me look."}, user("m2", "And now?")]);
    let all = ask("run-2", &history).await;
    assert!(all.iter().all(|event| event["type"] != "MESSAGES_SNAPSHOT"), "{all:?}");
    // A page that was loaded anew knows its thread and nothing else.
    let all = ask("run-3", &json!([user("m3", "Well?")])).await;
    assert_eq!((&all[0]["type"], &all[1]["type"]), (&json!("RUN_STARTED"), &json!("MESSAGES_SNAPSHOT")));
    let told = all[1]["messages"].as_array().unwrap();
    let roles: Vec<&str> = told.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user", "assistant", "user"], "{told:?}");
    assert_eq!((&told[0]["content"], &told[6]["content"]), (&json!("Weather?"), &json!("Well?")));
    assert_eq!(told[1]["toolCalls"][0]["id"], told[2]["toolCallId"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_execute_their_own_tools() {
    let origin = handing_over().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let tools = json!([{"name": "ask_user", "description": "asks", "parameters": {"type": "object"}}]);
    let question = user("m1", "Colour?");
    let (body, name) = told(post(&hub, AG_UI, &input("run-1", &json!([question]), &tools)).await).await;
    assert!(!body.contains("TOOL_CALL_RESULT") && body.contains("TOOL_CALL_END"), "{body}");
    assert_eq!(kinds(&body).last().unwrap(), "RUN_FINISHED");
    let history = json!([
        question,
        {"id": "a", "role": "assistant", "content": "I ask."},
        {"id": "t", "role": "tool", "toolCallId": "call_9", "content": "blue"},
    ]);
    let (body, again) = told(post(&hub, AG_UI, &input("run-2", &history, &tools)).await).await;
    assert!(body.contains("It says blue.") && again == name, "{body}");
    assert_eq!(seen(&hub, &name).await["runs"][0]["tool_calls"][0]["result"], "blue");
    // The AI SDK goes on with the same message.
    let mut body = chat(&json!([question]));
    body["tools"] = tools.clone();
    let (stream, _) = told(post(&hub, AI_SDK, &body).await).await;
    let input = events(&stream).into_iter().find(|event| event["type"] == "tool-input-available").unwrap();
    assert_eq!((&input["toolName"], input.get("providerExecuted")), (&json!("ask_user"), None));
    let part = json!({
        "type": "dynamic-tool", "toolName": "ask_user", "toolCallId": "call_9", "state": "output-available",
        "input": {}, "output": "red",
    });
    let back =
        json!({"id": "msg-7", "role": "assistant", "parts": [{"type": "text", "text": "I ask."}, part]});
    let mut body = chat(&json!([question, back]));
    body["tools"] = tools;
    let (stream, _) = told(post(&hub, AI_SDK, &body).await).await;
    assert_eq!(events(&stream)[0]["messageId"], "msg-7");
    assert!(stream.contains("It says red."), "{stream}");
    assert_eq!(said(&seen(&hub, "chat-1").await), ["Colour?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_is_told_the_parts_of_a_message() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let answer = post(&hub, AI_SDK, &chat(&json!([user("m1", "Weather?")]))).await;
    assert_eq!(answer.headers()["x-vercel-ai-ui-message-stream"], "v1");
    let run = answer.headers()["fanlight-run"].to_str().unwrap().to_owned();
    let (body, name) = told(answer).await;
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    let all = events(&body);
    assert_eq!((&all[0]["type"], &all[0]["messageId"]), (&json!("start"), &json!(run)));
    let output = all.iter().find(|event| event["type"] == "tool-output-available").unwrap();
    assert_eq!((&output["providerExecuted"], &output["toolCallId"]), (&json!(true), &json!("call_1")));
    assert_eq!(all.last().unwrap()["finishReason"], "stop");
    assert_eq!(name, "chat-1");
    // What is regenerated is told in a fork, where the chat goes on.
    let before = hub.view_hash("chat-1").await;
    let mut again = chat(&json!([user("m1", "Weather?")]));
    (again["trigger"], again["messageId"]) = (json!("regenerate-message"), json!(run));
    let (body, fork) = told(post(&hub, AI_SDK, &again).await).await;
    assert!(body.contains("It is sunny.") && fork.starts_with("chat-1-fork-"), "{fork}: {body}");
    assert_eq!(said(&seen(&hub, &fork).await), ["Weather?"]);
    assert_eq!(hub.view_hash("chat-1").await, before);
    let back = json!({"id": "x", "role": "assistant", "parts": [{"type": "text", "text": "Let me look."}]});
    let next = chat(&json!([user("m1", "Weather?"), back, user("m2", "And now?")]));
    assert_eq!(told(post(&hub, AI_SDK, &next).await).await.1, fork);
    assert_eq!(said(&seen(&hub, &fork).await), ["Weather?", "And now?"]);
    // The first question is edited: nothing of what was said holds any more.
    let edited = chat(&json!([user("m1", "Rain?")]));
    let (_, other) = told(post(&hub, AI_SDK, &edited).await).await;
    assert!(other != fork && other != "chat-1", "{other}");
    assert_eq!(said(&seen(&hub, &other).await), ["Rain?"]);
    assert_eq!(hub.view_hash("chat-1").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_comes_back_to_a_run_that_goes_on() {
    let origin = slow().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let path = "/compat/ai-sdk/helper/chat-1/stream";
    let nothing = hub.request("GET", path).send().await.unwrap();
    assert_eq!(nothing.status(), 204);
    let mut answer = post(&hub, AI_SDK, &chat(&json!([user("m1", "Hello")]))).await;
    until(&mut answer, "Well").await;
    drop(answer);
    let mut back = within("a stream", hub.request("GET", path).send()).await.unwrap();
    assert_eq!(back.headers()["x-vercel-ai-ui-message-stream"], "v1");
    assert!(until(&mut back, "Well").await.contains("\"type\":\"start\""));
    origin.go_on();
    let (rest, _) = told(back).await;
    assert!(rest.contains(" then.") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
    assert_eq!(hub.request("GET", path).send().await.unwrap().status(), 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_platform_is_joined_with_an_empty_mode_as_without_one() {
    let origin = slow().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let runs = "/compat/langgraph/threads/t1/runs";
    let asked = json!({"assistant_id": "helper", "if_not_exists": "create",
        "input": {"messages": [{"role": "user", "content": "Hello"}]}});
    let begun: Value = serde_json::from_str(&post(&hub, runs, &asked).await.text().await.unwrap()).unwrap();
    let run = begun["run_id"].as_str().unwrap();
    origin.go_on();
    // This is how the Python package asks if its caller names no mode.
    for query in ["cancel_on_disconnect=0&stream_mode=", "stream_mode=values"] {
        let join = hub.request("GET", &format!("{runs}/{run}/stream?{query}")).header("last-event-id", "-1");
        let joined = within("a stream", join.send()).await.unwrap();
        assert_eq!(joined.status(), 200, "{query}");
        assert!(told(joined).await.0.contains("event: values"), "{query}");
    }
    let join = hub.request("GET", &format!("{runs}/{run}/stream?stream_mode=noise"));
    assert_eq!(within("a refusal", join.send()).await.unwrap().status(), 422);
}

/// The last event of what is posted to `path`.
async fn last(hub: &TestHub, path: &str, body: &Value) -> Value {
    events(&told(post(hub, path, body).await).await.0).pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_told_in_the_words_of_the_page() {
    let origin = ScriptedServer::start(|_| ServerStep::answer("401 Unauthorized", &[], b"{}")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let failed = last(&hub, AG_UI, &input("r", &json!([user("m", "x")]), &json!([]))).await;
    assert_eq!((&failed["type"], &failed["code"]), (&json!("RUN_ERROR"), &json!("http_401")));
    let (stream, _) = told(post(&hub, AI_SDK, &chat(&json!([user("m", "x")]))).await).await;
    assert!(events(&stream).iter().any(|event| event["type"] == "error"), "{stream}");
    for (path, body) in [
        ("/compat/ag-ui/nobody", input("r", &json!([user("m", "x")]), &json!([]))),
        ("/compat/ai-sdk/nobody", chat(&json!([user("m", "x")]))),
    ] {
        let refused = post(&hub, path, &body).await;
        assert_eq!(refused.status(), 404);
        assert!(told(refused).await.0.contains("unknown_agent"));
    }
    assert_eq!(post(&hub, AG_UI, &json!({})).await.status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_and_a_hub_that_stops_are_told_to_pages() {
    let origin = slow().await;
    let (mut hub, _place) = hub_with(&origin, "").await;
    let mut answer = post(&hub, AG_UI, &input("r", &json!([user("m", "x")]), &json!([]))).await;
    until(&mut answer, "Well").await;
    let stop = json!({"id": "s", "command": "stop"});
    post(&hub, "/v1/conversations/thread%201/commands", &stop).await;
    let ended = events(&told(answer).await.0).pop().unwrap();
    assert_eq!((&ended["type"], &ended["outcome"]["type"]), (&json!("RUN_FINISHED"), &json!("cancelled")));
    let mut answer = post(&hub, AI_SDK, &chat(&json!([user("m", "x")]))).await;
    until(&mut answer, "Well").await;
    let (rest, stopped) = tokio::join!(told(answer), hub.stop());
    assert_eq!(stopped, Some(0));
    assert!(events(&rest.0).iter().any(|event| event["type"] == "error"), "{}", rest.0);
}
