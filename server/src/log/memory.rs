//! The log in memory: for tests and throw-away demos. It keeps the newest events of each conversation, as many as the
//! ring of a live one, and promises nothing beyond the life of the process.

use std::sync::Arc;

use dashmap::DashMap;
use shared::frame::Durability;
use shared::{ConversationId, Envelope, Epoch, Position, Seq};

use super::{EventLog, LogError, Page};
use crate::ring::Ring;
use crate::weigh::weigh;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    conversations: DashMap<ConversationId, Kept>,
}

#[derive(Debug)]
struct Kept {
    epoch: Epoch,
    ring: Ring,
}

impl EventLog for MemoryLog {
    fn durability(&self) -> Durability {
        Durability::Memory
    }

    fn append(
        &self,
        conversation: &ConversationId,
        after: &Position,
        envelopes: &[Arc<Envelope>],
    ) -> Result<Seq, LogError> {
        if envelopes.is_empty() {
            return Ok(after.seq);
        }
        let known = self.conversations.get_mut(conversation);
        let mut kept = known.unwrap_or_else(|| {
            let empty = Kept { epoch: after.epoch.clone(), ring: Ring::default() };
            self.conversations.entry(conversation.clone()).or_insert(empty)
        });
        if kept.epoch != after.epoch {
            return Err(LogError::Unknown);
        }
        if kept.ring.head() != after.seq {
            return Err(LogError::Conflict { found: kept.ring.head(), expected: after.seq });
        }
        for envelope in envelopes {
            kept.ring.push(Arc::clone(envelope), weigh(envelope));
        }
        Ok(kept.ring.head())
    }

    fn read(&self, conversation: &ConversationId, after: &Position, limit: usize) -> Result<Page, LogError> {
        let kept = self.conversations.get(conversation).ok_or(LogError::Unknown)?;
        if kept.epoch != after.epoch {
            return Err(LogError::Unknown);
        }
        if !kept.ring.reaches(after.seq) {
            return Err(LogError::Gone { begins_after: kept.ring.begins_after() });
        }
        Ok(Page { envelopes: kept.ring.page(after.seq, limit), head: kept.ring.head() })
    }
}

#[cfg(test)]
mod tests;
