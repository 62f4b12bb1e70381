//! Runs that end because a person has to answer first (`outcome` with the type `interrupt`). The answers are
//! in the input of the next run, which is not part of the stream.

use super::calls::AgUiCalls;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::EventWriter;
use model::event::Kind;

/// Writes what an `outcome` asks of a person: each interrupt as a custom event, and an approval request if it
/// is about an open call. Returns whether the outcome is an interrupt.
pub(super) fn tell(
    outcome: ForeignField<'_>,
    calls: &AgUiCalls,
    w: &mut EventWriter,
    out: &mut Decoded,
) -> bool {
    let fields = ForeignFields::of(outcome);
    let kind = fields.get("type").word().or_else(|| outcome.word());
    if kind.as_deref() != Some("interrupt") {
        return false;
    }
    for interrupt in fields.get("interrupts").list() {
        w.custom("interrupt", interrupt, None, out);
        let asked = ForeignFields::of(interrupt);
        let Some(id) = asked.get("toolCallId").words() else { continue };
        if calls.is_waiting(&id) && w.knows_call(&id) {
            let text = asked.any(&["message", "reason"]).word().map(std::borrow::Cow::into_owned);
            w.push(Kind::ApprovalRequest { tool: w.tool_id(&id), text }, out);
        }
    }
    true
}
