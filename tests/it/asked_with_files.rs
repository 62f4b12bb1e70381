//! Questions with files: commands and doors take them, models get them in the form of their API, the log keeps them
//! beside the message, and what is not taken is refused with a reason. How callers want the model to answer is passed on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::{ScriptedServer, TestHub};

use super::doors::post;
use super::runner::{answer, command, hub_with, last_run};
use super::runner_apis::{anthropic_hub, anthropic_text};

const CHAT: &str = "/v1/chat/completions";

const RESPONSES: &str = "/v1/responses";

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn file(name: &str, mime: &str, data: &str) -> Value {
    json!({"name": name, "type": mime, "data": data})
}

/// The three kinds of files.
fn files() -> Value {
    let text = STANDARD.encode("a,b\n1,2\n");
    json!([
        file("a.png", "image/png", PIXEL),
        file("b.pdf", "application/pdf", "JVBERg=="),
        file("c.csv", "text/csv", &text)
    ])
}

fn say_with(files: &Value) -> Value {
    json!({"id": "1", "command": "say", "agent": "helper", "text": "What is this?", "files": files})
}

/// The body of the request with this number.
fn body(origin: &ScriptedServer, number: usize) -> Value {
    serde_json::from_slice(&origin.asked()[number].body).unwrap()
}

/// The only message of the user in the conversation.
async fn message(hub: &TestHub, conversation: &str) -> Value {
    let view = hub.json(&format!("/v1/conversations/{conversation}")).await;
    let messages = view["messages"].as_object().unwrap();
    messages.values().find(|message| message["role"] == "user").unwrap().clone()
}

