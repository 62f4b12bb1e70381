//! Streams that no fixture can show: long ones, and ones that never end anything.

use super::{AGENTS_MAX, decoder};
use crate::{DecodeOptions, Decoded};
use model::event::Kind;
use model::limits::ITEMS_PER_RUN_MAX;

fn decoded(objects: impl IntoIterator<Item = String>) -> Decoded {
    let mut out = Decoded::default();
    let mut decoder = decoder(DecodeOptions::default());
    for object in objects {
        decoder.feed(object.as_bytes(), &mut out);
    }
    decoder.end(&mut out);
    out
}

fn count(out: &Decoded, is_wanted: fn(&Kind) -> bool) -> usize {
    out.envelopes.iter().filter(|envelope| is_wanted(&envelope.event.kind)).count()
}

#[test]
fn members_over_the_limit_are_left_out() {
    let said = |n: usize| {
        format!("{{\"event\":\"RunContent\",\"run_id\":\"r{n}\",\"parent_run_id\":\"t\",\"content\":\"x\"}}")
    };
    let out = decoded((0..AGENTS_MAX + 10).map(said));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::AgentStart(_))), AGENTS_MAX);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::PartEnd(_))), AGENTS_MAX);
    assert_eq!(count(&out, |kind| matches!(kind, Kind::RunEnd(_))), 1);
}

#[test]
fn calls_over_the_limit_are_left_out() {
    let call = |n: usize| {
        format!(
            "{{\"event\":\"ToolCallStarted\",\"run_id\":\"r\",\"tool\":{{\"tool_call_id\":\"c{n}\",\"tool_name\":\"f\"}}}}"
        )
    };
    let out = decoded((0..ITEMS_PER_RUN_MAX + 10).map(call));
    assert_eq!(count(&out, |kind| matches!(kind, Kind::ToolCall { .. })), ITEMS_PER_RUN_MAX);
}
