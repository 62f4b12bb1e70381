//! Seed 0: the events between an Agno agent's server and its pipe.

use serde_json::{Value, json};

use model::ToolCallId;
use model::event::ToolState;

use super::{Seed, accepted, assert_means, encoded, native, objects, sse, view};

/// An object as the server sends it.
fn message(object: &Value) -> Value {
    json!({"event": "message", "data": object})
}

#[test]
fn complete_sse_event_flow() {
    let seed = Seed::open(0);
    let block = seed.block("Complete SSE Event Flow (After Implementation)", 0);
    let flow: Vec<Value> = block
        .lines()
        .map(|line| serde_json::from_str(line.strip_prefix("SSE: ").unwrap()).unwrap())
        .collect();
    let stream = sse(&flow.iter().map(message).collect::<Vec<_>>());
    let envelopes = assert_means(
        "ralph",
        &stream,
        r###"
        r1 run.start dialect="ralph"
        r1 status text="Thinking..."
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="One look into the "
        r1 part.delta p1 @18 text="garden calendar."
        r1 part.end p1
        r1 tool.start call_one name="list_calendar_rows"
        r1 tool.call call_one arguments="{}"
        r1 tool.state call_one state="executing"
        r1 tool.result call_one output="[{\"label\": \"harvest\", \"title\": \"Harvest Outlook\"}]"
        r1 tool.start call_two name="read_calendar_row"
        r1 tool.call call_two arguments="{\"label\":\"harvest\"}"
        r1 tool.state call_two state="executing"
        r1 tool.result call_two output="## Week One\n\nIt's time for plums..."
        r1 part.start p2 kind="text"
        r1 part.delta p2 @0 text="That garden calendar "
        r1 part.delta p2 @21 text="says that it's time for plums..."
        r1 part.end p2
        r1 run.end status="complete"
    "###,
    );
    let mut said: Vec<Value> =
        objects(&encoded("ralph", &envelopes)).into_iter().map(|it| it["data"].clone()).collect();
    // The server of today says the arguments once more with the result; the page shows those.
    let completed = said.iter_mut().filter(|it| it["type"] == "tool_call_complete");
    let arguments: Vec<_> =
        completed.filter_map(|it| it.as_object_mut().unwrap().remove("tool_args")).collect();
    assert_eq!(arguments, [json!({}), json!({"label": "harvest"})]);
    assert_eq!(said, flow);
}

/// What an encoder says, without the names of the SSE events.
fn said(events: &str) -> Vec<Value> {
    objects(&encoded("ralph", &native(events))).into_iter().map(|it| it["data"].clone()).collect()
}

#[test]
fn a_call_that_is_complete_says_its_arguments_also_after_its_run() {
    let said = said(
        r#"
        {"k":"run.start"}
        {"k":"tool.call","tool":"c","name":"read","arguments":"{\"path\": \"a\"}"}
        {"k":"run.end","status":"complete"}
        {"k":"tool.result","tool":"c","output":"text"}
    "#,
    );
    let call = json!({"type": "tool_call_complete", "tool_call_id": "c", "tool_name": "read",
        "tool_args": {"path": "a"}, "result": "text"});
    assert!(said.contains(&call), "{said:#?}");
}

#[test]
fn every_run_begins_with_the_status_of_the_server_and_none_has_it_twice() {
    let greeting = json!({"type": "status", "content": "Thinking..."});
    let own = said(r#"{"k":"run.start"} "#);
    assert_eq!(own, std::slice::from_ref(&greeting));
    let relayed = said(
        r#"
        {"k":"run.start"}
        {"k":"status","text":"Thinking..."}
        {"k":"part.delta","part":"p","text":"Well."}
        {"k":"status","text":"Thinking..."}
        {"k":"run.end","status":"complete"}
    "#,
    );
    let kinds: Vec<_> = relayed.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!((&relayed[0], &kinds[..]), (&greeting, &["status", "message", "status", "done"][..]));
}

/// The server says of a call that failed first that it is complete, with what its tool has raised.
#[test]
fn a_call_that_is_complete_and_then_failed_has_failed() {
    let call = |kind: &str, more: Value| {
        let mut call = json!({"type": kind, "tool_call_id": "c", "tool_name": "read"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message(&call)
    };
    let args = json!({"path": "a"});
    let flow = [
        message(&json!({"type": "status", "content": "Thinking..."})),
        call("tool_call_start", json!({"tool_args": args})),
        call("tool_call_complete", json!({"tool_args": args, "result": "no such file"})),
        call("tool_call_error", json!({"error": "no such file"})),
        message(&json!({"type": "message", "content": "It is not there."})),
        message(&json!({"type": "done"})),
    ];
    let (envelopes, _) = accepted("ralph", &sse(&flow));
    let view = view(&envelopes);
    let tool = &view.runs[0].tools[&ToolCallId::new("c")];
    assert_eq!((tool.state, tool.is_error), (ToolState::Error, true));
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
    assert_eq!(objects(&encoded("ralph", &envelopes)), flow, "a client is told what the server told");
}
