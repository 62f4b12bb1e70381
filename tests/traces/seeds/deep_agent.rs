//! Seed 1: the typed events of a deep agent, and the block of steps that it wants to see of them.

use encode::document::{StepsLayout, markdown};
use serde_json::{Value, json};

use super::{Seed, accepted, assert_means, assert_piece_means, encoded, native, objects, sse, view};

/// What is printed without a depth is about the main agent, which is told as one.
fn at_depth(mut event: Value) -> Value {
    if event["type"] == "status" && event["data"]["agent_depth"].is_null() {
        event["data"]["agent_depth"] = 0.into();
    }
    event
}

/// The sample below `heading` comes back, in a stream with `before` it.
fn assert_comes_back(heading: &str, before: &[Value], expected: &str) {
    let seed = Seed::open(1);
    let printed = seed.json(heading, 0);
    let all: Vec<_> = before.iter().chain([&printed]).cloned().collect();
    let envelopes = assert_piece_means("deep-agent", &sse(&all), expected);
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
        r1 status text="Reading on..."
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
        r1 tool.start run_7f1e02 name="card_index"
        r1 tool.call run_7f1e02
        r1 tool.state run_7f1e02 state="executing"
    "#,
    );
}

#[test]
fn tool_end_event() {
    let seed = Seed::open(1);
    assert_comes_back(
        "Tool End Event",
        &[seed.json("Tool Start Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 tool.start run_7f1e02 name="card_index"
        r1 tool.call run_7f1e02
        r1 tool.state run_7f1e02 state="executing"
        r1 tool.result run_7f1e02 output="Seven pages about owls..."
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
        r1 part.delta p1 @0 text="These"
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
        r1 (run_9c4d31) agent.start depth=1 name="Librarian"
        r1 (run_9c4d31) agent.end status="interrupted"
    "#,
    );
}

#[test]
fn agent_end_event() {
    let seed = Seed::open(1);
    assert_comes_back(
        "Agent End Event",
        &[seed.json("Agent Start Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 (run_9c4d31) agent.start depth=1 name="Librarian"
        r1 (run_9c4d31) agent.end status="complete"
    "#,
    );
}

#[test]
fn done_event() {
    let seed = Seed::open(1);
    assert_comes_back(
        "Done Event",
        &[seed.json("Token Event", 0)],
        r#"
        r1 run.start dialect="deep-agent"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="These"
        r1 part.end p1
        r1 run.end status="complete"
    "#,
    );
}

#[test]
fn sse_response_format() {
    let seed = Seed::open(1);
    let stream = seed.block("SSE Response Format", 0);
    let envelopes = assert_means(
        "deep-agent",
        &stream,
        r#"
        r1 run.start dialect="deep-agent"
        r1 status text="Opening the index..."
        r1 tool.start t-1 name="card_index"
        r1 tool.call t-1
        r1 tool.state t-1 state="executing"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="I will "
        r1 part.delta p1 @7 text="browse..."
        r1 tool.result t-1 output="Two chapters..."
        r1 part.end p1
        r1 (s-1) agent.start depth=1 name="task"
        r1 (s-1) part.start p2 kind="text"
        r1 (s-1) part.delta p2 @0 text="Comparing "
        r1 (s-1) part.end p2
        r1 (s-1) agent.end status="complete"
        r1 part.start p3 kind="text"
        r1 part.delta p3 @0 text="Owls sleep by day..."
        r1 part.end p3
        r1 run.end status="complete"
    "#,
    );
    let printed: Vec<_> = objects(&stream).into_iter().map(at_depth).collect();
    assert_eq!(objects(&encoded("deep-agent", &envelopes)), printed);
    let events = r#"
        {"k":"run.start"}
        {"k":"status","text":"Opening the index..."}
        {"k":"tool.call","tool":"t-1","name":"card_index","arguments":"{}"}
        {"k":"part.delta","part":"p1","text":"I will "}
        {"k":"part.delta","part":"p1","text":"browse..."}
        {"k":"tool.result","tool":"t-1","output":"Two chapters..."}
        {"k":"agent.start","agent":"s-1","name":"task"}
        {"k":"part.delta","agent":"s-1","part":"p2","text":"Comparing "}
        {"k":"agent.end","agent":"s-1","status":"complete"}
        {"k":"part.delta","part":"p3","text":"Owls sleep by day..."}
        {"k":"run.end","status":"complete"}
    "#;
    assert_eq!(objects(&encoded("deep-agent", &native(events))), printed, "of a native publisher");
}

#[test]
fn every_event_of_the_table() {
    let seed = Seed::open(1);
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
    let seed = Seed::open(1);
    let printed = seed.block("Output Format", 0);
    let events = r#"
        {"k":"run.start"}
        {"k":"part.delta","part":"p1","text":"First I will see what lies on the shelves..."}
        {"k":"part.end","part":"p1"}
        {"k":"tool.call","tool":"1","name":"ls","arguments":"{}"}
        {"k":"tool.result","tool":"1","output":"owls.txt, herons.txt..."}
        {"k":"tool.call","tool":"2","name":"write_file","arguments":"{}"}
        {"k":"tool.result","tool":"2","output":""}
        {"k":"tool.call","tool":"3","name":"write_todos","arguments":"{}"}
        {"k":"tool.result","tool":"3","output":""}
        {"k":"part.delta","part":"p2","text":"The herons are for somebody else to read..."}
        {"k":"part.end","part":"p2"}
        {"k":"tool.call","tool":"4","name":"task","arguments":"{}"}
        {"k":"tool.result","tool":"4","output":"[All that the other one had to say about herons...]"}
        {"k":"part.delta","part":"p3","text":"Herons stand still, owls sit still, and this is what sets them apart..."}
        {"k":"part.end","part":"p3"}
        {"k":"run.end","status":"complete"}
    "#;
    let text = markdown(&view(&native(events)), "c", StepsLayout::OneBlock).replace('\\', "");
    let (_, block) = text.split_once("<details>").unwrap();
    let lines =
        |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (said, wanted) = (lines(block), lines(printed.strip_prefix("<details>").unwrap()));
    assert_eq!(said.get(..wanted.len()), Some(&*wanted), "{text}");
}
