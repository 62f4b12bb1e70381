//! Seed 1: the typed events of a deep agent, and the block of steps that it wants to see of them.

use serde_json::{Value, json};
use shared::document::{Steps, markdown};

use super::{Seed, accepted, assert_means, encoded, native, objects, sse, view};

/// What is printed without a depth is about the main agent, which is told as one.
fn at_depth(mut event: Value) -> Value {
    if event["type"] == "status" && event["data"]["agent_depth"].is_null() {
        event["data"]["agent_depth"] = 0.into();
    }
    event
}

/// The sample below `heading` comes back, in a stream with `before` it.
fn assert_comes_back(heading: &str, before: &[Value], expected: &str) {
    let Some(seed) = Seed::open(1) else { return };
    let printed = seed.json(heading, 0);
    let all: Vec<_> = before.iter().chain([&printed]).cloned().collect();
    let envelopes = assert_means("deep-agent", &sse(&all), expected);
    let said = objects(&encoded("deep-agent", &envelopes));
    assert_eq!(said.get(..all.len()), Some(&*all));
}

#[test]
fn status_event() {
    assert_comes_back(
        "Status Event",
        &[],
        r#"
        r1 run.start dialect="deep-agent"
        r1 status text="Thinking..."
    "#,
    );
}

#[test]
fn tool_start_event() {
    assert_comes_back(
        "Tool Start Event",
        &[],
        r#"
        r1 run.start dialect="deep-agent"
        r1 tool.start run_abc123 name="web_search"
        r1 tool.call run_abc123
        r1 tool.state run_abc123 state="executing"
    "#,
    );
}

