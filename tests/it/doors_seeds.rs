//! The contracts of Forge, Deep Agent and Ralph, as their clients call them.

use serde_json::{Value, json};
use tests::Origin;

use super::doors::{hub_of, objects, post, said, seen, slow, storyteller, told, until};
use super::runner::{answer, hub_with, messages};

const FORGE: &str = "/compat/forge/chat/stream";
const DEEP_AGENT: &str = "/compat/deep-agent/chat/stream";
const RALPH: &str = "/compat/ralph/chat/stream";

/// The objects of a stream without `fields`, whose values are never the same.
fn without(body: &str, fields: &[&str]) -> Vec<(String, Value)> {
    let mut all = objects(body);
    for (_, object) in &mut all {
        for field in fields {
            object.as_object_mut().unwrap().remove(*field);
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_is_told_tokens_thoughts_calls_and_the_whole_answer() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "[compat]\nforge = \"helper\"").await;
    let body = json!({
        "user_message": "Weather?",
        "messages": [],
        "system_prompt": null,
        "model": "anthropic/claude-sonnet-4",
        "provider": "openrouter",
        "enable_tools": true,
        "use_toon_format": false,
        "use_tool_rag_mode": false,
    });
    let answer = post(&hub, FORGE, &body).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert!(answer.headers().get("fanlight-left-out").is_none(), "{:?}", answer.headers());
    let (stream, name) = told(answer).await;
    let called = |status: &str| {
        let call =
            json!({"id": "call_1", "tool_name": "t__echo", "arguments": {"city": "Rome"}, "status": status});
        ("tool_call".to_owned(), call)
    };
    let events = without(&stream, &["latency_ms"]);
    let result = json!({"tool_call_id": "call_1", "result": "{\"city\":\"Rome\"}", "is_error": false});
    let wanted = [
        ("thinking".to_owned(), json!({"content": "Hm.", "cumulative": "Hm."})),
        ("token".to_owned(), json!({"token": "Let me look.", "cumulative": "Let me look."})),
        called("pending"),
        called("executing"),
        called("complete"),
        ("tool_result".to_owned(), result),
        ("token".to_owned(), json!({"token": "It is sunny.", "cumulative": "Let me look.It is sunny."})),
        ("complete".to_owned(), json!({"response": "Let me look.It is sunny.", "usage": null})),
    ];
    assert_eq!(events, wanted);
    // The next request has all that was said; it stays in the conversation.
    let body = json!({
        "user_message": "And now?",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "Let me look.It is sunny."},
        ],
        "enable_tools": false,
    });
    let answer = post(&hub, FORGE, &body).await;
    assert_eq!(answer.headers()["fanlight-left-out"], "enable_tools");
    assert_eq!(told(answer).await.1, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And now?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_asks_for_tools_models_and_health() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let at = async |path: &str| hub.json(&format!("/compat/forge{path}")).await;
    assert_eq!(at("/health").await, json!({"status": "ok", "armory_available": true}));
    let tools = at("/tools").await;
    let echo = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "t__echo").unwrap();
    let wanted = json!({
        "name": "t__echo", "description": "gives its arguments back", "inputSchema": {"type": "object"},
    });
    assert_eq!(*echo, wanted);
    let refreshed: Value =
        serde_json::from_str(&told(post(&hub, "/compat/forge/tools/refresh", &json!({})).await).await.0)
            .unwrap();
    assert_eq!(refreshed, json!({"status": "refreshed", "tool_count": tools.as_array().unwrap().len()}));
    let models = at("/models").await;
    assert_eq!((&models["providers"], &models["models"][0]["id"]), (&json!(["fanlight"]), &json!("helper")));
    assert_eq!(
        at("/models/grouped").await["default_model"],
        json!({"provider": "fanlight", "model_id": "helper"})
    );
    assert_eq!(at("/config").await["allow_byok"], false);
    assert_eq!(at("/providers").await["providers"][0]["configured"], true);
    let refused = post(&hub, FORGE, &json!({"messages": []})).await;
    assert_eq!(refused.status(), 400);
    assert!(told(refused).await.0.contains("user_message"));
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_agent_and_ralph_are_told_the_run_in_their_own_words() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let question = json!([{"role": "user", "content": "Weather?"}]);
    let answer = post(&hub, DEEP_AGENT, &json!({"messages": question, "stream": true})).await;
    let events: Vec<Value> = objects(&told(answer).await.0).into_iter().map(|(_, object)| object).collect();
    let wanted = [
        json!({"type": "token", "data": {"content": "Let me look.", "agent_depth": 0}}),
        json!({"type": "tool_start", "data": {"tool_id": "call_1", "name": "t__echo", "agent_depth": 0}}),
        json!({"type": "tool_end", "data": {
            "tool_id": "call_1", "name": "t__echo", "result": "{\"city\":\"Rome\"}", "agent_depth": 0,
        }}),
        json!({"type": "token", "data": {"content": "It is sunny.", "agent_depth": 0}}),
        json!({"type": "done"}),
    ];
    assert_eq!(events, wanted);
    let asks =
        |user: &str, messages: &Value| json!({"user_id": user, "chat_id": "chat 7", "messages": messages});
    let (stream, name) = told(post(&hub, RALPH, &asks("ada", &question)).await).await;
    assert!(stream.starts_with("event: message\r\ndata: "), "{stream}");
    let events: Vec<Value> = objects(&stream).into_iter().map(|(_, object)| object).collect();
    let wanted = [
        json!({"type": "message", "content": "Let me look."}),
        json!({"type": "tool_call_start", "tool_call_id": "call_1", "tool_name": "t__echo", "tool_args": {"city": "Rome"}}),
        json!({"type": "tool_call_complete", "tool_call_id": "call_1", "tool_name": "t__echo", "result": "{\"city\":\"Rome\"}"}),
        json!({"type": "message", "content": "It is sunny."}),
        json!({"type": "done"}),
    ];
    assert_eq!(events, wanted);
    assert_eq!(name, "ada-chat 7");
    // A chat is a conversation, however its client shows the answers.
    let back = json!({"role": "assistant", "content": "<details>…</details>\nIt is sunny."});
    let history = json!([question[0], back, {"role": "user", "content": "And now?"}]);
    assert_eq!(told(post(&hub, RALPH, &asks("ada", &history)).await).await.1, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And now?"]);
    assert_eq!(told(post(&hub, RALPH, &asks("bob", &question)).await).await.1, "bob-chat 7");
    let refused = post(&hub, RALPH, &json!({"chat_id": "c", "messages": question})).await;
    assert_eq!((refused.status().as_u16(), told(refused).await.0.contains("user_id")), (400, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_told_in_the_words_of_each() {
    let origin = Origin::start(|_| tests::Step::answer("401 Unauthorized", &[], b"{}")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let question = json!([{"role": "user", "content": "x"}]);
    let forge = told(post(&hub, FORGE, &json!({"user_message": "x"})).await).await.0;
    let (kind, error) = objects(&forge).pop().unwrap();
    assert_eq!(
        (kind.as_str(), &error["code"], &error["retryable"]),
        ("error", &json!("http_401"), &json!(false))
    );
    let ralph = json!({"user_id": "u", "chat_id": "c", "messages": question});
    let ralph = told(post(&hub, RALPH, &ralph).await).await.0;
    assert_eq!(objects(&ralph).pop().unwrap().1["type"], "error", "{ralph}");
    let deep = told(post(&hub, DEEP_AGENT, &json!({"messages": question})).await).await.0;
    let last = objects(&deep).pop().unwrap().1;
    assert_eq!(last["type"], "status", "no `done` comes: {deep}");
    let nobody = tests::Hub::start().await;
    let refused = post(&nobody, FORGE, &json!({"user_message": "x"})).await;
    let problem: Value = serde_json::from_str(&told(refused).await.0).unwrap();
    assert_eq!((&problem["code"], &problem["status"]), (&json!("unknown_agent"), &json!(404)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_and_asks_again_goes_on_where_it_was() {
    let origin = slow().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let body = json!({"user_id": "u", "chat_id": "c", "messages": [{"role": "user", "content": "Hello"}]});
    let mut answer = post(&hub, RALPH, &body).await;
    until(&mut answer, "Well").await;
    drop(answer);
    origin.go_on();
    assert_eq!(seen(&hub, "u-c").await["runs"][0]["text"], "Well then.");
    let history = json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Well"},
        {"role": "user", "content": "Go on"},
    ]);
    let mut answer = post(&hub, RALPH, &json!({"user_id": "u", "chat_id": "c", "messages": history})).await;
    until(&mut answer, "Well").await;
    origin.go_on();
    assert_eq!(answer.headers()["fanlight-conversation"], "u-c");
    assert!(told(answer).await.0.contains("done"));
    let asked = messages(origin.asked().last().unwrap());
    assert_eq!(asked[1]["content"], "Well then.", "the model knows all of its answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_is_not_set_or_names_nobody_stops_the_hub_from_starting() {
    let place = tempfile::tempdir().unwrap();
    for (table, named) in [("forge = \"nobody\"", "agents.nobody"), ("agno = \"x\"", "the doors are bernard")]
    {
        let file = place.path().join("fanlight.toml");
        std::fs::write(&file, format!("[compat]\n{table}\n")).unwrap();
        let hub = std::process::Command::new(tests::hub::binary());
        let ended = { hub }.args(["serve", "--config", file.to_str().unwrap()]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && said.contains(named), "{said}");
    }
    // Nobody is set: the first agent stands behind all of them.
    let origin = Origin::start(|_| answer("Hello")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    assert!(told(post(&hub, FORGE, &json!({"user_message": "x"})).await).await.0.contains("Hello"));
}
