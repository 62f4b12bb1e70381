//! Streams that no fixture can show: long ones, and ones that never end anything.

use super::{NAME, decoder};
use crate::dialect::{DecodeOptions, Decoded};
use crate::event::{Kind, RunStatus};
use crate::limits::ITEMS_PER_RUN_MAX;

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
