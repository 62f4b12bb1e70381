//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::decoder;
use crate::{DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, ToolState};
use model::limits::ITEMS_PER_RUN_MAX;

fn decoded(pieces: impl Iterator<Item = String>) -> Decoded {
    let (mut decoder, mut out) = (decoder(DecodeOptions::default()), Decoded::default());
    for piece in pieces {
        decoder.feed(piece.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    out
}

fn event(kind: &str, rest: &str) -> String {
    format!("data: {{\"type\":\"response.{kind}\",{rest}}}\n\n")
}

fn count(out: &Decoded, wanted: impl Fn(&Kind) -> bool) -> usize {
    out.envelopes.iter().filter(|envelope| wanted(&envelope.event.kind)).count()
}

fn too_many(out: &Decoded) -> usize {
    count(out, |kind| matches!(kind, Kind::Anomaly(anomaly) if anomaly.code == AnomalyCode::TooMany))
}

#[test]
fn items_over_the_limit_are_one_oddity() {
    let item = r#""item":{"type":"function_call","call_id":"c","name":"f","arguments":""}"#;
    let added = (0..ITEMS_PER_RUN_MAX + 10)
        .map(|n| event("output_item.added", &format!("\"output_index\":{n},{item}")));
    let deltas = (0..ITEMS_PER_RUN_MAX + 10)
        .rev()
        .take(20)
        .map(|n| event("function_call_arguments.delta", &format!("\"output_index\":{n},\"delta\":\"{{}}\"")));
    let out = decoded(added.chain(deltas));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolStart(_))), ITEMS_PER_RUN_MAX);
    assert_eq!(too_many(&out), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunEnd(_))), 1);
}

#[test]
fn parts_of_one_item_over_the_limit_are_one_oddity() {
    let delta = |n: usize| {
        event("output_text.delta", &format!("\"output_index\":0,\"content_index\":{n},\"delta\":\"a\""))
    };
    let start = event("output_item.added", r#""output_index":0,"item":{"type":"message"}"#);
    let out = decoded(std::iter::once(start).chain((0..ITEMS_PER_RUN_MAX + 10).map(delta)));
    // The item counts too.
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartStart { .. })), ITEMS_PER_RUN_MAX - 1);
    assert_eq!(too_many(&out), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartEnd(_))), ITEMS_PER_RUN_MAX - 1);
}

#[test]
fn a_call_that_repeats_its_end_is_told_once() {
    let item = |status: &str| {
        format!(
            r#""output_index":0,"item":{{"type":"web_search_call","id":"ws","status":"{status}","action":{{"query":"q"}}}}"#
        )
    };
    let out = decoded(
        [
            event("output_item.added", &item("in_progress")),
            event("output_item.done", &item("completed")),
            event("output_item.done", &item("completed")),
        ]
        .into_iter(),
    );
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolResult(_))), 1);
}

/// A call, the item that the caller answers it with, and the response that follows.
fn loop_of_two(options: DecodeOptions) -> Decoded {
    let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    let whole = r#""response":{"status":"completed"}"#;
    let line = |text: String| format!("{text}\n");
    let fact = |kind: &str, rest: &str| line(format!("{{\"type\":\"response.{kind}\",{rest}}}"));
    let lines = [
        fact("created", r#""response":{}"#),
        fact("output_item.done", &format!("\"output_index\":0,\"item\":{call}")),
        fact("completed", whole),
        line(String::from(r#"{"type":"function_call_output","call_id":"c","output":"done"}"#)),
        line(String::from(r#"{"type":"function_call_output","call_id":"of nobody","output":"done"}"#)),
        fact("created", r#""response":{}"#),
        fact("output_text.delta", r#""output_index":0,"content_index":0,"delta":"fine""#),
        fact("completed", whole),
    ];
    let (mut decoder, mut out) = (decoder(options), Decoded::default());
    for line in lines {
        decoder.feed(line.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    out
}

#[test]
fn an_item_between_two_responses_is_the_result_of_its_call() {
    let out = loop_of_two(DecodeOptions::default());
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolResult(_))), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunStart(_))), 2);
    let result = out.envelopes.iter().find(|envelope| matches!(envelope.event.kind, Kind::ToolResult(_)));
    assert_eq!(result.map(|envelope| envelope.event.run.as_str()), Some("r1"));
}

#[test]
fn a_run_that_goes_on_holds_all_responses_of_its_stream() {
    let out = loop_of_two(DecodeOptions { run_goes_on: true, ..DecodeOptions::default() });
    assert!(out.envelopes.iter().all(|envelope| envelope.event.run.as_str() == "r1"));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunStart(_))), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunEnd(_))), 1);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolResult(_))), 1);
}

#[test]
fn a_handoff_is_complete_when_the_agent_that_took_over_speaks() {
    let line = |kind: &str, rest: &str| format!("{{\"type\":\"response.{kind}\",{rest}}}\n");
    let call = |name: &str| {
        let item = format!(
            r#""output_index":0,"item":{{"type":"function_call","call_id":"c","name":"{name}","arguments":"{{}}"}}"#
        );
        let created = line("created", r#""response":{}"#);
        [created, line("output_item.done", &item), line("completed", r#""response":{"status":"completed"}"#)]
            .concat()
    };
    let next = line("created", r#""response":{}"#);
    let output = "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"{}\"}\n".to_owned();
    let ended = |lines: &[String]| {
        let out = decoded(lines.iter().cloned());
        let is_end = |kind: &Kind| matches!(kind, Kind::ToolState(it) if it.state == ToolState::Complete);
        (count(&out, is_end), count(&out, |kind| matches!(kind, Kind::ToolResult(_))))
    };
    let handoff = call("transfer_to_billing");
    assert_eq!(ended(&[handoff.clone(), next.clone(), next.clone()]), (1, 0));
    assert_eq!(ended(&[handoff.clone(), output, next.clone()]), (0, 1), "its own result says more");
    assert_eq!(ended(&[handoff]), (0, 0), "nobody took over");
    assert_eq!(ended(&[call("look"), next]), (0, 0), "no handoff");
}
