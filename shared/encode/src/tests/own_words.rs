//! The dialects of single projects, in the very words in which those document them.

use super::encoded;
use model::Envelope;

const RUN: &str = r#"
    {"k":"run.start","run":"th","model":"m","title":"research","at":1700000000500}
    {"k":"status","run":"th","text":"Starting","at":1700000000500}
    {"k":"part.start","run":"th","part":"a","kind":"thinking","at":1700000000500}
    {"k":"part.delta","run":"th","part":"a","text":"Let me see","at":1700000000500}
    {"k":"part.end","run":"th","part":"a","at":1700000000500}
    {"k":"part.delta","run":"th","part":"b","text":"The weather","at":1700000000500}
    {"k":"part.delta","run":"th","part":"b","text":" in London","at":1700000000500}
    {"k":"part.end","run":"th","part":"b","at":1700000000500}
    {"k":"tool.call","run":"th","tool":"call_1","name":"forecast","arguments":"{\"city\":\"London\"}","at":1700000000500}
    {"k":"tool.state","run":"th","tool":"call_1","state":"executing","at":1700000000500}
    {"k":"tool.result","run":"th","tool":"call_1","output":{"temperature":18},"exec_ms":245,"at":1700000000500}
    {"k":"agent.start","run":"th","agent":"xyz","name":"task","at":1700000000500}
    {"k":"part.delta","run":"th","agent":"xyz","part":"c","text":"Analyzing ","at":1700000000500}
    {"k":"part.end","run":"th","agent":"xyz","part":"c","at":1700000000500}
    {"k":"agent.end","run":"th","agent":"xyz","status":"complete","at":1700000000500}
    {"k":"run.end","run":"th","status":"complete","usage":{"input_tokens":3,"output_tokens":4},"at":1700000000500}
"#;

#[track_caller]
fn assert_says(name: &str, expected: &str) {
    let stream = encoded(name, RUN).replace("\r\n", "\n");
    let lines: Vec<_> = stream.lines().filter(|line| !line.is_empty()).collect();
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, expected);
}

#[test]
fn ralph() {
    assert_says(
        "ralph",
        r#"
        event: message
        data: {"type":"status","content":"Thinking..."}
        event: message
        data: {"type":"status","content":"Starting"}
        event: message
        data: {"type":"message","content":"The weather"}
        event: message
        data: {"type":"message","content":" in London"}
        event: message
        data: {"type":"tool_call_start","tool_call_id":"call_1","tool_name":"forecast","tool_args":{"city":"London"}}
        event: message
        data: {"type":"tool_call_complete","tool_call_id":"call_1","tool_name":"forecast","tool_args":{"city":"London"},"result":"{\"temperature\":18}"}
        event: message
        data: {"type":"done"}
        "#,
    );
}

#[test]
fn deep_agent() {
    assert_says(
        "deep-agent",
        r#"
        data: {"type":"status","data":{"description":"Starting","agent_depth":0}}
        data: {"type":"token","data":{"content":"The weather","agent_depth":0}}
        data: {"type":"token","data":{"content":" in London","agent_depth":0}}
        data: {"type":"tool_start","data":{"tool_id":"call_1","name":"forecast","agent_depth":0}}
        data: {"type":"tool_end","data":{"tool_id":"call_1","name":"forecast","result":"{\"temperature\":18}","agent_depth":0}}
        data: {"type":"agent_start","data":{"agent_id":"xyz","name":"task","depth":1}}
        data: {"type":"token","data":{"content":"Analyzing ","agent_depth":1}}
        data: {"type":"agent_end","data":{"agent_id":"xyz","depth":1}}
        data: {"type":"done"}
        "#,
    );
}

#[test]
fn forge() {
    assert_says(
        "forge",
        r#"
        event: thinking
        data: {"content":"Let me see","cumulative":"Let me see"}
        event: token
        data: {"token":"The weather","cumulative":"The weather"}
        event: token
        data: {"token":" in London","cumulative":"The weather in London"}
        event: tool_call
        data: {"id":"call_1","tool_name":"forecast","arguments":{"city":"London"},"status":"pending"}
        event: tool_call
        data: {"id":"call_1","tool_name":"forecast","arguments":{"city":"London"},"status":"executing"}
        event: tool_call
        data: {"id":"call_1","tool_name":"forecast","arguments":{"city":"London"},"status":"complete"}
        event: tool_result
        data: {"tool_call_id":"call_1","result":{"temperature":18},"is_error":false,"latency_ms":245}
        event: complete
        data: {"response":"The weather in London","usage":{"prompt_tokens":3,"completion_tokens":4}}
        "#,
    );
}

