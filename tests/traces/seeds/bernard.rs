//! Seed 3: Bernard's chunks, with calls that come whole, progress and results in between.

use serde_json::Value;

use super::{Seed, accepted, assert_means, encoded, native, objects, sse, without};

const PAGE: [&str; 4] =
    ["Tool Call Event", "Content Token Event", "Tool Progress Event", "Tool Result Event"];

/// Fields that a server makes up anew: when it said it, and which answer it is.
const MADE_UP: [&str; 4] = ["id", "created", "request_id", "timestamp"];

/// The place of a call in its message, which the document leaves out and clients of the API need, is added.
fn placed(mut chunk: Value) -> Value {
    if let Some(call) = chunk.pointer_mut("/choices/0/delta/tool_calls/0") {
        call["index"] = 0.into();
    }
    chunk
}

/// The printed chunks, with the call renamed to what the progress is about.
fn printed(seed: &Seed) -> Vec<Value> {
    PAGE.iter().map(|heading| seed.json(heading, 0)).collect()
}

#[test]
fn tool_call_event() {
    let Some(seed) = Seed::open(3) else { return };
    let chunk = seed.json(PAGE[0], 0);
    let envelopes = assert_means(
        "bernard",
        &sse(std::slice::from_ref(&chunk)),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_abc123 name="get_weather"
        r1 tool.args call_abc123 @0 text="{\"location\": \"San Francisco\"}"
        r1 tool.call call_abc123
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    let made_up = ["id", "created"];
    let wanted = without(&placed(chunk.clone()), &made_up);
    assert!(said.iter().any(|object| without(object, &made_up) == wanted), "{wanted} is not in {said:#?}");
    let events = r#"
        {"k":"run.start","run":"abc123","model":"bernard-v1","at":1677858242000}
        {"k":"tool.call","run":"abc123","tool":"call_abc123","name":"get_weather","arguments":"{\"location\": \"San Francisco\"}","at":1677858242000}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))), [placed(chunk)], "of a native publisher");
}

#[test]
fn content_token_event() {
    let Some(seed) = Seed::open(3) else { return };
    let chunk = seed.json(PAGE[1], 0);
    let envelopes = assert_means(
        "bernard",
        &sse(std::slice::from_ref(&chunk)),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="The weather in San Francisco is currently"
        r1 part.end p1
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[0], &MADE_UP), without(&chunk, &MADE_UP));
    let events = r#"
        {"k":"run.start","run":"abc123","model":"bernard-v1","at":1677858242000}
        {"k":"part.delta","run":"abc123","part":"p","text":"The weather in San Francisco is currently","at":1677858242000}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))), [chunk], "of a native publisher");
}

#[test]
fn tool_progress_event() {
    let Some(seed) = Seed::open(3) else { return };
    let progress = seed.json(PAGE[2], 0);
    let mut call = seed.json(PAGE[0], 0);
    call["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "web_search".into();
    let envelopes = assert_means(
        "bernard",
        &sse(&[call, progress.clone()]),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_abc123 name="web_search"
        r1 tool.args call_abc123 @0 text="{\"location\": \"San Francisco\"}"
        r1 tool.call call_abc123
        r1 tool.state call_abc123 state="executing"
        r1 tool.progress call_abc123 current=2 text="Found 10 results" total=3
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[1], &MADE_UP), without(&progress, &MADE_UP));
    let events = r#"
        {"k":"run.start","run":"abc123","at":1677858242500}
        {"k":"tool.call","run":"abc123","tool":"c","name":"web_search","arguments":"{}","at":1677858242500}
        {"k":"tool.progress","run":"abc123","tool":"c","text":"Found 10 results","current":2,"total":3,"at":1677858242500}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))).pop(), Some(progress), "of a native publisher");
}