#[test]
fn tool_end_event() {
    let Some(seed) = Seed::open(1) else { return };
    assert_comes_back(
        "Tool End Event",
        &[seed.json("Tool Start Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 tool.start run_abc123 name="web_search"
        r1 tool.call run_abc123
        r1 tool.state run_abc123 state="executing"
        r1 tool.result run_abc123 output="Found 5 results about MCP..."
    "#,
    );
}

#[test]
fn token_event() {
    assert_comes_back(
        "Token Event",
        &[],
        r#"
        r1 run.start dialect="deep-agent"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="Based"
        r1 part.end p1
    "#,
    );
}

#[test]
fn agent_start_event() {
    assert_comes_back(
        "Agent Start Event",
        &[],
        r#"
        r1 run.start dialect="deep-agent"
        r1 (run_xyz789) agent.start depth=1 name="Research Sub-agent"
        r1 (run_xyz789) agent.end status="interrupted"
    "#,
    );
}

#[test]
fn agent_end_event() {
    let Some(seed) = Seed::open(1) else { return };
    assert_comes_back(
        "Agent End Event",
        &[seed.json("Agent Start Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 (run_xyz789) agent.start depth=1 name="Research Sub-agent"
        r1 (run_xyz789) agent.end status="complete"
    "#,
    );
}

#[test]
fn done_event() {
    let Some(seed) = Seed::open(1) else { return };
    assert_comes_back(
        "Done Event",
        &[seed.json("Token Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="Based"
        r1 part.end p1
        r1 run.end status="complete"
    "#,
    );
}

#[test]
fn sse_response_format() {
    let Some(seed) = Seed::open(1) else { return };
    let stream = seed.block("SSE Response Format", 0);
    let envelopes = assert_means(
        "deep-agent",
        &stream,
        r#"
        r1 run.start dialect="deep-agent"
        r1 status text="Starting research..."
        r1 tool.start abc name="web_search"
        r1 tool.call abc
        r1 tool.state abc state="executing"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="Let me "
        r1 part.delta p1 @7 text="search..."
        r1 tool.result abc output="Found 3 articles..."
        r1 part.end p1
        r1 (xyz) agent.start depth=1 name="task"
        r1 (xyz) part.start p2 kind="text"
        r1 (xyz) part.delta p2 @0 text="Analyzing "
        r1 (xyz) part.end p2
        r1 (xyz) agent.end status="complete"
        r1 part.start p3 kind="text"
        r1 part.delta p3 @0 text="Based on my research..."
        r1 part.end p3
        r1 run.end status="complete"
    "#,
    );
    let printed: Vec<_> = objects(&stream).into_iter().map(at_depth).collect();
    assert_eq!(objects(&encoded("deep-agent", &envelopes)), printed);
    let events = r#"
        {"k":"run.start"}
        {"k":"status","text":"Starting research..."}
        {"k":"tool.call","tool":"abc","name":"web_search","arguments":"{}"}
        {"k":"part.delta","part":"p1","text":"Let me "}
        {"k":"part.delta","part":"p1","text":"search..."}
        {"k":"tool.result","tool":"abc","output":"Found 3 articles..."}
        {"k":"agent.start","agent":"xyz","name":"task"}
        {"k":"part.delta","agent":"xyz","part":"p2","text":"Analyzing "}
        {"k":"agent.end","agent":"xyz","status":"complete"}
        {"k":"part.delta","part":"p3","text":"Based on my research..."}
        {"k":"run.end","status":"complete"}
    "#;
    assert_eq!(objects(&encoded("deep-agent", &native(events))), printed, "of a native publisher");
}

#[test]
fn every_event_of_the_table() {
    let Some(seed) = Seed::open(1) else { return };
    let samples = [
        json!({"description":"d","agent_depth":0}),
        json!({"tool_id":"t","name":"n","agent_depth":0}),
        json!({"tool_id":"t","name":"n","result":"r","agent_depth":0}),
        json!({"content":"c","agent_depth":0}),
        json!({"agent_id":"a","name":"n","depth":1}),
        json!({"agent_id":"a","depth":1}),
        json!({}),
    ];
    let names = seed.table("Event Types");
    assert_eq!(names.len(), samples.len());
    let flow: Vec<_> =
        names.iter().zip(samples).map(|(name, body)| json!({"type":name,"data":body})).collect();
    let (_, told) = accepted("deep-agent", &sse(&flow));
    assert!(!told.contains(" raw ") && told.ends_with("run.end status=\"complete\"\n"), "{told}");
}

#[test]
fn output_format() {
    let Some(seed) = Seed::open(1) else { return };
    // The marks of the document were broken by somebody who read UTF-8 as another encoding.
    let marks = [("ğŸ” ", "🔍 "), ("ğŸ¤– ", "🤖 "), ("ğŸ”§ ", "🔧 "), ("âœ“ ", "✓ ")];
    let printed =
        marks.iter().fold(seed.block("Output Format", 0), |text, (bad, good)| text.replace(bad, good));
    let events = r#"
        {"k":"run.start"}
        {"k":"part.delta","part":"p1","text":"Let me help you research MCP. I'll start by setting up the workspace..."}
        {"k":"part.end","part":"p1"}
        {"k":"tool.call","tool":"1","name":"ls","arguments":"{}"}
        {"k":"tool.result","tool":"1","output":"file1.txt, file2.py..."}
        {"k":"tool.call","tool":"2","name":"write_file","arguments":"{}"}
        {"k":"tool.result","tool":"2","output":""}
        {"k":"tool.call","tool":"3","name":"write_todos","arguments":"{}"}
        {"k":"tool.result","tool":"3","output":""}
        {"k":"part.delta","part":"p2","text":"Now let me delegate the research task to investigate MCP..."}
        {"k":"part.end","part":"p2"}
        {"k":"tool.call","tool":"4","name":"task","arguments":"{}"}
        {"k":"tool.result","tool":"4","output":"[Sub-agent's full response about MCP research...]"}
        {"k":"part.delta","part":"p3","text":"Based on my research, here's a comprehensive overview of MCP and its various meanings..."}
        {"k":"part.end","part":"p3"}
        {"k":"run.end","status":"complete"}
    "#;
    let text = markdown(&view(&native(events)), "c", Steps::OneBlock).replace('\\', "");
    let (_, block) = text.split_once("<details>").unwrap();
    // It says five tools and shows four.
    let printed = printed.replace("(5 tools)", "(4 tools)");
    let lines =
        |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (said, wanted) = (lines(block), lines(printed.strip_prefix("<details>").unwrap()));
    assert_eq!(said.get(..wanted.len()), Some(&*wanted), "{text}");
}
