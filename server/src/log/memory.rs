//! The log in memory: for tests and throw-away demos. It keeps the newest events of each conversation, as many as the
//! ring of a live one, and promises nothing beyond the life of the process.

use std::collections::VecDeque;
use std::sync::Arc;

use dashmap::DashMap;
use shared::frame::Durability;
use shared::limits::{RING_BYTES_MAX, RING_EVENTS_MAX};
use shared::{ConversationId, Envelope, Epoch, Position, Seq};

use super::{EventLog, LogError, Page};
use crate::weigh::weigh;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    conversations: DashMap<ConversationId, Kept>,
}

#[derive(Debug)]
struct Kept {
    epoch: Epoch,
    head: Seq,
    bytes: usize,
    envelopes: VecDeque<Arc<Envelope>>,
}

impl Kept {
    fn begins_after(&self) -> Seq {
        self.head - self.envelopes.len() as Seq
    }

    fn push(&mut self, envelope: &Arc<Envelope>) {
        self.head += 1;
        self.bytes += weigh(envelope);
        self.envelopes.push_back(Arc::clone(envelope));
        while self.envelopes.len() > RING_EVENTS_MAX || self.bytes > RING_BYTES_MAX {
            let Some(dropped) = self.envelopes.pop_front() else { break };
            self.bytes -= weigh(&dropped);
        }
    }
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
            let empty = Kept { epoch: after.epoch.clone(), head: 0, bytes: 0, envelopes: VecDeque::new() };
            self.conversations.entry(conversation.clone()).or_insert(empty)
        });
        if kept.epoch != after.epoch {
            return Err(LogError::Unknown);
        }
        if kept.head != after.seq {
            return Err(LogError::Conflict { found: kept.head, expected: after.seq });
        }
        for envelope in envelopes {
            kept.push(envelope);
        }
        Ok(kept.head)
    }

    fn read(&self, conversation: &ConversationId, after: &Position, limit: usize) -> Result<Page, LogError> {
        let kept = self.conversations.get(conversation).ok_or(LogError::Unknown)?;
        if kept.epoch != after.epoch {
            return Err(LogError::Unknown);
        }
        let begins_after = kept.begins_after();
        let skip = after.seq.checked_sub(begins_after).ok_or(LogError::Gone { begins_after })?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let envelopes = kept.envelopes.iter().skip(skip).take(limit).cloned().collect();
        Ok(Page { envelopes, head: kept.head })
    }
}

#[cfg(test)]
mod tests;
