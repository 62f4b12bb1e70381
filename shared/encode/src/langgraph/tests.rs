//! What each mode says of the same conversation, and that it is read back as the same.

use serde_json::{Value, json};

use crate::{EncodeOptions, encoding};
use dialects::{DecodeOptions, Decoded, decoder};
use model::Envelope;
use model::event::RunStatus;
use model::testkit::{folded, logged};
use model::view::View;

const STORY: &str = r#"
    {"k":"message","message":"m1","role":"user","text":"Weather?","at":1677858242000}
    {"k":"run.start","run":"r","model":"m","at":1677858242000}
    {"k":"part.start","run":"r","part":"t","kind":"thinking","at":1677858242000}
    {"k":"part.delta","run":"r","part":"t","text":"Look it up.","at":1677858242000}
    {"k":"part.end","run":"r","part":"t","at":1677858242000}
    {"k":"part.delta","run":"r","part":"p","text":"I ","at":1677858242000}
    {"k":"part.delta","run":"r","part":"p","text":"look.","at":1677858242000}
    {"k":"tool.start","run":"r","tool":"c1","name":"get_weather","at":1677858242000}
    {"k":"tool.args","run":"r","tool":"c1","text":"{\"location\": ","at":1677858242000}
    {"k":"tool.args","run":"r","tool":"c1","text":"\"San Francisco\"}","at":1677858242000}
    {"k":"tool.call","run":"r","tool":"c1","at":1677858242000}
    {"k":"tool.state","run":"r","tool":"c1","state":"executing","at":1677858242000}
    {"k":"tool.progress","run":"r","tool":"c1","text":"Found 10 results","current":2,"total":3,"at":1677858242500}
    {"k":"tool.result","run":"r","tool":"c1","output":"65 F","at":1677858243000}
    {"k":"part.delta","run":"r","part":"q","text":"It is 65 F.","at":1677858243000}
    {"k":"run.end","run":"r","status":"complete","finish_reason":"stop","usage":{"input_tokens":3,"output_tokens":4},"at":1677858243000}
"#;

fn encoded(modes: &[&str], lines: &str) -> String {
    let modes = modes.iter().map(|mode| (*mode).into()).collect();
    let mut encoder = encoding("langgraph").unwrap().encoder(&EncodeOptions {
        conversation: "c".into(),
        modes,
        ..EncodeOptions::default()
    });
    let mut out = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        encoder.event(&Envelope::parse(line).unwrap(), &mut out);
    }
    encoder.end(&mut out);
    String::from_utf8(out).unwrap()
}

/// The events, each with its name.
fn told(modes: &[&str], lines: &str) -> Vec<(String, Value)> {
    let stream = encoded(modes, lines);
    let events = stream.split_terminator("\n\n").map(|event| {
        let (name, value) = event.split_once('\n').unwrap();
        let value = serde_json::from_str(value.strip_prefix("data: ").unwrap()).unwrap();
        (name.strip_prefix("event: ").unwrap().to_owned(), value)
    });
    events.collect()
}

fn names(told: &[(String, Value)]) -> Vec<&str> {
    told.iter().map(|(name, _)| name.as_str()).collect()
}

fn read(stream: &str) -> View {
    let (mut decoder, mut out) =
        (decoder("langgraph", DecodeOptions::default()).unwrap(), Decoded::default());
    decoder.feed(stream.as_bytes(), &mut out);
    decoder.end(&mut out);
    folded(&logged(out.envelopes.into_iter().map(|envelope| envelope.event).collect()))
}

#[test]
fn each_mode_that_has_messages_is_read_back() {
    for mode in ["messages-tuple", "messages", "updates", "values"] {
        let stream = encoded(&[mode], STORY);
        let view = read(&stream);
        let run = &view.runs[0];
        assert_eq!(
            (run.answer().as_str(), run.status),
            ("I look.It is 65 F.", RunStatus::Complete),
            "{stream}"
        );
        assert_eq!(run.thinking(), "Look it up.", "{mode}");
        let tools: Vec<_> = run.tools.values().collect();
        assert_eq!((tools.len(), tools[0].name.as_str()), (1, "get_weather"), "{mode}");
        let arguments: Value = serde_json::from_str(&tools[0].arguments.text).unwrap();
        assert_eq!(arguments, json!({"location": "San Francisco"}), "{mode}");
        assert_eq!(tools[0].result.as_ref().unwrap().to_text(), "65 F", "{mode}");
        assert_eq!(run.usage.unwrap_or_default().output_tokens, 4, "{mode}: {stream}");
        assert_eq!(view.anomalies.total, 0, "{mode}: {:?} in {stream}", view.anomalies);
    }
}

