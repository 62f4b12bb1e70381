//! Secrets do not enter a conversation: whole texts are redacted before it is locked, deltas in it, and what waits for its next delta goes on
//! in time.

use std::sync::Arc;

use event_log::Ticket;
use model::{ConversationId, Envelope};
use redact::{EventStreams, Redactor};

use super::conversation::WithheldScope;
use super::{AppendError, Appended, Conversation, History, Hub, WITHHELD_MS};
use crate::clock;

impl Hub {
    /// Makes the hub mark the secrets in what comes in.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Option<Arc<Redactor>>) -> Self {
        self.redactor = redactor;
        self
    }

    /// Marks the secrets in what comes in; nothing where that is not wanted.
    pub fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.redactor.as_ref()
    }

    /// Marks the secrets in the texts of `events` that are whole.
    pub(super) fn redact(&self, events: &mut [Envelope]) {
        let Some(redactor) = &self.redactor else { return };
        for envelope in events {
            redactor.event(&mut envelope.event);
        }
    }

    /// Marks the secrets in a history from elsewhere. Its events stay as many as they are.
    pub(super) fn redact_history(&self, history: &mut History) {
        let Some(redactor) = &self.redactor else { return };
        if let Some((view, _)) = &mut history.state {
            redactor.view(view);
        }
        self.redact(&mut history.envelopes);
        EventStreams::default().take_history(redactor, &mut history.envelopes);
    }

    /// Sees to it that what was withheld goes on in time.
    pub(super) fn look_at_withheld(
        &self,
        conversation: &Conversation,
        appended: &Result<Appended, AppendError>,
    ) {
        if appended.as_ref().is_ok_and(|appended| appended.withheld.is_some()) {
            self.orphans.look_at(conversation.id(), clock::now_ms().saturating_add(WITHHELD_MS));
        }
    }

    /// Lets what `conversation` withholds since long go on; whether anything did.
    pub(super) fn release_overdue(&self, conversation: &Conversation, now: u64) -> bool {
        let Some(redactor) = &self.redactor else { return false };
        let released = conversation.release_texts(now, WithheldScope::Overdue, self.log(), redactor);
        if let Some(next) = released.next {
            self.orphans.look_at(conversation.id(), next);
        }
        released.any
    }

    /// Lets all that the conversation `id` withholds go on at once: whoever published it has no more to say for now. The ticket is that of
    /// all that was appended to it.
    pub fn release_withheld(&self, id: &ConversationId) -> Ticket {
        let known = self.conversations.get(id).map(|found| Arc::clone(&found));
        let (Some(conversation), Some(redactor)) = (known, &self.redactor) else { return Ticket::default() };
        let released = conversation.release_texts(clock::now_ms(), WithheldScope::All, self.log(), redactor);
        if released.any {
            self.touch(&conversation);
        }
        released.ticket
    }

    /// Lets all that is withheld go on at once, in every conversation. The hub stops.
    pub fn release_all_withheld(&self) {
        let all: Vec<_> = self.conversations.iter().map(|found| found.key().clone()).collect();
        for id in all {
            self.release_withheld(&id);
        }
    }
}
