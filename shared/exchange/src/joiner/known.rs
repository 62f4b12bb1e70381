//! Removes from a placement what the conversation has already: the conversation may be older than what the
//! joiner remembers.

use super::Placement;
use model::envelope::Envelope;
use model::event::{Kind, Message};
use model::view::View;

impl Placement {
    /// Removes the events that the conversation with this `view` has already: its history, its title, and the
    /// system prompt if that is unchanged. Nothing is removed for an empty conversation. Call it for a
    /// conversation that the joiner knew nothing of, before the events are appended.
    pub fn leave_out(&mut self, view: &View) {
        if view.messages.is_empty() && view.runs.is_empty() {
            return;
        }
        let history = std::mem::take(&mut self.history);
        let mut place = 0_usize;
        self.events.envelopes.retain(|envelope| {
            let is_history = history.contains(&place);
            place = place.saturating_add(1);
            match prompt(envelope) {
                Some(text) => !has_prompt(view, text),
                None => !is_history,
            }
        });
        if view.title.is_some() {
            for envelope in &mut self.events.envelopes {
                if let Kind::RunStart(start) = &mut envelope.event.kind {
                    start.title = None;
                }
            }
        }
    }
}

/// The system prompt, if the event is that.
fn prompt(envelope: &Envelope) -> Option<&str> {
    match &envelope.event.kind {
        Kind::Message(Message { message, role, text, .. })
            if role == "system" && message.as_str().ends_with("-system") =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// Whether the conversation has a system message with this text.
fn has_prompt(view: &View, text: &str) -> bool {
    view.messages.values().any(|message| message.role == "system" && message.text == text)
}