#[test]
fn pieces_come_with_what_the_graph_says_beside_them() {
    let told = told(&["messages-tuple"], STORY);
    assert_eq!(told[0], ("metadata".to_owned(), json!({"run_id": "r", "attempt": 1})));
    let pieces: Vec<_> = told[1..].iter().map(|(_, pair)| (&pair[0], &pair[1])).collect();
    assert_eq!(pieces[0].0["additional_kwargs"], json!({"reasoning_content": "Look it up."}));
    let (piece, about) = pieces[1];
    assert_eq!((&piece["content"], &piece["type"]), (&json!("I "), &json!("AIMessageChunk")));
    assert_eq!((&about["langgraph_node"], &about["langgraph_step"]), (&json!("model"), &json!(1)));
    // The calls stand beside the message as well, their pieces joined by the id.
    let calls: Vec<_> = pieces.iter().filter_map(|(_, about)| about["tool_calls"][0].as_object()).collect();
    assert!(calls.iter().all(|call| call["id"] == "c1" && call["function"]["name"] == "get_weather"));
    let joined: String = calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(joined, "{\"location\": \"San Francisco\"}");
    let (result, about) = pieces.iter().find(|(message, _)| message["type"] == "tool").unwrap();
    assert_eq!((&result["tool_call_id"], &about["langgraph_node"]), (&json!("c1"), &json!("tools")));
    assert_eq!(pieces.last().unwrap().0["chunk_position"], "last");
}

#[test]
fn steps_and_states_come_in_the_order_of_the_graph() {
    let updates = told(&["updates"], STORY);
    let nodes: Vec<_> =
        updates[1..].iter().flat_map(|(_, update)| update.as_object().unwrap().keys()).collect();
    assert_eq!(nodes, ["model", "tools", "model"]);
    let values = told(&["values"], STORY);
    let counts: Vec<_> =
        values[1..].iter().map(|(_, state)| state["messages"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [1, 2, 3, 4], "what was asked, and one more after each step");
    let kinds: Vec<_> = values[4].1["messages"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["human", "ai", "tool", "ai"]);
}

#[test]
fn tools_and_nodes_speak_in_modes_of_their_own() {
    let custom = told(&["custom"], STORY);
    assert_eq!(
        custom[1],
        (
            "custom".to_owned(),
            json!({"_type": "tool_progress", "tool": "get_weather", "tool_call_id": "c1", "phase": "progress",
            "message": "2/3: Found 10 results", "timestamp": 1_677_858_242_500_u64})
        )
    );
    let debug = told(&["debug"], STORY);
    let steps: Vec<_> = debug[1..]
        .iter()
        .map(|(_, it)| format!("{} {} {}", it["step"], it["type"], it["payload"]["name"]).replace('"', ""))
        .collect();
    let expected = [
        "1 task model",
        "1 task_result model",
        "2 task tools",
        "2 task_result tools",
        "3 task model",
        "3 task_result model",
    ];
    assert_eq!(steps, expected);
    assert_eq!(debug[1].1["timestamp"], "2023-03-03T15:44:02.000Z");
    assert_eq!(names(&told(&["tasks"], STORY))[1..], ["tasks"; 6]);
    let growing = told(&["messages"], STORY);
    assert_eq!(names(&growing)[1..4], ["messages/metadata", "messages/partial", "messages/partial"]);
    assert_eq!(growing[4].1[0]["content"], "I look.", "all of it so far");
}

#[test]
fn runs_that_fail_break_off_or_ask_say_so() {
    let failed = STORY.replace(
        "{\"k\":\"run.end\"",
        "{\"k\":\"error\",\"run\":\"r\",\"code\":\"overloaded\",\"message\":\"later\"}\n{\"k\":\"run.end\"",
    );
    let failed = failed.replace("\"complete\"", "\"error\"");
    let events = told(&["values"], &failed);
    assert_eq!(events.last().unwrap().1, json!({"error": "overloaded", "message": "later"}));
    let broken = STORY.replace("\"complete\"", "\"interrupted\"");
    assert_eq!(read(&encoded(&["messages-tuple"], &broken)).runs[0].status, RunStatus::Interrupted);
    let lines: Vec<_> = STORY.lines().take_while(|line| !line.contains("tool.state")).collect();
    let asks = lines.join("\n")
        + "\n{\"k\":\"approval.request\",\"run\":\"r\",\"tool\":\"c1\",\"text\":\"May I?\"}\n{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}";
    let view = read(&encoded(&[], &asks));
    assert_eq!(view.runs[0].tools[0].question.as_deref(), Some("May I?"));
}
