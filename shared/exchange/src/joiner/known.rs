//! What a conversation has already of what a request says: it may be there from a time that the joiner does not remember.

use super::Placement;
use model::envelope::Envelope;
use model::event::{Kind, Message};
use model::view::View;

impl Placement {
    /// Leaves out what the conversation, which is `view`, has already: its history, its title, and the system prompt where
    /// that is the same as before. An empty conversation has nothing. Call it for a conversation that the joiner knew
    /// nothing of, before the events are appended.
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

/// The system prompt, when that is what is said.
fn prompt(envelope: &Envelope) -> Option<&str> {
    match &envelope.event.kind {
        Kind::Message(Message { message, role, text })
            if role == "system" && message.as_str().ends_with("-system") =>
        {
            Some(text)
        }
        _ => None,
    }
}

fn has_prompt(view: &View, text: &str) -> bool {
    view.messages.values().any(|message| message.role == "system" && message.text == text)
}
