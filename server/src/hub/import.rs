//! Conversations that come from elsewhere as a whole.

use std::sync::Arc;

use shared::{ConversationId, Envelope, Position, View};

use super::{AppendError, Conversation, Hub, OpenError, outsize};
use crate::log::{Attachment, Ticket, blocking};

/// What was said in a conversation.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The state that the events go on from, and when its newest event was taken, in milliseconds since 1970.
    pub(crate) state: Option<(View, u64)>,
    /// The events: their seqs follow one another, from 1 or from the state's on.
    pub(crate) envelopes: Vec<Envelope>,
    /// Results that are too large for their events; the hub takes them out.
    pub(super) attachments: Vec<Attachment>,
}

impl History {
    /// All that was said.
    pub(crate) fn of(envelopes: Vec<Envelope>) -> Self {
        Self { envelopes, ..Self::default() }
    }
}

/// What was imported.
#[derive(Debug)]
pub(crate) struct Imported {
    /// Where the conversation stands.
    pub(crate) position: Position,
    /// How many events were taken.
    pub(crate) events: u64,
    /// How many oddities are in it.
    pub(crate) anomalies: u64,
    /// What to wait for, for more than memory.
    pub(crate) ticket: Ticket,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// There is a conversation of that name, and something was said in it.
    #[error("the conversation has events already")]
    Exists,
    /// The conversation cannot be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Hub {
    /// Makes the conversation `id` of `history`, in an epoch of its own. Takes a while for a long one.
    pub(crate) fn import(&self, id: &ConversationId, mut history: History) -> Result<Imported, ImportError> {
        let events = history.envelopes.len() as u64;
        let large = history.envelopes.iter_mut().filter_map(|it| outsize::shorten(&mut it.event));
        history.attachments = large.collect();
        loop {
            let conversation = self.open(id)?;
            let taken = blocking(|| conversation.import(&mut history, self.log()));
            if matches!(taken, Err(AppendError::Retired)) {
                // It was dropped after it was found: the next round finds or makes another.
                continue;
            }
            self.release(&conversation);
            let ticket = taken?.ok_or(ImportError::Exists)?;
            self.touch(&conversation);
            return Ok(imported(&conversation, events, ticket));
        }
    }
}

fn imported(conversation: &Arc<Conversation>, events: u64, ticket: Ticket) -> Imported {
    let (seq, anomalies) = conversation.look(|view| (view.seq, view.anomalies.total));
    let position = Position { epoch: conversation.epoch().clone(), seq };
    Imported { position, events, anomalies, ticket }
}