#[test]
fn tool_result_event() {
    let Some(seed) = Seed::open(3) else { return };
    let (call, result) = (seed.json(PAGE[0], 0), seed.json(PAGE[3], 0));
    let envelopes = assert_means(
        "bernard",
        &sse(&[call, result.clone()]),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_abc123 name="get_weather"
        r1 tool.args call_abc123 @0 text="{\"location\": \"San Francisco\"}"
        r1 tool.call call_abc123
        r1 tool.result call_abc123 output="San Francisco weather: 65Â°F, partly cloudy"
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[1], &MADE_UP), without(&result, &MADE_UP));
    let text = result["choices"][0]["delta"]["content"].as_str().unwrap();
    let events = format!(
        r#"{{"k":"run.start","run":"abc123","model":"bernard-v1","at":1677858242000}}
        {{"k":"tool.call","run":"abc123","tool":"call_abc123","name":"get_weather","arguments":"{{}}","at":1677858242000}}
        {{"k":"tool.result","run":"abc123","tool":"call_abc123","output":"{text}","at":1677858242000}}"#
    );
    assert_eq!(objects(&encoded("bernard", &native(&events))).pop(), Some(result), "of a native publisher");
}

#[test]
fn stream_completion() {
    let Some(seed) = Seed::open(3) else { return };
    let block = seed.block("Stream Completion", 0);
    let (chunk, done) = block.split_once("data: ").unwrap();
    let chunk: Value = serde_json::from_str(chunk).unwrap();
    let stream = format!("data: {chunk}\n\ndata: {done}\n");
    let envelopes = assert_means(
        "bernard",
        &stream,
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 run.end finish_reason="stop" status="complete"
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[0], &MADE_UP), without(&chunk, &MADE_UP));
    assert_eq!(said[1..], ["[DONE]"]);
    let events = r#"
        {"k":"run.start","run":"abc123","model":"bernard-v1","at":1677858242000}
        {"k":"run.end","run":"abc123","status":"complete","finish_reason":"stop","at":1677858242000}
    "#;
    assert_eq!(
        objects(&encoded("bernard", &native(events))),
        [chunk, "[DONE]".into()],
        "of a native publisher"
    );
}

/// The samples one behind the other are one answer.
#[test]
fn event_types() {
    let Some(seed) = Seed::open(3) else { return };
    let mut flow = printed(&seed);
    // The document shows the progress of another tool than the one that it calls.
    flow[2]["data"]["tool"] = "get_weather".into();
    let [call, content, progress, result] = <[Value; 4]>::try_from(flow).unwrap();
    let flow = [call, progress, result, content];
    let envelopes = assert_means(
        "bernard",
        &sse(&flow),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_abc123 name="get_weather"
        r1 tool.args call_abc123 @0 text="{\"location\": \"San Francisco\"}"
        r1 tool.call call_abc123
        r1 tool.state call_abc123 state="executing"
        r1 tool.progress call_abc123 current=2 text="Found 10 results" total=3
        r1 tool.result call_abc123 output="San Francisco weather: 65Â°F, partly cloudy"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="The weather in San Francisco is currently"
        r1 part.end p1
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    let plain =
        |objects: &[Value]| objects.iter().map(|object| without(object, &MADE_UP)).collect::<Vec<_>>();
    assert_eq!(plain(&said), plain(&flow.map(placed)));
}

#[test]
fn progress_event_types() {
    let Some(seed) = Seed::open(3) else { return };
    let call = seed.json(PAGE[0], 0);
    for phase in seed.table("Progress Event Types") {
        let mut progress = seed.json(PAGE[2], 0);
        progress["data"]["tool"] = "get_weather".into();
        progress["data"]["phase"] = phase.clone().into();
        let (_, told) = accepted("bernard", &sse(&[call.clone(), progress]));
        assert!(
            told.contains("tool.progress call_abc123 current=2 text=\"Found 10 results\" total=3"),
            "{phase}: {told}"
        );
    }
}

/// Arguments in pieces are joined by the id of their call.
#[test]
fn handling_partial_arguments() {
    let Some(seed) = Seed::open(3) else { return };
    let piece = |text: &str| {
        let mut chunk = seed.json(PAGE[0], 0);
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = text.into();
        chunk
    };
    let (_, told) = accepted("bernard", &sse(&[piece("{\"location\": "), piece("\"San Francisco\"}")]));
    assert_eq!(told.matches("tool.start").count(), 1, "{told}");
    let view =
        super::view(&accepted("bernard", &sse(&[piece("{\"location\": "), piece("\"San Francisco\"}")])).0);
    let arguments: Vec<_> = view.runs[0].tools.values().map(|tool| tool.arguments.text.clone()).collect();
    assert_eq!(arguments, ["{\"location\": \"San Francisco\"}"]);
}
