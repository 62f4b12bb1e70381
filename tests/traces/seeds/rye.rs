//! Seed 4: the transcript of a thread, with calls between the pieces of a text.

use encode::reconstruct::{UnfinishedCalls, openai};
use serde_json::{Map, Value, json};

use super::{Seed, accepted, accepted_piece, assert_means, encoded, native, objects};

/// A line as the document writes it: an event, with its fields beside its name.
pub(super) fn line(kind: &str, fields: &Value) -> Value {
    let mut line = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    line.extend(fields.as_object().cloned().unwrap_or_default());
    line.into()
}

pub(super) fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
}

/// The lines of a transcript as the document writes them.
fn flat(transcript: &str) -> Vec<Value> {
    objects(transcript)
        .into_iter()
        .map(|object| line(object["event_type"].as_str().unwrap(), &object["payload"]))
        .collect()
}

/// Each of `wanted` is one of `said`, in this order; those may have more fields, which are ours.
#[track_caller]
fn assert_told(said: &[Value], wanted: &[Value]) {
    let mut rest = said.iter();
    for line in wanted {
        let has = |other: &Value| {
            line.as_object().unwrap().iter().all(|(name, value)| other.get(name) == Some(value))
        };
        assert!(rest.any(has), "{line} is not in {said:#?}");
    }
}

/// The lines of the timeline, made as the code above it makes them.
fn timeline(seed: &Seed) -> Vec<Value> {
    let block = seed.block("Transcript Events", 0);
    let words: Vec<_> = block
        .lines()
        .filter_map(|line| line.split(['├', '│', '└', '─', ' ']).find(|word| !word.is_empty()))
        .collect();
    let kinds: Vec<_> = words
        .into_iter()
        .filter(|word| word.starts_with("cognition") || word.starts_with("tool_call"))
        .collect();
    let expected = [
        "cognition_out_delta",
        "cognition_out_delta",
        "tool_call_start",
        "tool_call_result",
        "cognition_out_delta",
        "cognition_out_delta",
        "cognition_out",
    ];
    assert_eq!(kinds, expected);
    let mut texts = ["one ", "two ", "three ", "four"].into_iter();
    let fields = |kind: &str| match kind {
        "cognition_out_delta" => json!({"text": texts.next().unwrap(), "turn": 1}),
        "tool_call_start" => json!({"tool": "read", "call_id": "c1", "input": {"path": "a"}}),
        "tool_call_result" => json!({"call_id": "c1", "output": "text", "error": null}),
        _ => json!({"text": "one two three four", "turn": 1, "tool_count": 1}),
    };
    kinds.into_iter().map(fields_of(fields)).collect()
}

fn fields_of<'a>(mut fields: impl FnMut(&str) -> Value + 'a) -> impl FnMut(&str) -> Value + 'a {
    move |kind| line(kind, &fields(kind))
}

#[test]
fn transcript_events() {
    let seed = Seed::open(4);
    let timeline = timeline(&seed);
    let envelopes = assert_means(
        "rye",
        &jsonl(&timeline),
        r#"
        r1 run.start dialect="rye"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="one "
        r1 part.delta p1 @4 text="two "
        r1 tool.start c1 name="read"
        r1 tool.call c1 arguments="{\"path\":\"a\"}"
        r1 tool.state c1 state="executing"
        r1 tool.result c1 output="text"
        r1 part.delta p1 @8 text="three "
        r1 part.delta p1 @14 text="four"
        r1 part.end p1
        r1 run.end status="complete"
    "#,
    );
    assert_told(&flat(&encoded("rye", &envelopes)), &timeline);
    let events = r#"
        {"k":"run.start"}
        {"k":"part.delta","part":"p","text":"one "}
        {"k":"part.delta","part":"p","text":"two "}
        {"k":"tool.call","tool":"c1","name":"read","arguments":"{\"path\":\"a\"}"}
        {"k":"tool.result","tool":"c1","output":"text"}
        {"k":"part.delta","part":"p","text":"three "}
        {"k":"part.delta","part":"p","text":"four"}
        {"k":"run.end","status":"complete"}
    "#;
    assert_told(&flat(&encoded("rye", &native(events))), &timeline);
}

/// Seed 4's list of tests.
#[test]
fn test_cognition_out_always_last() {
    let seed = Seed::open(4);
    let mut timeline = timeline(&seed);
    // The result comes after the text has gone on, and still before its end.
    let result = timeline.remove(3);
    timeline.insert(5, result);
    let (envelopes, told) = accepted("rye", &jsonl(&timeline));
    let said = flat(&encoded("rye", &envelopes));
    let place = |kind: &str| said.iter().position(|line| line["type"] == kind).unwrap();
    let end = place("cognition_out");
    assert!(end > place("tool_call_result"), "{said:#?}");
    let behind: Vec<_> = said[end + 1..].iter().map(|line| &line["type"]).collect();
    assert!(behind.iter().all(|kind| *kind == "thread_completed"), "{behind:?}");
    assert!(told.find("part.end") > told.find("tool.result"), "{told}");
}

