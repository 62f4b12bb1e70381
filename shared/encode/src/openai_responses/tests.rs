//! Tests of responses: the events in the order of OpenAI's server, and the response in one piece.

use serde_json::{Value, json};

use super::{response, response_id, split_item_id, split_response_id};
use crate::Caller;
use crate::tests::{encoded, encoded_for};
use model::ids::RunId;
use model::testkit::{events, folded, logged};

const WEATHER: &str = r#"
    {"k":"run.start","run":"abc","model":"m","at":1677858242000}
    {"k":"part.start","run":"abc","part":"p1","kind":"thinking","at":1677858242000}
    {"k":"part.delta","run":"abc","part":"p1","text":"Look ","at":1677858242000}
    {"k":"part.delta","run":"abc","part":"p1","text":"it up.","at":1677858242000}
    {"k":"part.end","run":"abc","part":"p1","at":1677858242000}
    {"k":"tool.start","run":"abc","tool":"call_1","name":"get_weather","at":1677858242000}
    {"k":"tool.args","run":"abc","tool":"call_1","text":"{\"city\":","at":1677858242000}
    {"k":"tool.args","run":"abc","tool":"call_1","text":"\"Rome\"}","at":1677858242000}
    {"k":"tool.call","run":"abc","tool":"call_1","at":1677858242000}
    {"k":"tool.result","run":"abc","tool":"call_1","output":"65°F","at":1677858242000}
    {"k":"part.start","run":"abc","part":"p2","kind":"text","at":1677858242000}
    {"k":"part.delta","run":"abc","part":"p2","text":"It is mild.","at":1677858242000}
"#;

const END: &str = r#"{"k":"run.end","run":"abc","status":"complete","usage":{"input_tokens":3,"output_tokens":4,"cached_tokens":2},"at":1677858242000}"#;

/// The objects of a stream, in which each event has the name of its type, and the numbers follow one another.
fn objects(stream: &str) -> Vec<Value> {
    let read = |(number, event): (usize, &str)| {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let object: Value = serde_json::from_str(data).unwrap();
        assert_eq!(name.strip_prefix("event: "), object["type"].as_str());
        assert_eq!(object["sequence_number"], number);
        object
    };
    stream.split_terminator("\n\n").enumerate().map(read).collect()
}

fn types(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["type"].as_str().unwrap()).collect()
}

#[test]
fn a_viewer_gets_items_in_pieces_and_whole_at_the_end() {
    let objects = objects(&encoded("openai-responses", &format!("{WEATHER}{END}")));
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(types(&objects), expected);
    assert_eq!(
        objects[16],
        json!({"type":"response.output_text.delta","sequence_number":16,"item_id":"msg_2.abc.c","output_index":2,
            "content_index":0,"delta":"It is mild.","logprobs":[]})
    );
    let ended = &objects[20]["response"];
    let text = json!({"type":"output_text","annotations":[],"logprobs":[],"text":"It is mild."});
    assert_eq!(
        ended["output"],
        json!([
            {"id":"rs_0.abc.c","type":"reasoning","summary":[{"type":"summary_text","text":"Look it up."}]},
            {"id":"fc_1.abc.c","type":"function_call","status":"completed","call_id":"call_1",
                "name":"get_weather","arguments":"{\"city\":\"Rome\"}"},
            {"id":"msg_2.abc.c","type":"message","status":"completed","role":"assistant","content":[text]},
        ])
    );
    assert_eq!(
        ended["usage"],
        json!({"input_tokens":3,"input_tokens_details":{"cached_tokens":2},"output_tokens":4,
            "output_tokens_details":{"reasoning_tokens":0},"total_tokens":7})
    );
    assert_eq!((&ended["status"], &ended["created_at"]), (&json!("completed"), &json!(1_677_858_242)));
}

#[test]
fn a_caller_gets_only_the_calls_that_it_executes() {
    let story = format!("{WEATHER}{END}");
    let other = Caller { tools: vec!["other".into()], ..Caller::default() };
    let stream = encoded_for("openai-responses", &story, Some(other));
    assert!(!stream.contains("function_call"), "{stream}");
    let own = Caller { tools: vec!["get_weather".into()], ..Caller::default() };
    assert!(encoded_for("openai-responses", &story, Some(own)).contains("function_call"));
}

#[test]
fn a_failed_run_says_why_and_one_that_broke_off_has_no_end() {
    let error = r#"{"k":"error","run":"abc","code":"rate_limit","message":"slow down"}"#;
    let failed = r#"{"k":"run.end","run":"abc","status":"error"}"#;
    let objects_of = |end: &str| objects(&encoded("openai-responses", &format!("{WEATHER}{end}")));
    let objects = objects_of(&format!("{error}\n{failed}"));
    let last = objects.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["error"], json!({"code":"rate_limit","message":"slow down"}));
    for status in ["cancelled", "interrupted"] {
        let objects = objects_of(&format!(r#"{{"k":"run.end","run":"abc","status":"{status}"}}"#));
        assert_eq!(types(&objects).last(), Some(&"response.output_item.done"), "{status}");
    }
}

#[test]
fn an_answer_without_room_for_its_rest_is_incomplete() {
    let end = r#"{"k":"run.end","run":"abc","status":"complete","finish_reason":"length"}"#;
    let story = r#"{"k":"run.start","run":"abc"}"#;
    let objects = objects(&encoded("openai-responses", &format!("{story}\n{end}")));
    let last = objects.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"], json!({"reason":"max_output_tokens"}));
}

#[test]
fn the_response_in_one_piece_is_that_at_the_end_of_the_stream() {
    let story = format!("{WEATHER}{END}");
    let caller = Caller { tools: vec!["get_weather".into()], ..Caller::default() };
    let stream = objects(&encoded_for("openai-responses", &story, Some(caller.clone())));
    let view = folded(&logged(events(&story)));
    let run = RunId::new("abc");
    let whole: Value = serde_json::from_slice(&response("c", &run, &view.runs[&run], &caller)).unwrap();
    for field in ["output", "status", "usage", "model", "error", "incomplete_details", "object"] {
        assert_eq!(whole[field], stream.last().unwrap()["response"][field], "{field}");
    }
}

#[test]
fn an_id_names_the_run_and_the_conversation() {
    let id = response_id("a.b c", &RunId::new("r1"));
    assert_eq!(split_response_id(&id), Some((RunId::new("r1"), "a.b c")));
    for item in ["msg_0.r1.a.b c", "fc_12.r1.a.b c"] {
        assert_eq!(split_item_id(item), Some((RunId::new("r1"), "a.b c")));
    }
    for other in ["", "msg_r1.c", "msg_x.r1.c", "msg"] {
        assert_eq!(split_item_id(other), None, "{other}");
    }
    for other in ["", "resp_", "resp_r1", "chatcmpl-r1.c"] {
        assert_eq!(split_response_id(other), None, "{other}");
    }
}
