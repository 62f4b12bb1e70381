//! The adapters of the project's own packages: what is seen of each framework with the line that its example has.

use serde_json::{Value, json};
use tests::stand_in::StandIn;
use tests::upstream;
use tests::{CuttableRelay, TestHub};
use tokio::process::Command;

use crate::own::{Installed, printed, python_example};

const ANSWER: &str = "It is 21 degrees and sunny in Lisbon ☀.";

/// An agent whose model is not real, with nothing of this machine's settings.
fn agent(mut example: Command, upstream: &StandIn) -> Command {
    example.env("OPENAI_BASE_URL", upstream.url("/v1")).env("OPENAI_API_KEY", "none");
    // What the frameworks tell their makers stays here.
    example.env("AGNO_TELEMETRY", "false").arg("weather");
    example
}

/// Runs the example while the network is cut and the hub is killed between its call and its answer, and asserts that its
/// one run is seen whole: the answer, and the call with what came of it and how long that took.
async fn is_seen(example: impl Fn(&str) -> Command) -> Value {
    let mut hub = TestHub::start().await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let (upstream, gate) = upstream::start_gated().await;
    let agent = agent(example(&format!("http://{}", relay.address())), &upstream).spawn().unwrap();
    gate.reached().await;
    relay.cut();
    hub.restart().await;
    gate.open();
    let answer = printed("the agent", agent).await;
    assert!(answer.contains(ANSWER), "{answer}");
    let seen = hub.summary("weather").await;
    assert_eq!(seen["anomalies"], json!([]), "{seen:#}");
    assert_eq!(seen["messages"][0]["text"], "What is the weather in Lisbon?");
    let [run] = seen["runs"].as_array().unwrap().as_slice() else { panic!("not one run: {seen:#}") };
    assert_eq!((&run["status"], &run["text"]), (&json!("complete"), &json!(ANSWER)), "{run:#}");
    assert_eq!(run["model"], "gpt-5", "{run:#}");
    assert!(run["usage"]["output_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{run:#}");
    let [call] = run["tool_calls"].as_array().unwrap().as_slice() else { panic!("not one call: {run:#}") };
    assert_eq!((&call["name"], &call["state"]), (&json!("get_weather"), &json!("complete")), "{run:#}");
    assert_eq!(call["arguments"], json!({"city": "Lisbon"}));
    assert!(call["latency_ms"].is_u64(), "{call:#}");
    let result = match &call["result"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        whole => whole.clone(),
    };
    assert_eq!(result, json!({"city": "Lisbon", "degrees": 21}));
    run.clone()
}

#[tokio::test]
async fn langgraph_is_seen_through_its_callback() {
    is_seen(|url| python_example("with_langgraph.py", url)).await;
}

#[tokio::test]
async fn agno_is_seen_through_its_events() {
    is_seen(|url| python_example("with_agno.py", url)).await;
}

#[tokio::test]
async fn openai_agents_are_seen_through_their_traces() {
    let run = is_seen(|url| python_example("with_openai_agents.py", url)).await;
    assert_eq!(run["thinking"], "I should ask the weather service.");
}

#[tokio::test]
async fn pydantic_ai_is_seen_through_its_events() {
    is_seen(|url| python_example("with_pydantic_ai.py", url)).await;
}

#[tokio::test]
async fn ai_sdk_is_seen_through_its_middleware() {
    let package = Installed::build().await;
    let run = is_seen(|url| package.example("with_ai_sdk.mjs", url)).await;
    assert_eq!(run["thinking"], "I should ask the weather service.");
}
