//! Seed 0: the events between an Agno agent's server and its pipe.

use serde_json::{Value, json};

use super::{Seed, assert_means, encoded, objects, sse};

/// An object as the server sends it.
fn message(object: &Value) -> Value {
    json!({"event": "message", "data": object})
}

#[test]
fn complete_sse_event_flow() {
    let Some(seed) = Seed::open(0) else { return };
    let block = seed.block("Complete SSE Event Flow (After Implementation)", 0);
    let flow: Vec<Value> = block
        .lines()
        .map(|line| serde_json::from_str(line.strip_prefix("SSE: ").unwrap()).unwrap())
        .collect();
    let stream = sse(&flow.iter().map(message).collect::<Vec<_>>());
    let envelopes = assert_means(
        "ralph",
        &stream,
        r###"
        r1 run.start dialect="ralph"
        r1 status text="Thinking..."
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="Let me check your "
        r1 part.delta p1 @18 text="student profile."
        r1 part.end p1
        r1 tool.start call_abc name="list_memory_blocks"
        r1 tool.call call_abc arguments="{}"
        r1 tool.state call_abc state="executing"
        r1 tool.result call_abc output="[{\"label\": \"student\", \"title\": \"Student Profile\"}]"
        r1 tool.start call_def name="read_memory_block"
        r1 tool.call call_def arguments="{\"label\":\"student\"}"
        r1 tool.state call_def state="executing"
        r1 tool.result call_def output="## About Me\n\nI'm studying CS..."
        r1 part.start p2 kind="text"
        r1 part.delta p2 @0 text="Your student profile "
        r1 part.delta p2 @21 text="shows that you're studying CS..."
        r1 part.end p2
        r1 run.end status="complete"
    "###,
    );
    let said: Vec<Value> =
        objects(&encoded("ralph", &envelopes)).into_iter().map(|it| it["data"].clone()).collect();
    assert_eq!(said, flow);
}
