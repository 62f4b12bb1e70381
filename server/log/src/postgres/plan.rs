//! A group of operations as the rows that they come to: pure, so that a transaction is a handful of statements, whatever the number of
//! operations and conversations.
//!
//! ```text
//! operation             rows
//! Append                change of the conversation, blocks, marks, documents, results, calls, measurements
//! Keep                  the same for events that it brings; the state at once if it fills a hole, else by the packer
//! View, Rows, Compact   the state, the row of the list, the blocks, if the conversation still has that key
//! Stage, Adopt          rows under a key that no conversation has; then the conversation with that key
//! Release               the row of the owner
//! Remove                nothing that the group would have written of it, and its removal
//! ```
//!
//! Events of one conversation in a group become one run of blocks, written when the whole group is planned.
//! What a later operation replaces is not written at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compact_str::CompactString;
use indexmap::IndexMap;
use model::{ConversationId, Envelope, Epoch, PublisherId, Seq};

#[cfg(doc)]
use crate::documents::clean;
use crate::measure::MeasureCounts;
use crate::ops::Block;
use crate::rows::StoredRow;
use crate::tools::ToolCallCounts;

mod planner;

pub(super) use planner::{Planner, StatePacking};

/// What a transaction does beside the rows that it writes. It is acted upon once the transaction is committed.
#[derive(Debug, Default)]
pub(super) struct PlanEffects {
    /// The number of conversations that are new.
    pub(super) made: u64,
    /// The number of conversations that were removed.
    pub(super) removed: u64,
    /// Appends that do not continue what is written of their conversations, and where that ends.
    pub(super) misfits: Vec<(u64, Seq)>,
    /// Tickets of the operations that are left out.
    pub(super) lost: Vec<u64>,
    /// Conversations, with their keys, whose blocks can be packed together.
    pub(super) ripe: Vec<(ConversationId, i64)>,
    /// The operations that keep a state which is not packed yet, with the keys of their conversations.
    pub(super) to_pack: HashMap<u64, i64>,
}

/// A change of a conversation's row.
#[derive(Debug)]
pub(super) struct RowChange {
    /// The name of the conversation.
    pub(super) id: ConversationId,
    /// Where it stood before; nothing for a new one.
    pub(super) before: Option<Seq>,
    /// The epoch that it is in afterwards.
    pub(super) epoch: Epoch,
    /// The newest seq afterwards.
    pub(super) head: Seq,
    /// When its newest event was taken, in milliseconds since 1970; 0 leaves it as it is.
    pub(super) at: u64,
    /// Whether this life wrote it. `None` if the contents were only stored in another form, which must not
    /// make a torn conversation whole.
    pub(super) life: Option<i64>,
    /// How many blocks it has afterwards that can be packed together.
    pub(super) loose: usize,
    /// Bytes that it takes more.
    pub(super) bytes: i64,
    /// The events that the group has of it, not yet made into blocks.
    envelopes: Vec<Arc<Envelope>>,
    /// How many runs end in these events: then it is a good time to pack the blocks.
    ended: u64,
}

/// The key of a document. Conversation, run, kind and item.
pub(super) type DocumentKey = (i64, CompactString, &'static str, CompactString);

/// A document as it is written, beside its key.
#[derive(Debug)]
pub(super) struct DocumentRow {
    /// The tool, or the role of a message.
    pub(super) name: CompactString,
    /// The event that completed the text.
    pub(super) seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub(super) at: u64,
    /// The text, as [`clean`] prepared it.
    pub(super) body: String,
}

/// The rows of one transaction, by the keys of their conversations. [`super::batch::Batch`] makes statements
/// of it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The rows of conversations, in the order in which the group first named them.
    pub(super) changes: IndexMap<i64, RowChange>,
    /// Blocks of events, uncompressed.
    pub(super) blocks: Vec<(i64, Block)>,
    /// Large results by conversation and hash.
    pub(super) attachments: IndexMap<(i64, CompactString), Arc<str>>,
    /// Texts for the search, the newest of each item last.
    pub(super) documents: IndexMap<DocumentKey, DocumentRow>,
    /// By conversation and publisher: the publisher's epoch and number, and the turn of the operation.
    pub(super) marks: IndexMap<(i64, PublisherId), (u64, u64, i64)>,
    /// Conversations whose marks are deleted before `marks` is written.
    pub(super) cleared: HashSet<i64>,
    /// Conversations whose oldest marks beyond the bound are deleted.
    pub(super) trimmed: HashSet<i64>,
    pub(super) views: IndexMap<i64, (Seq, Vec<u8>)>,
    /// Rows of the list.
    pub(super) rows: IndexMap<i64, StoredRow>,
    pub(super) removed: Vec<i64>,
    /// Conversations whose blocks are replaced: the first seqs of those that go, and the blocks that come.
    pub(super) compacted: Vec<(i64, Vec<i64>, Block)>,
    pub(super) calls: ToolCallCounts,
    /// Measurements, by the rows that they change.
    pub(super) measures: MeasureCounts,
    /// Imports under way: the key, the number, and the bytes and head that they have now.
    pub(super) staged: IndexMap<i64, (u64, i64, Seq)>,
    /// Imports that became conversations.
    pub(super) adopted: Vec<i64>,
    /// The keys of imports that go.
    pub(super) abandoned: Vec<i64>,
    /// Conversations that the life gives up.
    pub(super) released: Vec<ConversationId>,
    pub(super) outcome: PlanEffects,
}
