//! The served chat completions: any client of OpenAI's API, and Bernard's.

use serde_json::{Value, json};
use tests::wait::within;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::doors::{handing_over, hub_of, objects, post, said, seen, slow, storyteller, told, until};
use super::runner::{answer, hub_with, messages};

const CHAT: &str = "/v1/chat/completions";

fn asks(messages: &Value) -> Value {
    json!({"model": "helper", "messages": messages})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A request for a stream.
fn streams(messages: &Value, more: &Value) -> Value {
    let mut body = asks(messages);
    body["stream"] = json!(true);
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The deltas of the first choices, without the empty ones, and the reason of the end.
fn deltas(body: &str) -> (Vec<Value>, Value) {
    let mut reason = Value::Null;
    let mut deltas = Vec::new();
    for (_, chunk) in objects(body) {
        let choice = &chunk["choices"][0];
        if choice["delta"].as_object().is_some_and(|delta| !delta.is_empty()) {
            deltas.push(choice["delta"].clone());
        }
        if choice["finish_reason"].is_string() {
            reason = choice["finish_reason"].clone();
        }
    }
    (deltas, reason)
}

#[tokio::test(flavor = "multi_thread")]
async fn any_client_is_told_texts_and_no_calls_that_it_would_execute() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let more = json!({"stream_options": {"include_usage": true}});
    let answer = post(&hub, CHAT, &streams(&json!([user("Weather?")]), &more)).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let (body, name) = told(answer).await;
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    assert!(!body.contains("tool_calls") && !body.contains("t__echo"), "{body}");
    let (deltas, reason) = deltas(&body);
    let text: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!((text.as_str(), reason), ("Let me look.\n\nIt is sunny.", json!("stop")));
    assert_eq!(deltas[0], json!({"role": "assistant", "content": ""}));
    assert_eq!(deltas[1], json!({"reasoning_content": "Hm."}));
    let summary = seen(&hub, &name).await;
    assert_eq!(summary["runs"][0]["tool_calls"][0]["state"], "complete", "everybody else sees the call");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_stream_gets_the_answer_in_one_piece() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let answer = post(&hub, CHAT, &asks(&json!([user("Weather?")]))).await;
    assert_eq!(answer.status(), 200);
    let run = answer.headers()["fanlight-run"].to_str().unwrap().to_owned();
    let (body, name) = told(answer).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&body["object"], &body["id"]),
        (&json!("chat.completion"), &json!(format!("chatcmpl-{run}")))
    );
    let message = json!({
        "role": "assistant",
        "content": "Let me look.\n\nIt is sunny.",
        "refusal": null,
        "reasoning_content": "Hm.",
    });
    let choice = json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}]);
    assert_eq!(body["choices"], choice);
    assert!(name.starts_with("helper-"), "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_grows_stays_in_one_conversation_and_is_not_doubled() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let (system, first) = (json!({"role": "system", "content": "Be brief."}), user("Weather?"));
    let (_, name) = told(post(&hub, CHAT, &asks(&json!([system, first]))).await).await;
    // Clients cut and join white space as they like.
    let back = json!({"role": "assistant", "content": "Let me look. It is sunny."});
    let history = json!([system, first, back, user("And now?")]);
    let (body, again) = told(post(&hub, CHAT, &streams(&history, &json!({}))).await).await;
    assert_eq!(again, name);
    assert!(body.contains("messages"), "{body}");
    assert_eq!(said(&seen(&hub, &name).await), ["Be brief.", "Weather?", "And now?"]);
    // The model was told each once: instructions, question, answer with its call, result, answer, question.
    assert_eq!(messages(origin.asked().last().unwrap()).len(), 6);
    // Another way from the first question on: what was said stays as it was.
    let before = hub.view_hash(&name).await;
    let history = json!([system, first, back, user("And then?")]);
    let (_, fork) = told(post(&hub, CHAT, &asks(&history)).await).await;
    assert_ne!(fork, name);
    assert_eq!(said(&seen(&hub, &fork).await), ["Be brief.", "Weather?", "And then?"]);
    assert_eq!(hub.view_hash(&name).await, before);
    // A caller with another key is somebody else.
    let other =
        hub.request("POST", CHAT).header("authorization", "Bearer other").body(asks(&history).to_string());
    let (_, other) = told(other.send().await.unwrap()).await;
    assert!(other != name && other != fork);
    assert_eq!(said(&seen(&hub, &other).await).len(), 4, "all of the history, as it was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_may_be_named_and_then_the_hub_keeps_the_history() {
    let origin = ScriptedServer::start(|asked| answer(&format!("{} messages", messages(asked).len()))).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let ask = async |text: &str| {
        let body = asks(&json!([user(text)])).to_string();
        let request = hub.request("POST", CHAT).header("Fanlight-Conversation", "mine").body(body);
        told(request.send().await.unwrap()).await
    };
    let (_, name) = ask("One").await;
    assert_eq!(name, "mine");
    let (body, _) = ask("Two").await;
    assert!(body.contains("3 messages"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_it_is_told_what_the_tools_do() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "[compat]\nbernard = \"helper\"").await;
    let question = json!([user("Weather?")]);
    let by_field = told(post(&hub, CHAT, &streams(&question, &json!({"tool_progress": true}))).await).await.0;
    let mut by_path = streams(&question, &json!({}));
    by_path["model"] = json!("bernard-v1");
    let by_path = told(post(&hub, "/compat/bernard/v1/chat/completions", &by_path).await).await.0;
    for body in [by_field, by_path] {
        let (deltas, reason) = deltas(&body);
        let called = json!({"tool_calls": [{
            "index": 0, "id": "call_1", "type": "function",
            "function": {"name": "t__echo", "arguments": "{\"city\":\"Rome\"}"},
        }]});
        assert!(deltas.contains(&called), "{body}");
        let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "{\"city\":\"Rome\"}"});
        assert!(deltas.contains(&result), "{body}");
        assert_eq!(reason, "stop");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_executes_the_tools_that_it_brings() {
    let origin = handing_over().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let tool = json!({"type": "function", "function": {
        "name": "ask_user", "description": "asks", "parameters": {"type": "object", "properties": {}},
    }});
    let more = json!({"tools": [tool]});
    let (body, name) = told(post(&hub, CHAT, &streams(&json!([user("Colour?")]), &more)).await).await;
    let (deltas, reason) = deltas(&body);
    let function = json!({"name": "ask_user", "arguments": ""});
    let begun =
        json!({"tool_calls": [{"index": 0, "id": "call_9", "type": "function", "function": function}]});
    assert!(deltas.contains(&begun), "{body}");
    assert_eq!(reason, "tool_calls");
    let offered: Value = serde_json::from_slice(&origin.asked()[0].body).unwrap();
    assert_eq!(offered["tools"], json!([tool]));
    let function = json!({"name": "ask_user", "arguments": "{\"what\":\"colour\"}"});
    let calls = json!([{"id": "call_9", "type": "function", "function": function}]);
    let history = json!([
        user("Colour?"),
        {"role": "assistant", "content": "I ask.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_9", "content": "blue"},
    ]);
    let mut body = asks(&history);
    body["tools"] = json!([tool]);
    let (body, again) = told(post(&hub, CHAT, &body).await).await;
    assert!(body.contains("It says blue."), "{body}");
    assert_eq!(again, name);
    let summary = seen(&hub, &name).await;
    let call = &summary["runs"][0]["tool_calls"][0];
    assert_eq!((&call["state"], &call["result"]), (&json!("complete"), &json!("blue")));
    assert_eq!(said(&summary), ["Colour?"]);
    // And on: the answer is in two runs, and one for the caller.
    let back = json!({"role": "assistant", "content": "It says blue."});
    let mut history = history.as_array().unwrap().clone();
    history.extend([back, user("Thanks")]);
    let (_, third) = told(post(&hub, CHAT, &asks(&json!(history))).await).await;
    assert_eq!(third, name);
    // In one piece the call is in the message.
    let mut body = asks(&json!([user("Another colour?")]));
    body["tools"] = json!([tool]);
    let body: Value = serde_json::from_str(&told(post(&hub, CHAT, &body).await).await.0).unwrap();
    let choice = &body["choices"][0];
    assert_eq!((&choice["message"]["tool_calls"], &choice["finish_reason"]), (&calls, &json!("tool_calls")));
}

/// The status, the kind and the code of an error.
async fn refused(hub: &TestHub, body: &Value) -> (u16, String, String) {
    let answer = post(hub, CHAT, body).await;
    let status = answer.status().as_u16();
    let error = serde_json::from_str::<Value>(&told(answer).await.0).unwrap()["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    assert!(!text("message").is_empty());
    (status, text("type"), text("code"))
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_of_the_api() {
    let origin = ScriptedServer::start(|_| ServerStep::answer("401 Unauthorized", &[], b"{}")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let bad = |code: &str| (400, "invalid_request_error".to_owned(), code.to_owned());
    assert_eq!(refused(&hub, &json!([])).await, bad("invalid_json"));
    assert_eq!(refused(&hub, &asks(&json!([]))).await, bad("invalid_value"));
    let mut two = asks(&json!([user("x")]));
    two["n"] = json!(2);
    assert_eq!(refused(&hub, &two).await, bad("invalid_value"));
    let nobody = json!({"model": "gpt-9", "messages": [user("x")]});
    let none = (404, "invalid_request_error".to_owned(), "model_not_found".to_owned());
    assert_eq!(refused(&hub, &nobody).await, none);
    let failed = post(&hub, CHAT, &asks(&json!([user("x")]))).await;
    assert_eq!(
        (failed.status().as_u16(), &failed.headers()["x-should-retry"]),
        (502, &"false".parse().unwrap())
    );
    let body: Value = serde_json::from_str(&told(failed).await.0).unwrap();
    assert_eq!(
        (&body["error"]["code"], &body["error"]["type"]),
        (&json!("http_401"), &json!("server_error"))
    );
    let (body, _) = told(post(&hub, CHAT, &streams(&json!([user("y")]), &json!({}))).await).await;
    let last = objects(&body).pop().unwrap().1;
    assert_eq!(last["error"]["code"], "http_401", "{body}");
    let models = hub.json("/v1/models").await;
    let model = json!({"id": "helper", "object": "model", "created": 0, "owned_by": "fanlight"});
    assert_eq!(models, json!({"object": "list", "data": [model]}));
    assert_eq!(hub.json("/v1/models/helper").await, model);
    assert_eq!(hub.json("/v1/models/gpt-9").await["error"]["code"], "model_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_the_api_that_are_not_served_are_refused_in_its_form() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    for path in ["/v1/files", "/v1/responses/resp_1/cancel", "/v1/embeddings", "/v1/completions"] {
        let answer = post(&hub, path, &asks(&json!([user("x")]))).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(answer.headers()["x-should-retry"], "false", "{path}");
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["code"], "unknown_url", "{body}");
        assert_eq!(body["error"]["type"], "invalid_request_error", "{body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(path) && message.contains("/v1/chat/completions"), "{message}");
    }
    let other = post(&hub, "/v1/elsewhere", &json!({})).await;
    assert_eq!(
        (other.status().as_u16(), &other.headers()["content-type"]),
        (404, &"application/problem+json".parse().unwrap())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_leaves_the_run_going() {
    let origin = slow().await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut answer = post(&hub, CHAT, &streams(&json!([user("Hello")]), &json!({}))).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    drop(answer);
    origin.go_on();
    let summary = seen(&hub, &name).await;
    let run = &summary["runs"][0];
    assert_eq!((&run["status"], &run["text"]), (&json!("complete"), &json!("Well then.")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_or_a_hub_that_stops_is_an_error_and_no_whole_answer() {
    let origin = slow().await;
    let (mut hub, _place) = hub_with(&origin, "").await;
    let mut answer = post(&hub, CHAT, &streams(&json!([user("Hello")]), &json!({}))).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    until(&mut answer, "Well").await;
    let stop = json!({"id": "s", "command": "stop"});
    assert_eq!(post(&hub, &format!("/v1/conversations/{name}/commands"), &stop).await.status(), 200);
    let (rest, _) = told(answer).await;
    assert!(rest.contains("\"code\":\"cancelled\"") && !rest.contains("finish_reason\":\"stop"), "{rest}");
    let mut answer = post(&hub, CHAT, &streams(&json!([user("Again")]), &json!({}))).await;
    until(&mut answer, "Well").await;
    let (rest, stopped) = tokio::join!(told(answer), hub.stop());
    assert_eq!(stopped, Some(0));
    let code = objects(&rest.0).pop().unwrap().1["error"]["code"].as_str().unwrap().to_owned();
    assert!(["shutting_down", "interrupted"].contains(&code.as_str()), "{code}");
    let refused = within("a refusal", hub.request("GET", "/v1/models").send()).await;
    assert!(refused.is_err(), "it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_origin_that_was_set_may_call() {
    let origin = slow().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let asked = hub.request("POST", CHAT).header("origin", "http://localhost:5173").body("{}");
    assert_eq!(asked.send().await.unwrap().status(), 403, "a stranger");
    let hub = TestHub::start_with(&["--origin", "http://localhost:5173"]).await;
    let asked = hub.request("OPTIONS", CHAT).header("origin", "http://localhost:5173");
    let asked = asked.header("access-control-request-method", "POST").send().await.unwrap();
    assert_eq!(asked.status(), 204);
    assert_eq!(asked.headers()["access-control-allow-origin"], "http://localhost:5173");
    let asked = hub.request("POST", CHAT).header("origin", "http://localhost:5173").body("{}");
    let asked = asked.send().await.unwrap();
    assert_eq!((asked.status().as_u16(), &asked.headers()["vary"]), (400, &"origin".parse().unwrap()));
}
