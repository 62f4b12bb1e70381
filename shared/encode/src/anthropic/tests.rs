//! Tests of Anthropic messages.

use serde_json::Value;

use crate::tests::encoded;

fn events(stream: &str) -> Vec<Value> {
    let events = stream.split_terminator("\n\n").map(|event| event.split_once("\ndata: ").unwrap());
    events
        .map(|(name, data)| {
            let event: Value = serde_json::from_str(data).unwrap();
            assert_eq!(name.strip_prefix("event: "), event["type"].as_str());
            event
        })
        .collect()
}

const RUN: &str = r#"
    {"k":"run.start","run":"r","model":"m"}
    {"k":"part.start","run":"r","part":"p","kind":"thinking"}
    {"k":"part.end","run":"r","part":"p","hidden":true}
    {"k":"tool.start","run":"r","tool":"t","name":"ls"}
    {"k":"tool.args","run":"r","tool":"t","text":"{}"}
    {"k":"tool.call","run":"r","tool":"t"}
    {"k":"tool.result","run":"r","tool":"t","output":"none","is_error":true}
    {"k":"part.delta","run":"r","part":"q","text":"Nothing"}
    {"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":9,"output_tokens":2,"cached_tokens":4}}
"#;

#[test]
fn blocks_come_one_after_the_other_and_all_are_stopped() {
    let events = events(&encoded("anthropic", RUN));
    let blocks: Vec<_> = events.iter().filter_map(|event| event["content_block"]["type"].as_str()).collect();
    assert_eq!(blocks, ["redacted_thinking", "tool_use", "mcp_tool_result", "text"]);
    let numbers = |kind: &str| -> Vec<_> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .filter_map(|event| event["index"].as_u64())
            .collect()
    };
    assert_eq!(
        (numbers("content_block_start"), numbers("content_block_stop")),
        (vec![0, 1, 2, 3], vec![0, 1, 2, 3])
    );
    let delta = &events[events.len() - 2];
    assert_eq!(
        (delta["delta"]["stop_reason"].as_str(), delta["usage"]["input_tokens"].as_u64()),
        (Some("end_turn"), Some(5))
    );
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn a_run_that_failed_is_an_error_and_a_broken_one_has_no_stop() {
    let failed = events(&encoded("anthropic", &RUN.replace("complete", "error")));
    assert_eq!(failed.last().unwrap()["type"], "error");
    let broken = events(&encoded("anthropic", &RUN.replace("complete", "interrupted")));
    assert_eq!(broken.last().unwrap()["type"], "message_delta");
    assert!(broken.last().unwrap()["delta"]["stop_reason"].is_null());
}
