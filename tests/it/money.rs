//! What runs cost: by the price of an agent, by that of a model, and as the vendor says.

use serde_json::{Value, json};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{ASKS, END, STREAM, piece, run_of};
use super::runner::{hub_with, hub_with_tools, last_run, say};

/// An answer of the model `m` that tells 1,000 tokens read, 600 of them from a cache, and 100 written; `more` stands beside.
fn counted(more: &Value) -> Vec<ServerStep> {
    let mut usage = json!({"prompt_tokens": 1_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}});
    usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let event = json!({"id": "x", "model": "m", "choices": [], "usage": usage});
    let usage = format!("data: {event}\n\n");
    let steps = [piece("Done."), usage.into_bytes(), END.to_vec()];
    let mut all = vec![ServerStep::begin("200 OK", &STREAM)];
    all.extend(steps.iter().map(|bytes| ServerStep::piece(bytes)));
    all.push(ServerStep::end(&[]));
    all
}

const PRICE: &str = "price = { input = 2.5, output = 10, cached_input = 0.25, currency = \"EUR\" }";

fn usd(amount: &str) -> Value {
    json!({"amount": amount, "currency": "USD"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_an_agent_costs_what_its_tokens_do() {
    let origin = ScriptedServer::start(|_| counted(&json!({}))).await;
    // That of the agent counts, not that of its model.
    let prices = "[prices.m]\ninput = 1000\noutput = 1000\n";
    let (hub, _place) = hub_with_tools(&origin, PRICE, prices).await;
    say(&hub, "Hello").await;
    let cost = last_run(&hub).await["usage"]["cost"].clone();
    assert_eq!(cost, json!({"amount": "0.00215", "currency": "EUR"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendor_that_says_what_it_took_is_believed() {
    let origin = ScriptedServer::start(|_| counted(&json!({"cost": 0.1}))).await;
    let (hub, _place) = hub_with(&origin, PRICE).await;
    say(&hub, "Hello").await;
    assert_eq!(last_run(&hub).await["usage"]["cost"], usd("0.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn models_have_prices_whoever_tells_of_their_runs() {
    let origin = ScriptedServer::start(|_| counted(&json!({}))).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, "[prices.\"m*\"]\ninput = 0.1\noutput = 0.2\n").unwrap();
    let mut hub =
        TestHub::start_with(&["--config", file.to_str().unwrap(), "--upstream", &origin.named("x")]).await;
    // Through the proxy.
    let answer = hub.request("POST", "/proxy/x/~c/v1/chat/completions").body(ASKS).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.bytes().await.unwrap();
    assert_eq!(run_of(&hub, "c").await["usage"]["cost"], usd("0.00012"));
    // By whoever publishes, three times a tenth of a dollar.
    let used = r#"{"k":"run.update","run":"r","usage":{"input_tokens":1000000}}"#;
    let lines = format!(
        "{{\"k\":\"run.start\",\"run\":\"r\",\"model\":\"m-1\"}}\n{used}\n{used}\n{used}\n{{\"k\":\"run.end\",\"run\":\"r\"}}"
    );
    hub.publisher("d").await.says(&lines).await;
    assert_eq!(run_of(&hub, "d").await["usage"]["cost"], usd("0.3"));
    hub.restart().await;
    assert_eq!(run_of(&hub, "d").await["usage"]["cost"], usd("0.3"));
}
