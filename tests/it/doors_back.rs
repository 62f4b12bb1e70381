//! Callers are known again by a hub that was away: those who name no conversation by what was said, and those whose thread
//! goes on in a fork.

use serde_json::{Value, json};
use tests::TestHub;

use super::doors::{handing_over, hub_of, post, said, seen, slow, storyteller, told, until};
use super::runner::hub_with;

const CHAT: &str = "/v1/chat/completions";
const AI_SDK: &str = "/compat/ai-sdk/helper";

/// Asks with all that was said, by a caller with this key; the text of the answer and the conversation.
async fn ask(hub: &TestHub, key: &str, messages: &Value, tools: &Value) -> (String, String) {
    let body = json!({"model": "helper", "messages": messages, "tools": tools}).to_string();
    let asked = hub.request("POST", CHAT).header("authorization", format!("Bearer {key}")).body(body);
    let (body, name) = told(asked.send().await.unwrap()).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    (body["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned(), name)
}

async fn away(hub: &mut TestHub) {
    hub.stop().await;
    hub.restart().await;
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_joins_its_conversation_when_the_hub_was_away() {
    let origin = storyteller().await;
    let (mut hub, _place) = hub_of(&origin, "").await;
    let (answer, name) = ask(&hub, "secret-key", &json!([user("Weather?")]), &json!([])).await;
    away(&mut hub).await;
    let history = json!([user("Weather?"), assistant(&answer), user("And now?")]);
    let (more, again) = ask(&hub, "secret-key", &history, &json!([])).await;
    assert_eq!(again, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And now?"]);
    // Somebody with another key is somebody else, and what others have forked is not the caller's.
    let fork = json!({"id": "f", "command": "fork", "into": "copy"}).to_string();
    let path = format!("/v1/conversations/{name}/commands");
    assert_eq!(hub.request("POST", &path).body(fork).send().await.unwrap().status(), 200);
    away(&mut hub).await;
    let (_, other) = ask(&hub, "other-key", &history, &json!([])).await;
    assert_ne!(other, name);
    let history =
        json!([user("Weather?"), assistant(&answer), user("And now?"), assistant(&more), user("Well?")]);
    assert_eq!(ask(&hub, "secret-key", &history, &json!([])).await.1, name);
    let log = hub.request("GET", &format!("/v1/conversations/{name}/export/native")).send().await.unwrap();
    assert!(!log.text().await.unwrap().contains("secret-key"), "keys are not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_own_tools_came_between_is_known_again() {
    let origin = handing_over().await;
    let (mut hub, _place) = hub_with(&origin, "").await;
    let tools = json!([{"type": "function", "function": {"name": "ask_user", "description": "asks", "parameters": {"type": "object"}}}]);
    let (_, name) = ask(&hub, "k", &json!([user("Colour?")]), &tools).await;
    away(&mut hub).await;
    let function = json!({"name": "ask_user", "arguments": "{\"what\":\"colour\"}"});
    let mut asks = assistant("I ask.");
    asks["tool_calls"] = json!([{"id": "call_9", "type": "function", "function": function}]);
    let result = json!({"role": "tool", "tool_call_id": "call_9", "content": "blue"});
    let history = json!([user("Colour?"), asks, result]);
    let (answer, again) = ask(&hub, "k", &history, &tools).await;
    assert_eq!((answer.as_str(), &again), ("It says blue.", &name));
    away(&mut hub).await;
    let history = json!([user("Colour?"), asks, result, assistant(&answer), user("Sure?")]);
    assert_eq!(ask(&hub, "k", &history, &tools).await.1, name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_went_on_in_a_fork_goes_on_there_when_the_hub_was_away() {
    let origin = storyteller().await;
    let (mut hub, _place) = hub_of(&origin, "").await;
    let said_by = |id: &str, role: &str, text: &str| json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]});
    let chat = |messages: &Value| json!({"id": "chat-1", "messages": messages, "trigger": "submit-message"});
    let first = json!([said_by("m1", "user", "Weather?")]);
    assert_eq!(told(post(&hub, AI_SDK, &chat(&first)).await).await.1, "chat-1");
    let (_, fork) = told(post(&hub, AI_SDK, &chat(&first)).await).await;
    assert_ne!(fork, "chat-1");
    away(&mut hub).await;
    let more = json!([
        said_by("m1", "user", "Weather?"),
        said_by("a1", "assistant", "It is sunny."),
        said_by("m2", "user", "And now?")
    ]);
    assert_eq!(told(post(&hub, AI_SDK, &chat(&more)).await).await.1, fork);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hung_up_on_a_run_that_went_on_is_known_again_when_the_hub_was_away() {
    let origin = slow().await;
    let (mut hub, _place) = hub_of(&origin, "[compat.forge]\nhang_up = \"go_on\"").await;
    let forge = "/compat/forge/chat/stream";
    let mut answer = post(&hub, forge, &json!({"user_message": "Hello"})).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    drop(answer);
    let left = async || {
        let log =
            hub.request("GET", &format!("/v1/conversations/{name}/export/native")).send().await.unwrap();
        log.text().await.unwrap().contains("remote_caller_left").then_some(())
    };
    tests::wait::until("the note that the caller left", left).await;
    origin.go_on();
    let seen_then = seen(&hub, &name).await;
    assert_eq!((&seen_then["runs"][0]["text"], &seen_then["anomalies"]), (&json!("Well then."), &json!([])));
    away(&mut hub).await;
    let history = json!({"user_message": "Go on", "messages": [user("Hello"), assistant("Well")]});
    let mut answer = post(&hub, forge, &history).await;
    assert_eq!(answer.headers()["fanlight-conversation"], name.as_str());
    until(&mut answer, "Well").await;
    origin.go_on();
    told(answer).await;
    assert_eq!(said(&seen(&hub, &name).await), ["Hello", "Go on"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_cut_off_with_the_hub_is_known_again_by_a_part_of_the_answer() {
    let origin = slow().await;
    let (mut hub, _place) = hub_of(&origin, "").await;
    let body = json!({"model": "helper", "messages": [user("Hello")], "stream": true});
    let mut answer = post(&hub, CHAT, &body).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    hub.stop().await;
    drop(answer);
    hub.restart().await;
    origin.go_on();
    seen(&hub, &name).await;
    let history = json!([user("Hello"), assistant("Well"), user("Go on")]);
    let body = json!({"model": "helper", "messages": history, "stream": true});
    let answer = post(&hub, CHAT, &body).await;
    assert_eq!(answer.headers()["fanlight-conversation"], name.as_str());
}
