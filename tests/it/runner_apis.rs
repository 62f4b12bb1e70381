//! Agents of the hub's own with models of other APIs: Anthropic's, one that writes its calls into its text, one that a file
//! describes.

use serde_json::{Value, json};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM, piece};
use super::runner::{answer, last_run, messages, say};

const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

/// A hub whose helper has these settings, and the tools `t`.
async fn hub(settings: &str) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let agent = "[agents.helper]\nkind = \"runner\"\nmodel = \"m\"\ntools = [\"t\"]";
    std::fs::write(&file, format!("{agent}\n{settings}\n[mcp.t]\ncommand = [{SERVER:?}]\n")).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    (hub, place)
}

/// A stream of these objects, each a server-sent event of its type.
fn events(objects: &[Value]) -> Vec<ServerStep> {
    let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
    steps.extend(objects.iter().map(|object| {
        let name = object["type"].as_str().unwrap_or("message");
        ServerStep::piece(format!("event: {name}\ndata: {object}\n\n").as_bytes())
    }));
    steps.push(ServerStep::end(&[]));
    steps
}

/// An answer in Anthropic's words, with one block.
fn anthropic(block: &Value, delta: &Value, why: &str) -> Vec<ServerStep> {
    events(&[
        json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

/// An answer in Anthropic's words, with this text.
pub(crate) fn anthropic_text(text: &str) -> Vec<ServerStep> {
    let delta = json!({"type": "text_delta", "text": text});
    anthropic(&json!({"type": "text", "text": ""}), &delta, "end_turn")
}

/// A hub whose helper has a model of Anthropic's API at `origin`.
pub(crate) async fn anthropic_hub(origin: &ScriptedServer) -> (TestHub, tempfile::TempDir) {
    let url = format!("http://{}", origin.address());
    // Any variable that tests are given stands for one with a key.
    hub(&format!("provider = \"anthropic\"\nurl = {url:?}\nkey_env = \"CARGO_PKG_NAME\"")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_models_are_asked_in_their_own_words() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).len() > 1 {
            let delta = json!({"type": "text_delta", "text": "Done."});
            return anthropic(&json!({"type": "text", "text": ""}), &delta, "end_turn");
        }
        let block = json!({"type": "tool_use", "id": "a", "name": "t__echo", "input": {}});
        anthropic(&block, &json!({"type": "input_json_delta", "partial_json": "{\"x\":1}"}), "tool_use")
    })
    .await;
    let url = format!("http://{}", origin.address());
    // Any variable that tests are given stands for one with a key.
    let settings = format!(
        "provider = \"anthropic\"\nurl = {url:?}\nkey_env = \"CARGO_PKG_NAME\"\nsystem = \"Be brief.\""
    );
    let (hub, _place) = hub(&settings).await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")), "{run}");
    assert_eq!(run["tool_calls"][0]["result"], "{\"x\":1}");
    assert_eq!((&run["usage"]["input_tokens"], &run["usage"]["output_tokens"]), (&json!(20), &json!(10)));
    let asked = origin.asked();
    assert!(asked[0].start.contains(" /v1/messages "), "{}", asked[0].start);
    assert_eq!((asked[0].header("x-api-key"), asked[0].header("authorization")), (Some("tests"), None));
    assert!(asked[0].header("anthropic-version").is_some());
    let body: Value = serde_json::from_slice(&asked[1].body).unwrap();
    assert_eq!((&body["system"], body["max_tokens"].is_u64()), (&json!("Be brief."), true));
    assert!(body["tools"][0]["input_schema"].is_object(), "{}", body["tools"]);
    let told = json!([{"type": "tool_result", "tool_use_id": "a", "content": "{\"x\":1}"}]);
    assert_eq!(body["messages"][2], json!({"role": "user", "content": told}));
    let leaked = events_of(&hub).await;
    assert!(!leaked.contains("x-api-key"), "{leaked}");
}

/// All that the log has of the conversation.
async fn events_of(hub: &TestHub) -> String {
    let request = hub.request("GET", "/v1/conversations/c/events").header("accept", "application/x-ndjson");
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_the_text_are_executed_while_it_goes_on() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).len() > 1 {
            return answer("Done.");
        }
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("I look. <tool_use id='a' name='t__ec")),
            ServerStep::piece(&piece("ho'>{\\\"x\\\": 1}</tool_use>")),
            ServerStep::piece(&piece(" And so on.")),
            ServerStep::Wait,
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let url = format!("http://{}/v1", origin.address());
    let (hub, _place) = hub(&format!("url = {url:?}\ntext_calls = \"xml\"")).await;
    say(&hub, "Hello").await;
    let has_result = |run: &Value| run["tool_calls"][0]["state"] == "complete";
    let all = super::runner::runs(&hub, |runs| runs.first().is_some_and(has_result)).await;
    assert_eq!(all[0]["status"], "running", "the model still speaks");
    origin.go_on();
    let run = last_run(&hub).await;
    let text = run["text"].as_str().unwrap();
    assert!(text.starts_with("I look.") && text.ends_with("Done.") && !text.contains("tool_use"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_a_file_describes_is_understood() {
    let origin = ScriptedServer::start(|_| {
        events(&[json!({"say": "It is "}), json!({"say": "grey."}), json!({"why": "stop"})])
    })
    .await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("acme.yaml");
    let url = format!("http://{}/v2/answers", origin.address());
    let yaml = format!(
        "provider:\n  name: acme\n  api_url: {url}\nstream:\n  sinks:\n    - type: websocket\n      url: ws://127.0.0.1:1\n  extract:\n    text: $.say\n    stop_reason: $.why\n"
    );
    std::fs::write(&file, yaml).unwrap();
    let (hub, _place) = hub(&format!("provider = {:?}", file.display().to_string())).await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!(
        (run["status"].as_str(), run["text"].as_str()),
        (Some("complete"), Some("It is grey.")),
        "{run}"
    );
    assert!(origin.asked()[0].start.contains(" /v2/answers "), "{}", origin.asked()[0].start);
}
