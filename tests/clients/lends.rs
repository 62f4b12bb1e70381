//! The vendors' own packages with a token of the hub in place of a key: they need its address and the token, nothing else.

use std::path::Path;

use serde_json::json;
use tests::installed;
use tests::raw::RawMessage;
use tests::wait::{patiently, until};
use tests::{ScriptedServer, ServerStep, TestHub};

/// The vendor's key.
const VENDOR: &str = "sk-vendor-3b9a11d7c05e";

/// What the vendors answer: OpenAI at once or as a stream, and Anthropic.
fn answer(asked: &RawMessage) -> Vec<ServerStep> {
    let body = String::from_utf8_lossy(&asked.body).into_owned();
    let json = |body: serde_json::Value| {
        ServerStep::answer("200 OK", &[("content-type", "application/json")], body.to_string().as_bytes())
    };
    if asked.start.contains("/v1/messages") {
        return json(json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 10}}));
    }
    if body.contains("\"stream\":true") {
        let delta = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": null}]});
        let text = format!("data: {delta}\n\ndata: [DONE]\n\n");
        return ServerStep::answer("200 OK", &[("content-type", "text/event-stream")], text.as_bytes());
    }
    json(json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_packages_of_openai_and_anthropic_call_with_a_token_of_the_hub() {
    let origin = ScriptedServer::start(answer).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let held = format!("url = \"http://{}\"\nkey_env = \"VENDOR_KEY\"\n", origin.address());
    let prices = "[prices.\"*\"]\ninput = 1000\noutput = 1000\n";
    let text = format!("[access]\n[upstreams.openai]\n{held}[upstreams.anthropic]\n{held}{prices}");
    std::fs::write(&file, text).unwrap();
    let variables = [("VENDOR_KEY", VENDOR)];
    let hub = TestHub::start_among(&variables, "127.0.0.1:0", &["--config", file.to_str().unwrap()]).await;
    let made = async |name: &str, budget: &[&str]| {
        let options = ["create", "--name", name, "--grant", "publish:*", "--upstream", "*"];
        let token = hub.token(&[&options[..], budget].concat()).await;
        until("the hub to know the token", async || {
            let asked = hub.request("GET", "/v1/access").bearer_auth(&token).send().await.ok()?;
            asked.status().is_success().then_some(token.clone())
        })
        .await
    };
    let (free, bounded) = (made("free", &[]).await, made("bounded", &["--budget", "0.01usd/day"]).await);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/agents/lends.py");
    let mut python = installed::python();
    python.arg(program).args([hub.url(""), free, bounded]).kill_on_drop(true);
    let done = patiently("the clients", python.output()).await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let lines = [
        "openai Hello.",
        "openai stream Hello.",
        "anthropic Hello.",
        "openai refused 429 insufficient_quota True",
        "anthropic refused 402 billing_error True",
        "unknown 401",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    for asked in origin.asked() {
        let all = format!("{:?}", asked.headers);
        assert!(all.contains(VENDOR) && !all.contains("fanlight_"), "{all}");
    }
}
