//! Seed 3: Bernard's chunks, with calls that come whole, progress and results in between.

use serde_json::Value;

use super::{Seed, accepted_piece, assert_means, assert_piece_means, encoded, native, objects, sse, without};

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
    let seed = Seed::open(3);
    let chunk = seed.json(PAGE[0], 0);
    let envelopes = assert_piece_means(
        "bernard",
        &sse(std::slice::from_ref(&chunk)),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_snow7 name="get_snowfall"
        r1 tool.args call_snow7 @0 text="{\"station\": \"Abisko\"}"
        r1 tool.call call_snow7
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    let made_up = ["id", "created"];
    let wanted = without(&placed(chunk.clone()), &made_up);
    assert!(said.iter().any(|object| without(object, &made_up) == wanted), "{wanted} is not in {said:#?}");
    let events = r#"
        {"k":"run.start","run":"run42a","model":"bernard-v1","at":1893456007000}
        {"k":"tool.call","run":"run42a","tool":"call_snow7","name":"get_snowfall","arguments":"{\"station\": \"Abisko\"}","at":1893456007000}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))), [placed(chunk)], "of a native publisher");
}

#[test]
fn content_token_event() {
    let seed = Seed::open(3);
    let chunk = seed.json(PAGE[1], 0);
    let envelopes = assert_piece_means(
        "bernard",
        &sse(std::slice::from_ref(&chunk)),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="At the station of Abisko it is"
        r1 part.end p1
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[0], &MADE_UP), without(&chunk, &MADE_UP));
    let events = r#"
        {"k":"run.start","run":"run42a","model":"bernard-v1","at":1893456007000}
        {"k":"part.delta","run":"run42a","part":"p","text":"At the station of Abisko it is","at":1893456007000}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))), [chunk], "of a native publisher");
}

#[test]
fn tool_progress_event() {
    let seed = Seed::open(3);
    let progress = seed.json(PAGE[2], 0);
    let mut call = seed.json(PAGE[0], 0);
    call["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "web_search".into();
    let envelopes = assert_piece_means(
        "bernard",
        &sse(&[call, progress.clone()]),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_snow7 name="web_search"
        r1 tool.args call_snow7 @0 text="{\"station\": \"Abisko\"}"
        r1 tool.call call_snow7
        r1 tool.state call_snow7 state="executing"
        r1 tool.progress call_snow7 current=2 producer_at=1893456007500 text="Read 14 pages" total=3
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[1], &MADE_UP), without(&progress, &MADE_UP));
    let events = r#"
        {"k":"run.start","run":"run42a","at":1893456007500}
        {"k":"tool.call","run":"run42a","tool":"c","name":"web_search","arguments":"{}","at":1893456007500}
        {"k":"tool.progress","run":"run42a","tool":"c","text":"Read 14 pages","current":2,"total":3,"at":1893456007500}
    "#;
    assert_eq!(objects(&encoded("bernard", &native(events))).pop(), Some(progress), "of a native publisher");
}

#[test]
fn tool_result_event() {
    let seed = Seed::open(3);
    let (call, result) = (seed.json(PAGE[0], 0), seed.json(PAGE[3], 0));
    let envelopes = assert_piece_means(
        "bernard",
        &sse(&[call, result.clone()]),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_snow7 name="get_snowfall"
        r1 tool.args call_snow7 @0 text="{\"station\": \"Abisko\"}"
        r1 tool.call call_snow7
        r1 tool.result call_snow7 output="Abisko: -4 °C, a little snow"
    "#,
    );
    let said = objects(&encoded("bernard", &envelopes));
    assert_eq!(without(&said[1], &MADE_UP), without(&result, &MADE_UP));
    let text = result["choices"][0]["delta"]["content"].as_str().unwrap();
    let events = format!(
        r#"{{"k":"run.start","run":"run42a","model":"bernard-v1","at":1893456007000}}
        {{"k":"tool.call","run":"run42a","tool":"call_snow7","name":"get_snowfall","arguments":"{{}}","at":1893456007000}}
        {{"k":"tool.result","run":"run42a","tool":"call_snow7","output":"{text}","at":1893456007000}}"#
    );
    assert_eq!(objects(&encoded("bernard", &native(&events))).pop(), Some(result), "of a native publisher");
}

#[test]
fn stream_completion() {
    let seed = Seed::open(3);
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
        {"k":"run.start","run":"run42a","model":"bernard-v1","at":1893456007000}
        {"k":"run.end","run":"run42a","status":"complete","finish_reason":"stop","at":1893456007000}
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
    let seed = Seed::open(3);
    let mut flow = printed(&seed);
    // The document shows the progress of another tool than the one that it calls.
    flow[2]["data"]["tool"] = "get_snowfall".into();
    let [call, content, progress, result] = <[Value; 4]>::try_from(flow).unwrap();
    let flow = [call, progress, result, content];
    let envelopes = assert_piece_means(
        "bernard",
        &sse(&flow),
        r#"
        r1 run.start dialect="bernard" model="bernard-v1"
        r1 tool.start call_snow7 name="get_snowfall"
        r1 tool.args call_snow7 @0 text="{\"station\": \"Abisko\"}"
        r1 tool.call call_snow7
        r1 tool.state call_snow7 state="executing"
        r1 tool.progress call_snow7 current=2 producer_at=1893456007500 text="Read 14 pages" total=3
        r1 tool.result call_snow7 output="Abisko: -4 °C, a little snow"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="At the station of Abisko it is"
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
    let seed = Seed::open(3);
    let call = seed.json(PAGE[0], 0);
    for phase in seed.table("Progress Event Types") {
        let mut progress = seed.json(PAGE[2], 0);
        progress["data"]["tool"] = "get_snowfall".into();
        progress["data"]["phase"] = phase.clone().into();
        let (envelopes, told) = accepted_piece("bernard", &sse(&[call.clone(), progress.clone()]));
        // Plain progress is what an event of its kind says anyway.
        let said = if phase == "progress" { String::new() } else { format!(" phase=\"{phase}\"") };
        let wanted = format!(
            "tool.progress call_snow7 current=2{said} producer_at=1893456007500 text=\"Read 14 pages\" total=3"
        );
        assert!(told.contains(&wanted), "{phase}: {told}");
        let back = objects(&encoded("bernard", &envelopes));
        let back = back.iter().find(|object| object["type"] == "tool_progress").unwrap();
        assert_eq!(back["data"], progress["data"], "comes back as itself");
    }
}

/// Arguments in pieces are joined by the id of their call.
#[test]
fn handling_partial_arguments() {
    let seed = Seed::open(3);
    let piece = |text: &str| {
        let mut chunk = seed.json(PAGE[0], 0);
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = text.into();
        chunk
    };
    let (_, told) = accepted_piece("bernard", &sse(&[piece("{\"station\": "), piece("\"Abisko\"}")]));
    assert_eq!(told.matches("tool.start").count(), 1, "{told}");
    let view =
        super::view(&accepted_piece("bernard", &sse(&[piece("{\"station\": "), piece("\"Abisko\"}")])).0);
    let arguments: Vec<_> = view.runs[0].tools.values().map(|tool| tool.arguments.text.clone()).collect();
    assert_eq!(arguments, ["{\"station\": \"Abisko\"}"]);
}