#[test]
fn forge_is_told_that_a_call_is_over_of_which_nothing_came_back() {
    let run = r#"
    {"k":"run.start","run":"r","at":1}
    {"k":"tool.call","run":"r","tool":"t","name":"nobody_has_this","arguments":"{}","at":1}
    {"k":"tool.state","run":"r","tool":"t","state":"complete","at":1}
    {"k":"tool.call","run":"r","tool":"u","name":"fails","arguments":"{}","at":1}
    {"k":"tool.state","run":"r","tool":"u","state":"error","at":1}
    {"k":"tool.call","run":"r","tool":"v","name":"hangs","arguments":"{}","at":1}
    {"k":"run.end","run":"r","status":"complete","at":1}
    "#;
    let stream = encoded("forge", run);
    let said = |id: &str, status: &str| {
        stream.lines().any(|line| {
            line.contains(&format!(r#""id":"{id}""#)) && line.contains(&format!(r#""status":"{status}""#))
        })
    };
    assert!(said("t", "complete") && said("u", "error"), "{stream}");
    assert!(!said("v", "complete") && !said("v", "error"), "{stream}");
}

#[test]
fn rye() {
    let line = |thread: &str, kind: &str, payload: &str| {
        format!(
            r#"{{"timestamp":1700000000.500,"thread_id":"{thread}","event_type":"{kind}","payload":{payload}}}"#
        )
    };
    let expected = [
        line("th", "thread_started", r#"{"directive":"research","model":"m","limits":{}}"#),
        line("th", "cognition_reasoning", r#"{"text":"Let me see"}"#),
        line(
            "th",
            "cognition_out_delta",
            r#"{"text":"The weather","turn":1,"chunk_index":0,"is_final":false}"#,
        ),
        line(
            "th",
            "cognition_out_delta",
            r#"{"text":" in London","turn":1,"chunk_index":1,"is_final":false}"#,
        ),
        line(
            "th",
            "cognition_out",
            r#"{"text":"The weather in London","model":"m","turn":1,"tool_count":0,"is_partial":false}"#,
        ),
        line("th", "tool_call_start", r#"{"tool":"forecast","call_id":"call_1","input":{"city":"London"}}"#),
        line(
            "th",
            "tool_call_result",
            r#"{"call_id":"call_1","output":"{\"temperature\":18}","error":null,"duration_ms":245}"#,
        ),
        line(
            "th",
            "child_thread_started",
            r#"{"child_thread_id":"xyz","child_directive":"task","parent_thread_id":"th"}"#,
        ),
        line(
            "xyz",
            "cognition_out_delta",
            r#"{"text":"Analyzing ","turn":1,"chunk_index":0,"is_final":false}"#,
        ),
        line(
            "xyz",
            "cognition_out",
            r#"{"text":"Analyzing ","model":"m","turn":1,"tool_count":0,"is_partial":false}"#,
        ),
        line("xyz", "thread_completed", r#"{"cost":{}}"#),
        line("th", "thread_completed", r#"{"cost":{"input_tokens":3,"output_tokens":4}}"#),
    ];
    assert_says("rye", &expected.join("\n"));
}

#[test]
fn what_a_native_publisher_says_comes_back_as_it_was() {
    let stream = encoded("fanlight", RUN);
    let lines = RUN.lines().map(str::trim).filter(|line| !line.is_empty());
    for (said, line) in stream.lines().zip(lines) {
        assert_eq!(Envelope::parse(said).unwrap(), Envelope::parse(line).unwrap());
    }
    assert_eq!(stream.lines().count(), 16);
}

#[test]
fn a_sub_agent_ends_once_and_its_thread_has_its_cost() {
    let lines = r#"
        {"k":"run.start","run":"r"}
        {"k":"agent.start","run":"r","agent":"a","name":"scout"}
        {"k":"run.update","run":"r","agent":"a","usage":{"input_tokens":3,"output_tokens":4}}
        {"k":"agent.end","run":"r","agent":"a","status":"complete"}
        {"k":"agent.end","run":"r","agent":"a","status":"complete","usage":{"input_tokens":5,"output_tokens":6}}
        "#;
    let rye = encoded("rye", lines);
    let ended: Vec<_> = rye.lines().filter(|line| line.contains("thread_completed")).collect();
    assert_eq!(ended.len(), 1, "{rye}");
    assert!(ended[0].contains(r#""cost":{"input_tokens":3,"output_tokens":4}"#), "{rye}");
    let deep = encoded("deep-agent", lines);
    assert_eq!(deep.matches("agent_end").count(), 1, "{deep}");
}

#[test]
fn deep_agent_tells_no_failure_and_results_as_they_came() {
    let run = r#"
    {"k":"run.start","run":"r","dialect":"runner","at":1}
    {"k":"status","run":"r","text":"retrying model in 1 s","at":1}
    {"k":"error","run":"r","code":"rate_limit","message":"slow down","retryable":true,"at":1}
    {"k":"tool.call","run":"r","tool":"t","name":"write_todos","arguments":"{}","at":1}
    {"k":"tool.result","run":"r","tool":"t","output":"\"Command(update={'todos': []})\"","at":1}
    {"k":"tool.call","run":"r","tool":"u","name":"ls","arguments":"{}","at":1}
    {"k":"tool.result","run":"r","tool":"u","output":"Command (a file)","at":1}
    {"k":"error","run":"r","code":"http_401","message":"no key","at":1}
    {"k":"run.end","run":"r","status":"error","at":1}
    "#;
    let stream = encoded("deep-agent", run);
    let told: Vec<&str> = stream.lines().filter(|line| !line.is_empty()).collect();
    let said = |kind: &str| told.iter().filter(|line| line.contains(kind)).count();
    assert_eq!(
        (said("\"status\""), said("\"done\""), said("slow down"), said("no key")),
        (0, 0, 0, 0),
        "{stream}"
    );
    let commanded = r#""result":"\"Command(update={'todos': []})\"""#;
    assert_eq!((said(commanded), said("Command (a file)")), (1, 1), "{stream}");
    assert!(crate::encoding("deep-agent").is_some_and(|encoding| encoding.breaks_off));
}
