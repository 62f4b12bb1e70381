//! Where events are kept: the contract that every log fulfils.
//!
//! A conversation's events are appended in order, each append naming the head that it continues, so that two writers
//! can never both succeed. `append` is called under the conversation's lock and must not wait for a disk or a network:
//! a log that writes takes the events into its own bounded queue, and whoever needs more than memory waits for the
//! durable position. Viewers never read the log; they are served from the ring, or by a snapshot.

use std::sync::Arc;

use shared::frame::Durability;
use shared::{ConversationId, Envelope, Position, Seq};

mod memory;

pub(crate) use memory::MemoryLog;

/// Why a log did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LogError {
    /// The append does not continue the log.
    #[error("the log stands at {found}, the append continues {expected}")]
    Conflict {
        /// Where the log stands.
        found: Seq,
        /// What the append continues.
        expected: Seq,
    },
    /// The conversation is not here, or in another life.
    #[error("the log does not know this conversation")]
    Unknown,
    /// The log no longer has what comes after that position.
    #[error("the log begins after seq {begins_after}")]
    Gone {
        /// Everything after it is there.
        begins_after: Seq,
    },
}

/// Events of one conversation, read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The events, without a hole.
    pub(crate) envelopes: Vec<Arc<Envelope>>,
    /// The newest seq that the log has.
    pub(crate) head: Seq,
}

/// A log of conversations.
pub(crate) trait EventLog: std::fmt::Debug + Send + Sync {
    /// The most that this log can promise (invariant I9).
    fn durability(&self) -> Durability;

    /// Takes `envelopes`, which continue `after`. Says where the log stands then, at the level
    /// [`Durability::Memory`].
    fn append(
        &self,
        conversation: &ConversationId,
        after: &Position,
        envelopes: &[Arc<Envelope>],
    ) -> Result<Seq, LogError>;

    /// Up to `limit` events after `after`.
    fn read(&self, conversation: &ConversationId, after: &Position, limit: usize) -> Result<Page, LogError>;
}
