//! Streams that no fixture can show: long ones, and ones that never end anything.

use super::{NAME, decoder};
use crate::{DecodeOptions, Decoded};
use model::event::{Kind, RunStatus, ToolState};
use model::limits::ITEMS_PER_RUN_MAX;

fn decoded(lines: impl IntoIterator<Item = String>) -> Decoded {
    let mut out = Decoded::default();
    let mut decoder = decoder(DecodeOptions::default());
    for line in lines {
        decoder.feed(line.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    out
}

fn count(out: &Decoded, is_wanted: fn(&Kind) -> bool) -> usize {
    out.envelopes.iter().filter(|envelope| is_wanted(&envelope.event.kind)).count()
}

fn ends_as(out: &Decoded) -> Option<RunStatus> {
    match &out.envelopes.last()?.event.kind {
        Kind::RunEnd(end) => Some(end.status),
        _ => None,
    }
}

#[test]
fn the_state_tells_each_message_once_however_often_it_comes() {
    let state = |n: usize| {
        let messages: Vec<_> =
            (0..=n).map(|n| format!("{{\"type\":\"ai\",\"id\":\"m{n}\",\"content\":\"t{n}\"}}")).collect();
        format!("[\"values\",{{\"messages\":[{}]}}]\n", messages.join(","))
    };
    let out = decoded((0..40).map(state));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::Message(_))), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartStart { .. })), 39);
    assert_eq!(ends_as(&out), Some(RunStatus::Complete));
}

#[test]
fn a_message_that_was_made_to_look_like_another_one_is_told() {
    // Both ids have the same FNV-1a 64.
    let told = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"].map(|id| {
        format!("[\"messages\",[{{\"type\":\"ai\",\"id\":\"{id}\",\"content\":\"I am {id}.\"}},{{}}]]\n")
    });
    let out = decoded(told);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartStart { .. })), 2);
}

#[test]
fn messages_that_never_end_are_bounded() {
    let piece = |n: usize| {
        format!("[\"messages\",[{{\"type\":\"AIMessageChunk\",\"id\":\"m{n}\",\"content\":\"x\"}},{{}}]]\n")
    };
    let out = decoded((0..ITEMS_PER_RUN_MAX + 10).map(piece));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartStart { .. })), ITEMS_PER_RUN_MAX);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartEnd(_))), ITEMS_PER_RUN_MAX);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunEnd(_))), 1);
}

#[test]
fn a_sub_agent_is_the_one_of_the_call_that_told_it_what_to_do() {
    let call = |n: usize| {
        format!(
            "{{\"name\":\"task\",\"id\":\"c{n}\",\"args\":{{\"description\":\"job {n}\",\"subagent_type\":\"s{n}\"}}}}"
        )
    };
    let asked = format!(
        "{{\"model\":{{\"messages\":[{{\"type\":\"ai\",\"id\":\"m\",\"content\":\"\",\"tool_calls\":[{},{}]}}]}}}}\n",
        call(0),
        call(1)
    );
    let job = |n: usize| {
        format!(
            "[[\"tools:u{n}\"],\"values\",{{\"messages\":[{{\"type\":\"human\",\"content\":\"job {n}\"}}]}}]\n"
        )
    };
    let out = decoded([asked, job(1), job(0)]);
    let starts: Vec<_> = out
        .envelopes
        .iter()
        .filter_map(|envelope| match &envelope.event.kind {
            Kind::AgentStart(start) => Some((
                envelope.event.agent.as_ref().map(|agent| agent.as_str().to_owned()),
                start.tool.as_ref().map(|tool| tool.as_str().to_owned()),
                start.name.as_deref().map(str::to_owned),
            )),
            _ => None,
        })
        .collect();
    let start = |agent: &str, tool: &str, name: &str| {
        (Some(agent.to_owned()), Some(tool.to_owned()), Some(name.to_owned()))
    };
    assert_eq!(starts, [start("tools:u1", "c1", "s1"), start("tools:u0", "c0", "s0")]);
    assert_eq!(NAME, "langgraph");
}

/// A message of the model that calls `look`, as a node's update.
const ASKS: &str = "[[],\"updates\",{\"model\":{\"messages\":[{\"type\":\"ai\",\"id\":\"m1\",\"content\":\"\",\"tool_calls\":[{\"name\":\"look\",\"args\":{\"at\":\"sea\"},\"id\":\"c1\"}]}]}}]\n";
/// The result of that call.
const GIVES: &str = "[[],\"updates\",{\"tools\":{\"messages\":[{\"type\":\"tool\",\"id\":\"t1\",\"tool_call_id\":\"c1\",\"content\":\"blue\"}]}}]\n";

fn errors(out: &Decoded) -> Vec<(String, String)> {
    let errors = out.envelopes.iter().filter_map(|envelope| match &envelope.event.kind {
        Kind::Error(fact) => Some((fact.code.to_string(), fact.message.clone())),
        _ => None,
    });
    errors.collect()
}

