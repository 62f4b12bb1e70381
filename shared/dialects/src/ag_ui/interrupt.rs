//! Runs that end because a person has to say something first.

use super::calls::Calls;
use crate::Decoded;
use crate::field::{Field, Fields};
use crate::writer::Writer;
use model::event::Kind;

/// Tells what an `outcome` asks of a person; whether it asks anything.
pub(super) fn tell(outcome: Field<'_>, calls: &Calls, w: &mut Writer, out: &mut Decoded) -> bool {
    let fields = Fields::of(outcome);
    let kind = fields.get("type").word().or_else(|| outcome.word());
    if kind.as_deref() != Some("interrupt") {
        return false;
    }
    for interrupt in fields.get("interrupts").list() {
        w.custom("interrupt", interrupt, None, out);
        let asked = Fields::of(interrupt);
        let Some(id) = asked.get("toolCallId").words() else { continue };
        if calls.is_waiting(&id) && w.knows_call(&id) {
            let text = asked.any(&["message", "reason"]).word().map(std::borrow::Cow::into_owned);
            w.push(Kind::ApprovalRequest { tool: w.tool_id(&id), text }, out);
        }
    }
    true
}