/// The contents of a file that the hub has under `hash`, in base64.
async fn contents(hub: &TestHub, conversation: &str, hash: &Value) -> Value {
    hub.json(&format!("/v1/conversations/{conversation}/results/{}", hash.as_str().unwrap())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_asks_with_files_and_the_model_gets_them_in_openais_form() {
    let origin = ScriptedServer::start(|_| answer("A pixel.")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let (status, done) = command(&hub, say_with(&files())).await;
    assert_eq!(status, 200, "{done}");
    assert_eq!(last_run(&hub).await["text"], "A pixel.");
    let content = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}},
        {"type": "file", "file": {"filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        {"type": "text", "text": "[file: c.csv]\na,b\n1,2\n"},
    ]);
    assert_eq!(body(&origin, 0)["messages"], json!([{"role": "user", "content": content}]));
    let message = message(&hub, "c").await;
    let named: Vec<_> =
        message["files"].as_array().unwrap().iter().map(|file| (&file["name"], &file["bytes"])).collect();
    assert_eq!(
        named,
        [(&json!("a.png"), &json!(70)), (&json!("b.pdf"), &json!(4)), (&json!("c.csv"), &json!(8))]
    );
    assert!(!message.to_string().contains(PIXEL), "the event has the name alone: {message}");
    assert_eq!(contents(&hub, "c", &message["files"][0]["hash"]).await, PIXEL);
    // The next request has them still.
    let again = json!({"id": "2", "command": "say", "agent": "helper", "text": "Sure?"});
    assert_eq!(command(&hub, again).await.0, 200);
    hub.json_until("/v1/conversations/c?summary", |it| it["runs"][1]["status"] == "complete").await;
    assert_eq!(body(&origin, 1)["messages"][0]["content"], content);
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropics_models_get_files_in_their_own_form() {
    let origin = ScriptedServer::start(|_| anthropic_text("A pixel.")).await;
    let (hub, _place) = anthropic_hub(&origin).await;
    assert_eq!(command(&hub, say_with(&files())).await.0, 200);
    assert_eq!(last_run(&hub).await["text"], "A pixel.");
    let base64 = |mime: &str, data: &str| json!({"type": "base64", "media_type": mime, "data": data});
    let csv = json!({"type": "text", "media_type": "text/plain", "data": "a,b\n1,2\n"});
    let content = json!([
        {"type": "image", "source": base64("image/png", PIXEL)},
        {"type": "document", "source": base64("application/pdf", "JVBERg=="), "title": "b.pdf"},
        {"type": "document", "source": csv, "title": "c.csv"},
        {"type": "text", "text": "What is this?"},
    ]);
    assert_eq!(body(&origin, 0)["messages"], json!([{"role": "user", "content": content}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_or_the_hub_does_not_take_is_refused_and_nothing_is_said() {
    let origin = ScriptedServer::start(|_| answer("Never.")).await;
    let (hub, _place) = hub_with(&origin, "files = [\"text\"]").await;
    let long = "A".repeat(model::limits::FILE_BYTES_MAX / 3 * 4 + 8);
    let many: Vec<Value> = vec![file("a.txt", "text/plain", "QUJD"); 9];
    for (files, why) in [
        (json!([file("a.png", "image/png", PIXEL)]), "takes files of these kinds alone: text"),
        (json!([file("a.zip", "application/zip", "QUJD")]), "is of the type \"application/zip\""),
        (json!([file("a.txt", "text/plain", "no base64")]), "not base64"),
        (json!([file("a.txt", "text/plain", &long)]), "the limit is 5242880"),
        (json!(many), "9 files come with the message, the limit is 8"),
    ] {
        let (status, refused) = command(&hub, say_with(&files)).await;
        assert_eq!((status, &refused["code"]), (400, &json!("bad_request")), "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains(why), "{refused}");
    }
    assert!(origin.asked().is_empty());
    let agents = hub.json("/v1/agents").await;
    assert_eq!(agents["agents"][0]["files"], json!(["text"]));
    assert_eq!(command(&hub, say_with(&json!([file("a.txt", "text/plain", "QUJD")]))).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_imports_and_forks_keep_the_files() {
    let origin = ScriptedServer::start(|_| answer("A pixel.")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    assert_eq!(command(&hub, say_with(&files())).await.0, 200);
    last_run(&hub).await;
    let text = |path: &str| {
        let request = hub.request("GET", path);
        async move { request.send().await.unwrap().text().await.unwrap() }
    };
    let native = text("/v1/conversations/c/export/native").await;
    assert!(native.contains(PIXEL));
    let imported = hub.request("PUT", "/v1/conversations/copy/events").body(native).send().await.unwrap();
    assert!(imported.status().is_success(), "{}", imported.text().await.unwrap());
    let copy = message(&hub, "copy").await;
    assert_eq!(copy["files"], message(&hub, "c").await["files"]);
    assert_eq!(contents(&hub, "copy", &copy["files"][0]["hash"]).await, PIXEL);
    assert!(text("/v1/conversations/c/export/html").await.contains(PIXEL));
    assert!(text("/v1/conversations/c/export/md").await.contains("c.csv"));
    // A message that is edited in a fork is asked with its files.
    let id = message_id(&hub).await;
    let fork = json!({"id": "2", "command": "fork", "before": id, "into": "fork", "agent": "helper", "text": "And now?"});
    assert_eq!(command(&hub, fork).await.0, 200);
    hub.json_until("/v1/conversations/fork?summary", |it| it["runs"][0]["status"] == "complete").await;
    let asked = origin.asked().len() - 1;
    assert_eq!(body(&origin, asked)["messages"][0]["content"][1]["type"], "image_url");
}

/// The id of the user's message in `c`.
async fn message_id(hub: &TestHub) -> String {
    let view = hub.json("/v1/conversations/c").await;
    view["messages"].as_object().unwrap().keys().next().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_in_a_message_from_outside_leads_nowhere() {
    let hub = TestHub::start().await;
    let mut told = json!({"k": "message", "message": "m", "role": "user", "text": "x"});
    told["files"] = json!([{"name": "a.png", "type": "image/png", "bytes": 9, "hash": "0".repeat(32)}, file("b.png", "image/png", PIXEL)]);
    let path = "/v1/conversations/c/events";
    assert!(
        hub.request("POST", path).body(json!([told]).to_string()).send().await.unwrap().status().is_success()
    );
    let files = message(&hub, "c").await["files"].clone();
    assert_eq!((files[0].get("hash"), &files[0]["name"]), (None, &json!("a.png")));
    assert_eq!(contents(&hub, "c", &files[1]["hash"]).await, PIXEL);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_served_chat_completions_take_files_and_how_the_model_is_to_answer() {
    let origin = ScriptedServer::start(|_| answer("{}")).await;
    let (hub, _place) = hub_with(&origin, "max_tokens = 100").await;
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}});
    let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}});
    let request = json!({
        "model": "helper", "temperature": 0.1, "top_p": 0.5, "max_tokens": 500, "stop": ["end"], "seed": 7,
        "response_format": schema, "logprobs": true,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}],
    });
    let answered = post(&hub, CHAT, &request).await;
    assert_eq!(answered.headers()["fanlight-left-out"], "logprobs");
    let conversation = answered.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    assert_eq!(answered.status(), 200);
    let asked = body(&origin, 0);
    for name in ["temperature", "top_p", "stop", "seed", "response_format"] {
        assert_eq!(asked[name], request[name], "{name}");
    }
    assert_eq!(asked["max_tokens"], 100, "the bound of the settings holds");
    assert_eq!(asked["messages"][0]["content"][1], image);
    assert_eq!(message(&hub, &conversation).await["files"][0]["type"], "image/png");
}

/// The Responses API names the form of the answer `text.format`, with the schema beside its kind; chat completions, in which the model is
/// asked here, name it `response_format`, with the schema within.
#[tokio::test(flavor = "multi_thread")]
async fn the_served_responses_pass_on_the_form_of_the_answer() {
    let origin = ScriptedServer::start(|_| answer("{}")).await;
    let (hub, _place) = hub_with(&origin, "max_tokens = 100").await;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    for (number, (format, wanted)) in [
        (
            json!({"type": "json_schema", "name": "place", "strict": true, "schema": schema}),
            json!({"type": "json_schema", "json_schema": {"name": "place", "strict": true, "schema": schema}}),
        ),
        (json!({"type": "json_object"}), json!({"type": "json_object"})),
    ]
    .into_iter()
    .enumerate()
    {
        let request = json!({"model": "helper", "input": "Where?", "temperature": 0.1, "max_output_tokens": 50, "text": {"format": format}});
        let answered = post(&hub, RESPONSES, &request).await;
        assert_eq!((answered.status().as_u16(), answered.headers().get("fanlight-left-out")), (200, None));
        answered.text().await.unwrap();
        let asked = body(&origin, number);
        assert_eq!(asked["response_format"], wanted);
        assert_eq!((&asked["temperature"], &asked["max_completion_tokens"]), (&json!(0.1), &json!(50)));
    }
}

/// The same of a model that cannot be told: it is refused, and the field has the caller's name.
#[tokio::test(flavor = "multi_thread")]
async fn the_served_responses_refuse_a_form_that_the_model_cannot_be_told() {
    let origin = ScriptedServer::start(|_| anthropic_text("Done.")).await;
    let (hub, _place) = anthropic_hub(&origin).await;
    let request = json!({"model": "helper", "input": "Where?", "text": {"format": {"type": "json_object"}}});
    let refused = post(&hub, RESPONSES, &request).await;
    assert_eq!(refused.status(), 400);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["param"], "text.format", "{refused}");
    assert!(origin.asked().is_empty(), "the model is not asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_cannot_be_told_is_named_or_refused() {
    let origin = ScriptedServer::start(|_| anthropic_text("Done.")).await;
    let (hub, _place) = anthropic_hub(&origin).await;
    let user = json!([{"role": "user", "content": "Hello"}]);
    let request = json!({"model": "helper", "messages": user, "temperature": 0.1, "stop": "end", "seed": 7});
    let answered = post(&hub, CHAT, &request).await;
    assert_eq!(
        (answered.status().as_u16(), &answered.headers()["fanlight-left-out"]),
        (200, &"seed".parse().unwrap())
    );
    let asked = body(&origin, 0);
    assert_eq!(
        (&asked["temperature"], &asked["stop_sequences"], asked.get("seed")),
        (&json!(0.1), &json!(["end"]), None)
    );
    let request = json!({"model": "helper", "messages": user, "response_format": {"type": "json_object"}});
    let refused = post(&hub, CHAT, &request).await;
    assert_eq!(refused.status(), 400);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["error"]["param"], "response_format", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doors_of_pages_and_graphs_take_files_in_their_forms() {
    let origin = ScriptedServer::start(|_| answer("A pixel.")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let url = format!("data:image/png;base64,{PIXEL}");
    let binary = json!({"type": "binary", "mimeType": "image/png", "data": PIXEL, "filename": "a.png"});
    let ag_ui = json!({"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": "m1", "role": "user", "content": [{"type": "text", "text": "What?"}, binary]}]});
    let ai_sdk = json!({"id": "t2", "messages": [{"id": "m2", "role": "user", "parts": [
        {"type": "text", "text": "What?"}, {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": url}]}]});
    let graph = json!({"assistant_id": "helper", "input": {"messages": [{"role": "user", "content": [
        {"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": url}}]}]}});
    for (path, request) in [
        ("/compat/ag-ui/helper", ag_ui),
        ("/compat/ai-sdk/helper", ai_sdk),
        ("/compat/langgraph/runs/wait", graph),
    ] {
        let before = origin.asked().len();
        let answered = post(&hub, path, &request).await;
        let status = answered.status();
        let said = answered.text().await.unwrap();
        assert!(status.is_success(), "{path}: {said}");
        let content = &body(&origin, before)["messages"][0]["content"];
        assert_eq!(content[1], json!({"type": "image_url", "image_url": {"url": url}}), "{path}: {content}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_passes_on_how_the_model_is_to_answer() {
    let origin = ScriptedServer::start(|_| answer("A pixel.")).await;
    let (hub, _place) = hub_with(&origin, "max_tokens = 100").await;
    let user = json!([{"role": "user", "content": "What?"}]);
    let parts = json!([{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What?"}]}]);
    let requests = [
        ("/compat/forge/chat/stream", json!({"user_message": "What?", "temperature": 0.1, "max_tokens": 50})),
        ("/compat/deep-agent/chat/stream", json!({"messages": user, "temperature": 0.1, "max_tokens": 50})),
        (
            "/compat/ralph/chat/stream",
            json!({"messages": user, "user_id": "u", "chat_id": "r", "temperature": 0.1, "max_tokens": 50}),
        ),
        (
            "/compat/ai-sdk/helper",
            json!({"id": "t1", "messages": parts, "temperature": 0.1, "maxOutputTokens": 50}),
        ),
        (
            "/compat/ag-ui/helper",
            json!({"threadId": "t2", "runId": "r1", "tools": [], "messages": [{"id": "m1", "role": "user", "content": "What?"}],
            "forwardedProps": {"temperature": 0.1, "max_tokens": 50}}),
        ),
        (
            "/compat/langgraph/runs/stream",
            json!({"assistant_id": "helper", "input": {"messages": user}, "context": {"temperature": 0.1, "max_tokens": 50}}),
        ),
        (
            "/compat/langgraph/runs/wait",
            json!({"assistant_id": "helper", "input": {"messages": user},
            "config": {"configurable": {"temperature": 0.1, "max_tokens": 50}}}),
        ),
    ];
    for (path, request) in requests {
        let before = origin.asked().len();
        let answered = post(&hub, path, &request).await;
        let (status, left_out) = (answered.status(), answered.headers().get("fanlight-left-out").cloned());
        assert!(status.is_success() && left_out.is_none(), "{path}: {status} {left_out:?}");
        answered.text().await.unwrap();
        let asked = body(&origin, before);
        assert_eq!((&asked["temperature"], &asked["max_tokens"]), (&json!(0.1), &json!(50)), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_names_what_a_model_cannot_be_told_and_refuses_a_form_of_the_answer() {
    let origin = ScriptedServer::start(|_| anthropic_text("Done.")).await;
    let (hub, _place) = anthropic_hub(&origin).await;
    let parts = json!([{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What?"}]}]);
    let user = json!([{"role": "user", "content": "What?"}]);
    let ai_sdk = json!({"id": "t1", "messages": parts});
    let ag_ui = json!({"threadId": "t2", "runId": "r1", "tools": [], "messages": [{"id": "m1", "role": "user", "content": "What?"}]});
    let graph = json!({"assistant_id": "helper", "input": {"messages": user}});
    for (path, request, place) in [
        ("/compat/ai-sdk/helper", ai_sdk, None),
        ("/compat/ag-ui/helper", ag_ui, Some("forwardedProps")),
        ("/compat/langgraph/runs/stream", graph, Some("context")),
    ] {
        let with = |name: &str, value: Value| {
            let mut request = request.clone();
            match place {
                Some(place) => request[place] = json!({name: value}),
                None => request[name] = value,
            }
            request
        };
        let answered = post(&hub, path, &with("seed", json!(7))).await;
        assert_eq!(answered.headers()["fanlight-left-out"], "seed", "{path}");
        answered.text().await.unwrap();
        let refused = post(&hub, path, &with("response_format", json!({"type": "json_object"}))).await;
        assert_eq!(refused.status(), 400, "{path}");
        assert!(refused.text().await.unwrap().contains("response_format: the agent helper"), "{path}");
    }
}