#[test]
fn a_stream_that_stops_at_a_call_has_failed() {
    let out = decoded([ASKS.to_owned()]);
    assert_eq!(ends_as(&out), Some(RunStatus::Error));
    let message = String::from("the stream ended before the call of look had a result");
    assert_eq!(errors(&out), [(String::from("no_result"), message)]);
    // Not where the call has its result, a person is asked, or the graph stops at a breakpoint.
    assert_eq!(ends_as(&decoded([ASKS, GIVES].map(str::to_owned))), Some(RunStatus::Complete));
    for stop in ["[]", "[{\"value\":\"may I?\",\"id\":\"i1\"}]"] {
        let stop = format!("[[],\"updates\",{{\"__interrupt__\":{stop}}}]\n");
        let out = decoded([ASKS.to_owned(), stop]);
        assert_eq!((ends_as(&out), errors(&out).len()), (Some(RunStatus::Complete), 0), "{out:?}");
    }
    // A model that speaks again got what it asked for, whoever did not say so.
    let speaks = ASKS.replace("m1", "m2").replace("tool_calls", "no_calls").replace("\"\"", "\"So.\"");
    assert_eq!(ends_as(&decoded([ASKS.to_owned(), speaks])), Some(RunStatus::Complete));
}

#[test]
fn a_task_says_when_a_call_runs_and_why_it_failed() {
    let begins = "[[],\"tasks\",{\"id\":\"k1\",\"name\":\"tools\",\"input\":[{\"name\":\"look\",\"args\":{\"at\":\"sea\"},\"id\":\"c1\",\"type\":\"tool_call\"}],\"triggers\":[]}]\n";
    let plain = "[[],\"tasks\",{\"id\":\"k1\",\"name\":\"tools\",\"error\":\"ValueError('fog')\",\"result\":{},\"interrupts\":[]}]\n";
    let dumped = plain.replace(
        "\"ValueError('fog')\"",
        "{\"lc\":1,\"type\":\"not_implemented\",\"id\":[\"builtins\",\"ValueError\"],\"repr\":\"ValueError('fog')\"}",
    );
    let debug = |line: &str| {
        line.replace("\"tasks\",{", "\"debug\",{\"type\":\"task\",\"payload\":{").replace("}]\n", "}}]\n")
    };
    let fact = (String::from("ValueError"), String::from("ValueError('fog')"));
    for lines in [
        [ASKS.to_owned(), begins.to_owned(), plain.to_owned()],
        [ASKS.to_owned(), begins.to_owned(), dumped],
        [ASKS.to_owned(), debug(begins), debug(plain)],
    ] {
        let out = decoded(lines);
        assert_eq!((ends_as(&out), errors(&out)), (Some(RunStatus::Error), vec![fact.clone()]), "{out:?}");
        let runs = |kind: &Kind| matches!(kind, Kind::ToolState(it) if it.state == ToolState::Executing);
        assert_eq!(count(&out, runs), 1);
        let fails =
            |kind: &Kind| matches!(kind, Kind::ToolResult(it) if it.is_error && it.tool.as_str() == "c1");
        assert_eq!(count(&out, fails), 1);
    }
    // What fails inside of a sub-graph may be caught.
    let inside = plain.replace("[[],", "[[\"tools:k9\"],");
    let out = decoded([ASKS, begins, inside.as_str(), GIVES].map(str::to_owned));
    assert_eq!((ends_as(&out), errors(&out).len()), (Some(RunStatus::Complete), 0), "{out:?}");
}

#[test]
fn a_call_that_is_executed_leaves_the_unfinished_one_beside_it_open() {
    let chunk = |calls: &str| {
        format!(
            "{{\"event\":\"on_chat_model_stream\",\"run_id\":\"m1\",\"name\":\"M\",\"metadata\":{{}},\"parent_ids\":[\"g\"],\
             \"data\":{{\"chunk\":{{\"content\":\"\",\"type\":\"AIMessageChunk\",\"id\":\"m1\",\"tool_call_chunks\":[{calls}]}}}}}}\n"
        )
    };
    let one = r#"{"name":"clock","args":"{\"zone\":\"UTC\"}","id":"c1","index":0,"type":"tool_call_chunk"}"#;
    let half = r#"{"name":"clock","args":"{\"zo","id":"c2","index":1,"type":"tool_call_chunk"}"#;
    let rest = r#"{"name":null,"args":"ne\":\"CET\"}","id":null,"index":1,"type":"tool_call_chunk"}"#;
    let starts = "{\"event\":\"on_tool_start\",\"run_id\":\"x1\",\"name\":\"clock\",\"metadata\":{},\"parent_ids\":[\"g\"],\
                  \"data\":{\"input\":{\"zone\":\"UTC\"}}}\n";
    let out = decoded([chunk(one), chunk(half), starts.to_owned(), chunk(rest)]);
    let calls = out.envelopes.iter().filter_map(|envelope| match &envelope.event.kind {
        Kind::ToolCall { tool, .. } => Some(tool.as_str()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["c1", "c2"]);
}
