//! The contracts of Forge, Deep Agent and Ralph, as their clients call them.

use serde_json::{Value, json};
use tests::ScriptedServer;

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
    assert!(answer.headers().get("fanlight-left-out").is_none(), "{:?}", answer.headers());
    assert_eq!(told(answer).await.1, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And now?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_without_tools_is_offered_none_and_executes_none() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    // This model calls a tool whatever it is offered.
    let body = json!({"user_message": "Weather?", "messages": [], "enable_tools": false});
    let (stream, name) = told(post(&hub, FORGE, &body).await).await;
    let results = objects(&stream).into_iter().filter(|(kind, _)| kind == "tool_result");
    let results: Vec<Value> = results.map(|(_, result)| result["is_error"].clone()).collect();
    assert_eq!(results, [json!(true)], "{stream}");
    for asked in origin.asked() {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        assert!(body.get("tools").is_none(), "{body}");
    }
    let run = &seen(&hub, &name).await["runs"][0];
    assert_eq!(run["status"], "complete", "{run}");
    let asks = async |more: &Value| {
        let mut body = json!({"user_message": "Weather?", "messages": []});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told(post(&hub, FORGE, &body).await).await;
        let asked: Value = serde_json::from_slice(&origin.asked().last().unwrap().body).unwrap();
        asked.get("tools").is_some()
    };
    assert!(asks(&json!({"enable_tools": true})).await && asks(&json!({})).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_elsewhere_is_told_that_no_tools_are_wanted_and_others_leave_it_out() {
    for (kind, body, left_out) in [
        ("forge", "event: complete\ndata: {\"response\":\"Hi\",\"usage\":null}\n\n", false),
        (
            "deep-agent",
            "data: {\"type\":\"token\",\"data\":{\"content\":\"Hi\"}}\n\ndata: {\"type\":\"done\"}\n\n",
            true,
        ),
    ] {
        let told_so = body.to_owned();
        let origin = ScriptedServer::start(move |_| {
            tests::ServerStep::answer("200 OK", &super::proxy::STREAM, told_so.as_bytes())
        })
        .await;
        let (hub, _place) = super::remote_kinds::hub_with(&origin, kind, "", "").await;
        let body = json!({"user_message": "Weather?", "enable_tools": false});
        let answer = post(&hub, FORGE, &body).await;
        let named = answer.headers().get("fanlight-left-out").is_some_and(|it| it == "enable_tools");
        assert_eq!(named, left_out, "{kind}");
        told(answer).await;
        let asked: Value = serde_json::from_slice(&origin.asked()[0].body).unwrap();
        assert_eq!(asked.get("enable_tools"), (kind == "forge").then_some(&json!(false)), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_manages_its_models_and_they_are_there_after_a_restart() {
    let origin = storyteller().await;
    let (mut hub, _place) = hub_of(&origin, "").await;
    let asks = async |hub: &tests::TestHub, method: &str, path: &str, body: Value| {
        let asked = hub.request(method, &format!("/compat/forge{path}"));
        let answer = asked.header("content-type", "application/json").body(body.to_string()).send().await;
        let answer = answer.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_str::<Value>(&answer.text().await.unwrap()).unwrap())
    };
    let added = json!({"provider": "openrouter", "model_id": "vendor/large", "display_name": "Large"});
    let (status, answer) = asks(&hub, "POST", "/models", added).await;
    assert_eq!(
        (status, &answer["status"], &answer["model"]["display_name"]),
        (200, &json!("created"), &json!("Large"))
    );
    for path in ["/models/openrouter/vendor/large", "/models/fanlight/helper"] {
        let (status, answer) = asks(&hub, "PUT", path, json!({"favorited": true})).await;
        assert_eq!((status, &answer["model"]["favorited"]), (200, &json!(true)), "{path}: {answer}");
    }
    hub.stop().await;
    hub.restart().await;
    let grouped = hub.json("/compat/forge/models/grouped").await;
    let favorites = json!([
        {"provider": "fanlight", "model_id": "helper"}, {"provider": "openrouter", "model_id": "vendor/large"},
    ]);
    assert_eq!(grouped["favorites"], favorites, "{grouped}");
    assert_eq!(grouped["providers"]["openrouter"]["chat"][0]["id"], "vendor/large");
    let ask = json!({"user_message": "Hello", "model": "openrouter::vendor/large", "provider": "openrouter"});
    assert!(
        told(post(&hub, FORGE, &ask).await).await.0.contains("sunny"),
        "the agent behind the door answers"
    );
    let (status, answer) = asks(&hub, "PUT", "/providers/openrouter", json!({"enabled": false})).await;
    assert_eq!(
        (status, answer),
        (200, json!({"status": "updated", "provider": "openrouter", "enabled": false}))
    );
    assert!(hub.json("/compat/forge/models/grouped").await["providers"].get("openrouter").is_none());
    let deleted = json!({"status": "deleted", "provider": "fanlight", "model_id": "helper"});
    assert_eq!(asks(&hub, "DELETE", "/models/fanlight/helper", Value::Null).await, (200, deleted));
    assert_eq!(hub.json("/compat/forge/models").await["models"], json!([]));
    let fetched = json!({
        "status": "success", "provider": "fanlight", "models_added": 1, "models_updated": 0, "deprecated": [],
    });
    assert_eq!(asks(&hub, "POST", "/models/fetch", json!({"provider": "fanlight"})).await, (200, fetched));
    let suggested = json!([{"id": "helper", "display_name": "helper", "recommended": true}]);
    assert_eq!(hub.json("/compat/forge/models/suggestions/fanlight").await["suggestions"], suggested);
    for (method, path, body) in [
        ("PUT", "/models/openai/none", json!({"favorited": true})),
        ("DELETE", "/models/openai/none", Value::Null),
        ("PUT", "/providers/nobody", json!({"enabled": true})),
        ("POST", "/models/fetch", json!({"provider": "nobody"})),
        ("GET", "/models/suggestions/nobody", Value::Null),
    ] {
        let (status, problem) = asks(&hub, method, path, body).await;
        assert_eq!((status, problem["detail"].is_string()), (404, true), "{method} {path}: {problem}");
    }
    let (status, problem) = asks(&hub, "POST", "/models", json!({"provider": "openai"})).await;
    assert_eq!(status, 400);
    assert!(problem["detail"].as_str().unwrap().contains("model_id"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forge_validates_servers_with_tools() {
    let origin = ScriptedServer::start(|_| tests::ServerStep::answer("401 Unauthorized", &[], b"{}")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let validate = async |url: &str| {
        let body = json!({"url": url, "api_key": "${HOME}"});
        let answer = told(post(&hub, "/compat/forge/mcp/validate", &body).await).await.0;
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let nobody = validate(&format!("http://{}/mcp", origin.address())).await;
    assert_eq!((&nobody["valid"], &nobody["tool_count"]), (&json!(false), &json!(0)), "{nobody}");
    assert!(nobody["error"].is_string());
    let asked = origin.asked();
    assert_eq!(asked[0].header("authorization"), Some("Bearer ${HOME}"), "a key is sent to the letter");
    assert_eq!(validate("no url").await["valid"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_streams_and_sockets_show_that_they_are_alive_as_often_as_is_set() {
    let origin = slow().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let url = format!("http://{}/v1", origin.address());
    let agent = format!("kind = \"runner\"\nprovider = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"");
    let door = "[compat.forge]\nping_seconds = 1";
    std::fs::write(&file, format!("sse_ping = 1\nws_ping = 1\n[agents.helper]\n{agent}\n{door}\n")).unwrap();
    let hub = tests::TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    let mut forge = post(&hub, FORGE, &json!({"user_message": "Hello"})).await;
    let said = until(&mut forge, "event: ping").await;
    let (_, ping) = objects(&said).into_iter().find(|(kind, _)| kind == "ping").unwrap();
    assert!(ping["timestamp"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000), "{ping}");
    let question = json!([{"role": "user", "content": "Hello"}]);
    let mut ralph = post(&hub, RALPH, &json!({"user_id": "u", "chat_id": "c", "messages": question})).await;
    until(&mut ralph, ": \n\n").await;
    // Who watches in Forge's dialect is told as seldom as the seed says.
    assert_eq!(encode::encoding("forge").unwrap().ping_ms, 30_000);
    let mut socket = tests::wire::WebSocketWire::connect(hub.address()).await;
    let mut beats = 0;
    while beats < 2 {
        let came = tests::wait::within("a heartbeat", socket.next()).await;
        beats += usize::from(matches!(
            came,
            tests::wire::WireMessage::Frame(model::frame::ServerFrame::Hb { .. }, _)
        ));
    }
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
    let arguments = json!({"city": "Rome"});
    let wanted = [
        json!({"type": "status", "content": "Thinking..."}),
        json!({"type": "message", "content": "Let me look."}),
        json!({"type": "tool_call_start", "tool_call_id": "call_1", "tool_name": "t__echo", "tool_args": arguments}),
        json!({"type": "tool_call_complete", "tool_call_id": "call_1", "tool_name": "t__echo", "tool_args": arguments,
            "result": "{\"city\":\"Rome\"}"}),
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
    let origin = ScriptedServer::start(|_| tests::ServerStep::answer("401 Unauthorized", &[], b"{}")).await;
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
    let nobody = tests::TestHub::start().await;
    let refused = post(&nobody, FORGE, &json!({"user_message": "x"})).await;
    let problem: Value = serde_json::from_str(&told(refused).await.0).unwrap();
    assert_eq!((&problem["code"], &problem["status"]), (&json!("unknown_agent"), &json!(404)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_and_asks_again_goes_on_where_it_was() {
    let origin = slow().await;
    let (hub, _place) = hub_of(&origin, "[compat.ralph]\nhang_up = \"go_on\"").await;
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
    for (table, named) in [("forge = \"nobody\"", "agents.nobody"), ("agno = \"x\"", "the doors are ag-ui")] {
        let file = place.path().join("fanlight.toml");
        std::fs::write(&file, format!("[compat]\n{table}\n")).unwrap();
        let hub = std::process::Command::new(tests::hub::binary());
        let ended = { hub }.args(["serve", "--config", file.to_str().unwrap()]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && said.contains(named), "{said}");
    }
    // Nobody is set, and there is one agent: it stands behind all of them.
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    assert!(told(post(&hub, FORGE, &json!({"user_message": "x"})).await).await.0.contains("Hello"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_without_an_agent_of_its_own_has_the_default_one() {
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let more = format!(
        "[agents.zoe]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://{}/v1\"\nmodel = \"z\"\n[compat]\nralph = \"helper\"\ndefault = \"zoe\"\n",
        origin.address()
    );
    let (hub, _place) = super::runner::hub_with_tools(&origin, "", &more).await;
    // `helper` comes first in the order of the alphabet, and is asked only where it is set.
    let ralph = json!({"user_id": "u", "chat_id": "1", "messages": [{"role": "user", "content": "x"}]});
    for (path, body, model) in [(FORGE, json!({"user_message": "x"}), "z"), (RALPH, ralph, "m")] {
        told(post(&hub, path, &body).await).await;
        let asked = origin.asked().pop().unwrap();
        let asked: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(asked["model"], model, "{path}: {asked}");
    }
}