#[test]
fn test_accumulate_deltas_to_full_text() {
    let seed = Seed::open(4);
    let timeline = timeline(&seed);
    let text = |lines: &[Value]| super::view(&accepted_piece("rye", &jsonl(lines)).0).runs[0].answer();
    assert_eq!(text(&timeline), "one two three four");
    assert_eq!(text(&timeline[..6]), "one two three four", "without the text as a whole");
    // Deltas may be dropped: the whole text counts.
    assert_eq!(text(&[&timeline[1..2], &timeline[5..]].concat()), "one two three four");
}

#[test]
fn test_reconstruct_from_interleaved() {
    let seed = Seed::open(4);
    let view = super::view(&accepted("rye", &jsonl(&timeline(&seed))).0);
    let made = serde_json::to_value(openai::request(&view, UnfinishedCalls::LeaveOut)).unwrap();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}});
    let expected = json!([
        {"role": "assistant", "content": "one two three four", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
    ]);
    assert_eq!(made["messages"], expected);
    assert_eq!(made.get("partial"), None, "it is whole, and the model is not told otherwise");
}

/// "Transcript on error shows".
#[test]
fn partial_reasoning_on_error() {
    let seed = Seed::open(4);
    let block = seed.block("Partial Reasoning on Error", 1);
    let printed: Vec<Value> = block
        .lines()
        .map(|text| {
            let (kind, rest) = text.split_once(": ").unwrap();
            let (text, mark) = rest.rsplit_once(" [is_partial: ").unwrap();
            let text: String = serde_json::from_str(text).unwrap();
            line(kind, &json!({"text": text, "is_partial": mark == "true]"}))
        })
        .collect();
    let mut lines = printed;
    lines[0]["was_interrupted"] = true.into();
    lines[1]["truncated"] = true.into();
    lines[1]["error"] = "connection reset".into();
    lines[1]["completion_percentage"] = 65.into();
    let envelopes = assert_means(
        "rye",
        &jsonl(&lines),
        r#"
        r1 run.start dialect="rye"
        r1 part.start p1 kind="thinking"
        r1 part.delta p1 @0 text="One thing after the other. Begin..."
        r1 part.start p2 kind="text"
        r1 part.delta p2 @0 text="The way out leads..."
        r1 status text="the answer was interrupted at 65 %"
        r1 custom name="partial_cognition" value={"completion_percentage":65,"truncated":true}
        r1 error code="cognition_failed" message="connection reset"
        r1 part.end p1
        r1 part.end p2
        r1 run.end status="interrupted"
    "#,
    );
    assert_told(&flat(&encoded("rye", &envelopes)), &lines);
    let events = r#"
        {"k":"run.start"}
        {"k":"part.start","part":"t","kind":"thinking"}
        {"k":"part.delta","part":"t","text":"One thing after the other. Begin..."}
        {"k":"part.delta","part":"p","text":"The way out leads..."}
        {"k":"custom","name":"partial_cognition","value":{"completion_percentage":65}}
        {"k":"error","code":"stream_reset","message":"connection reset"}
        {"k":"run.end","status":"error"}
    "#;
    assert_told(&flat(&encoded("rye", &native(events))), &lines);
}

/// What the model is told when it goes on.
#[test]
fn resume_from_partial_state() {
    let seed = Seed::open(4);
    let printed = seed.block("Resume from Partial State", 1);
    let cut = line(
        "cognition_out",
        &json!({"text": "The solution", "is_partial": true, "completion_percentage": 65}),
    );
    let view = super::view(&accepted("rye", &jsonl(&[cut])).0);
    let made = serde_json::to_value(openai::request(&view, UnfinishedCalls::LeaveOut)).unwrap();
    let note = printed.lines().next().unwrap();
    assert_eq!(made["partial"], json!({"is_partial": true, "completion_percentage": 65}));
    assert_eq!(
        made["messages"],
        json!([{"role": "assistant", "content": "The solution"}, {"role": "system", "content": note}])
    );
    let cut = line("cognition_out", &json!({"text": "The solution", "is_partial": true}));
    let view = super::view(&accepted("rye", &jsonl(&[cut])).0);
    let made = serde_json::to_value(openai::request(&view, UnfinishedCalls::LeaveOut)).unwrap();
    assert_eq!(
        made["messages"][1]["content"],
        note.replace("65", "?"),
        "nobody said how much there is of it"
    );
}
