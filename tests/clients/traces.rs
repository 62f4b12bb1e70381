//! What is seen of a program that sends spans, when the page about OpenTelemetry is followed.

use serde_json::json;
use tempfile::TempDir;
use tests::TestHub;
use tests::upstream;
use tests::wait::patiently;

use crate::page::{block, isolated};
use tests::installed;

/// The address that stands in the page.
const WRITTEN: &str = "http://127.0.0.1:4600";

#[tokio::test]
async fn an_instrumented_program_shows_its_calls_with_their_times_its_text_and_its_tokens() {
    let (hub, upstream, folder) = (TestHub::start().await, upstream::start().await, TempDir::new().unwrap());
    let mut agent = installed::python();
    isolated(&mut agent, &folder, &upstream);
    for line in block("opentelemetry", "sh").lines() {
        let (name, value) = line.strip_prefix("export ").and_then(|line| line.split_once('=')).unwrap();
        agent.env(name, value.replace(WRITTEN, &hub.url("")));
    }
    agent.arg("-c").arg(block("opentelemetry", "python")).current_dir(folder.path()).kill_on_drop(true);
    let ended = patiently("the program", agent.output()).await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let path = "/v1/conversations/weather?summary";
    let seen = hub.json_until(path, |seen| seen["runs"][0]["status"] == "complete").await;
    let (run, anomalies) = (&seen["runs"][0], &seen["anomalies"]);
    assert_eq!((anomalies, seen["runs"].as_array().unwrap().len()), (&json!([]), 1), "{seen:#}");
    let said = (run["model"].as_str(), run["text"].as_str());
    assert_eq!(said, (Some("gpt-5"), Some("It is 21 degrees and sunny in Lisbon ☀.")));
    assert_eq!(run["usage"]["input_tokens"], 153);
    let call = &run["tool_calls"][0];
    assert_eq!((&call["name"], &call["state"]), (&json!("get_weather"), &json!("complete")), "{run:#}");
    assert_eq!(call["arguments"], json!({"city": "Lisbon"}));
    assert_eq!(call["result"], json!({"city": "Lisbon", "degrees": 21}));
    assert!(call["latency_ms"].is_u64(), "{call:#}");
}
