//! Seed 2: Forge's events. The document prints each with its name in it; on the wire the name is that of the event.

use serde_json::{Value, json};

use super::{Seed, accepted_piece, assert_means, assert_piece_means, encoded, native, objects, sse, without};

/// The sample `nth` below `heading`, accepted as printed and as it is on the wire; the events of the latter.
fn sample(seed: &Seed, heading: &str, nth: usize, before: &[Value]) -> (Value, String) {
    let printed = seed.json(heading, nth);
    let all: Vec<_> = before.iter().chain([&printed]).cloned().collect();
    let (_, told) = accepted_piece("forge", &sse(&all));
    let lines: Vec<_> = all.iter().map(|object| format!("data: {object}\n\n")).collect();
    assert_eq!(accepted_piece("forge", &lines.concat()).1, told, "as it is printed");
    (printed, told)
}

/// That a run of these events is told with `printed` in it; `free` fields aside.
fn assert_produced(events: &str, printed: &Value, free: &[&str]) {
    let said = objects(&encoded("forge", &native(events)));
    let printed = without(printed, free);
    assert!(said.iter().any(|object| without(object, free) == printed), "{printed} is not in {said:#?}");
}

#[test]
fn token_events() {
    let seed = Seed::open(2);
    let (printed, told) = sample(&seed, "Token Events", 0, &[]);
    assert_eq!(
        told,
        "r1 run.start dialect=\"forge\"\nr1 part.start p1 kind=\"text\"\nr1 part.delta p1 @0 text=\"The harbour in Bergen\"\nr1 part.end p1\n"
    );
    // The printed token is not the end of the printed sum: what stands in the sum counts.
    let events = r#"{"k":"run.start"}
        {"k":"part.delta","part":"p","text":"The harbour in Bergen"}"#;
    assert_produced(events, &printed, &["token"]);
    let healed = [json!({"event":"token","data":{"token":"The","cumulative":"The"}})];
    assert!(sample(&seed, "Token Events", 0, &healed).1.contains("@3 text=\" harbour in Bergen\""));
}

#[test]
fn tool_call_lifecycle() {
    let seed = Seed::open(2);
    let (call, _) = sample(&seed, "Tool Call Lifecycle", 0, &[]);
    let (result, _) = sample(&seed, "Tool Call Lifecycle", 1, std::slice::from_ref(&call));
    let mut pending = call.clone();
    pending["data"]["status"] = "pending".into();
    let mut complete = call.clone();
    complete["data"]["status"] = "complete".into();
    let flow = [pending, call, complete, result];
    let envelopes = assert_piece_means(
        "forge",
        &sse(&flow),
        r#"
        r1 run.start dialect="forge"
        r1 tool.start call_tide1 name="harbour__get_tides"
        r1 tool.call call_tide1 arguments="{\"days\":2,\"port\":\"Bergen\"}"
        r1 tool.state call_tide1 state="executing"
        r1 tool.result call_tide1 exec_ms=310 output={"metres":2,"stream":"Slack water"}
    "#,
    );
    assert_eq!(objects(&encoded("forge", &envelopes)), flow, "the three states and the result, in order");
    let events = r#"
        {"k":"run.start"}
        {"k":"tool.call","tool":"call_tide1","name":"harbour__get_tides","arguments":"{\"days\":2,\"port\":\"Bergen\"}"}
        {"k":"tool.state","tool":"call_tide1","state":"executing"}
        {"k":"tool.result","tool":"call_tide1","output":{"metres":2,"stream":"Slack water"},"exec_ms":310}
    "#;
    assert_eq!(objects(&encoded("forge", &native(events))), flow, "of a native publisher");
}

#[test]
fn thinking_events() {
    let seed = Seed::open(2);
    let first = "Someone asks about tides in Bergen. ";
    let before = [json!({"event":"thinking","data":{"content":first,"cumulative":first}})];
    let (printed, told) = sample(&seed, "Thinking Events", 0, &before);
    assert_eq!(
        told,
        format!(
            "r1 run.start dialect=\"forge\"\nr1 part.start p1 kind=\"thinking\"\nr1 part.delta p1 @0 text=\"{first}\"\nr1 part.delta p1 @36 text=\"The tide table has it...\"\nr1 part.end p1\n"
        )
    );
    let events = r#"
        {"k":"run.start"}
        {"k":"part.start","part":"p","kind":"thinking"}
        {"k":"part.delta","part":"p","text":"Someone asks about tides in Bergen. "}
        {"k":"part.delta","part":"p","text":"The tide table has it..."}
    "#;
    assert_produced(events, &printed, &[]);
}

#[test]
fn heartbeats() {
    let seed = Seed::open(2);
    let (printed, told) = sample(&seed, "Heartbeats", 0, &[]);
    assert_eq!(told, "", "it says nothing");
    let seconds = printed["data"]["timestamp"].as_u64().unwrap();
    let beat = encode::encoding("forge").unwrap().heartbeat(seconds * 1000).unwrap();
    assert_eq!(objects(&beat), [printed]);
    assert_eq!(encode::encoding("forge").unwrap().ping_ms, 30_000, "unless it is set");
}

#[test]
fn error_recovery() {
    let seed = Seed::open(2);
    let (printed, _) = sample(&seed, "Error Recovery", 0, &[]);
    let envelopes = assert_means(
        "forge",
        &sse(std::slice::from_ref(&printed)),
        r#"
        r1 run.start dialect="forge"
        r1 error code="STREAM_ERROR" message="The model has hung up" retryable=true
        r1 run.end status="error"
    "#,
    );
    assert_eq!(objects(&encoded("forge", &envelopes)), std::slice::from_ref(&printed));
    let events = r#"
        {"k":"run.start"}
        {"k":"error","code":"STREAM_ERROR","message":"The model has hung up","retryable":true}
        {"k":"run.end","status":"error"}
    "#;
    assert_produced(events, &printed, &[]);
}

#[test]
fn every_event_of_the_table() {
    let seed = Seed::open(2);
    let samples = [
        json!({"token":"a","cumulative":"a"}),
        json!({"content":"b","cumulative":"b"}),
        json!({"id":"c","tool_name":"t","arguments":{},"status":"pending"}),
        json!({"tool_call_id":"c","result":1,"is_error":false,"latency_ms":2}),
        json!({"response":"a","usage":{"prompt_tokens":1,"completion_tokens":2}}),
        json!({"code":"C","message":"m","retryable":false}),
        json!({"timestamp":1}),
    ];
    let names = seed.table("Event Types");
    assert_eq!(names.len(), samples.len());
    for (name, payload) in names.iter().zip(samples) {
        let (_, told) = accepted_piece("forge", &sse(&[json!({"event":name,"data":payload})]));
        assert!(!told.contains(" raw ") && (told.is_empty() == (name == "ping")), "{name}: {told}");
    }
}
