//! Tests of chat completions: the chunks that OpenAI's clients know, and those that Bernard's do.

use serde_json::{Value, json};

use crate::Caller;
use crate::tests::{encoded, encoded_for};

const WEATHER: &str = r#"
    {"k":"run.start","run":"abc123","model":"bernard-v1","at":1677858242000}
    {"k":"part.start","run":"abc123","part":"p1","kind":"thinking","at":1677858242000}
    {"k":"part.delta","run":"abc123","part":"p1","text":"Look it up.","at":1677858242000}
    {"k":"tool.start","run":"abc123","tool":"call_abc123","name":"get_weather","at":1677858242000}
    {"k":"tool.args","run":"abc123","tool":"call_abc123","text":"{\"location\": ","at":1677858242000}
    {"k":"tool.args","run":"abc123","tool":"call_abc123","text":"\"San Francisco\"}","at":1677858242000}
    {"k":"tool.call","run":"abc123","tool":"call_abc123","at":1677858242000}
    {"k":"tool.progress","run":"abc123","tool":"call_abc123","text":"Found 10 results","current":2,"total":3,"at":1677858242500}
    {"k":"tool.result","run":"abc123","tool":"call_abc123","output":"65°F","at":1677858242000}
    {"k":"part.start","run":"abc123","part":"p2","kind":"text","at":1677858242000}
    {"k":"part.delta","run":"abc123","part":"p2","text":"The weather","at":1677858242000}
    {"k":"run.end","run":"abc123","status":"complete","usage":{"input_tokens":3,"output_tokens":4},"at":1677858242000}
"#;

/// The objects of a stream, and whether `[DONE]` stands at its end.
fn objects(stream: &str) -> (Vec<Value>, bool) {
    let events: Vec<_> =
        stream.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap()).collect();
    let is_done = events.last() == Some(&"[DONE]");
    let objects = events.iter().filter(|event| **event != "[DONE]");
    (objects.map(|event| serde_json::from_str(event).unwrap()).collect(), is_done)
}

fn deltas(stream: &str) -> Vec<Value> {
    let (objects, _) = objects(stream);
    objects.into_iter().map(|object| object["choices"][0]["delta"].clone()).collect()
}

#[test]
fn a_plain_client_gets_text_reasoning_calls_and_usage() {
    let stream = encoded("openai-chat", WEATHER);
    let call = |function: Value| json!({"tool_calls":[function]});
    assert_eq!(
        deltas(&stream)[..7],
        [
            json!({"role":"assistant","content":""}),
            json!({"reasoning_content":"Look it up."}),
            call(json!({"index":0,"id":"call_abc123","type":"function",
                "function":{"name":"get_weather","arguments":""}})),
            call(json!({"index":0,"function":{"arguments":"{\"location\": "}})),
            call(json!({"index":0,"function":{"arguments":"\"San Francisco\"}"}})),
            json!({"content":"The weather"}),
            json!({}),
        ]
    );
    let (objects, is_done) = objects(&stream);
    assert_eq!(objects[6]["choices"][0]["finish_reason"], "stop");
    assert_eq!(objects[7]["choices"], json!([]));
    assert_eq!(objects[7]["usage"], json!({"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}));
    assert!(is_done);
}

#[test]
fn bernard_tells_progress_and_results_as_its_own_server_does() {
    let (objects, is_done) = objects(&encoded("bernard", WEATHER));
    let chunk = |delta: Value| {
        json!({"id":"chatcmpl-abc123","object":"chat.completion.chunk","created":1_677_858_242,
            "model":"bernard-v1","choices":[{"index":0,"delta":delta,"finish_reason":null}]})
    };
    let arguments = "{\"location\": \"San Francisco\"}";
    let call = json!({"index":0,"id":"call_abc123","type":"function",
        "function":{"name":"get_weather","arguments":arguments}});
    assert_eq!(objects[1], chunk(json!({"tool_calls":[call]})));
    assert_eq!(
        objects[2],
        json!({"type":"tool_progress","request_id":"chatcmpl-abc123","data":{"_type":"tool_progress",
            "tool":"get_weather","phase":"progress","message":"2/3: Found 10 results",
            "timestamp":1_677_858_242_500_u64}})
    );
    assert_eq!(objects[3], chunk(json!({"role":"tool","tool_call_id":"call_abc123","content":"65°F"})));
    assert_eq!(objects[4], chunk(json!({"content":"The weather"})));
    assert_eq!(objects[5]["choices"][0]["finish_reason"], "stop");
    assert!(is_done);
}

#[test]
fn calls_that_are_left_to_the_caller_are_the_reason_to_stop() {
    let lines: Vec<_> = WEATHER.lines().filter(|line| !line.contains("tool.result")).collect();
    let (objects, _) = objects(&encoded("openai-chat", &lines.join("\n")));
    assert_eq!(objects[6]["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn a_failed_run_is_an_error_and_a_broken_one_has_no_end() {
    let failed = WEATHER.replace("\"complete\"", "\"error\"").replace(
        "{\"k\":\"run.end\"",
        "{\"k\":\"error\",\"run\":\"abc123\",\"code\":\"overloaded\",\"message\":\"later\"}\n{\"k\":\"run.end\"",
    );
    let (seen, _) = objects(&encoded("openai-chat", &failed));
    assert_eq!(seen.last().unwrap()["error"]["message"], "later");
    for status in ["\"interrupted\"", "\"cancelled\""] {
        let (seen, is_done) = objects(&encoded("openai-chat", &WEATHER.replace("\"complete\"", status)));
        assert!(!is_done && seen.iter().all(|object| object["choices"][0]["finish_reason"].is_null()));
    }
}

#[test]
fn runs_that_overlap_come_one_after_the_other() {
    let both = r#"
        {"k":"run.start","run":"a"}
        {"k":"run.start","run":"b"}
        {"k":"part.delta","run":"b","part":"p","text":"second"}
        {"k":"part.delta","run":"a","part":"p","text":"first"}
        {"k":"run.end","run":"b","status":"complete"}
        {"k":"run.end","run":"a","status":"complete"}
    "#;
    let texts: Vec<_> = deltas(&encoded("openai-chat", both))
        .iter()
        .filter_map(|delta| delta["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned))
        .collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn a_caller_is_told_its_own_calls_alone_and_texts_are_set_apart() {
    let two = r#"{"k":"part.start","run":"abc123","part":"p0","kind":"text"}
        {"k":"part.delta","run":"abc123","part":"p0","text":"Let me look."}
        {"k":"tool.start","run":"abc123","tool":"call_own","name":"ask_user"}
        {"k":"part.start","run":"abc123","part":"p2""#;
    let lines = WEATHER.replace(r#"{"k":"part.start","run":"abc123","part":"p2""#, two);
    let caller = Caller { tools: vec!["ask_user".into()], ..Caller::default() };
    let stream = encoded_for("openai-chat", &lines, Some(caller));
    assert!(!stream.contains("get_weather") && !stream.contains("usage"), "{stream}");
    let deltas = deltas(&stream);
    let text: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(text, "Let me look.\n\nThe weather");
    let calls: Vec<_> = deltas.iter().filter_map(|delta| delta["tool_calls"][0]["id"].as_str()).collect();
    assert_eq!(calls, ["call_own"]);
    let told = Caller { wants_usage: true, ..Caller::default() };
    assert!(encoded_for("openai-chat", &lines, Some(told)).contains("\"total_tokens\":7"));
}
