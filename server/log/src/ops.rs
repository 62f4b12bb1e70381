//! Operations: the work of the writer. Every call of [`crate::EventLog`] that writes becomes one [`Op`] in
//! the queue, with a ticket. The writer takes them in order and turns a group of them into one transaction.
//!
//! ```text
//! append ─▶ Append      keep ─▶ Keep ─▶ (packer) ─▶ View      stage ─▶ Stage …, adopt ─▶ Adopt, abandon ─▶ Abandon
//! put_rows ─▶ Rows      remove ─▶ Remove, purge ─▶ Purge      sync ─▶ Sync
//! load, in a new epoch ─▶ Rename     release ─▶ Release       (packer) ─▶ Compact
//! ```

use std::sync::Arc;

use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Envelope, Epoch, Position};

use crate::views;
use crate::{
    Append, Attachment, Checkpoint, EndedToolCall, ImportId, Measurement, PublisherMark, SearchDocument,
};
use model::weigh::weigh;

/// An operation in the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The number of the operation. Numbers rise by 1 in the order of the queue and are never used twice in one life of the log.
    pub(crate) ticket: u64,
    /// The memory that it counts for, in bytes. They are counted against the queue's bound until the
    /// operation is written.
    pub(crate) bytes: usize,
    /// The bytes of texts that it shares with the state of its conversation and that are written with it. They are counted
    /// against a bound of their own until the writer takes the operation.
    pub(crate) shared_bytes: usize,
    /// The way in which it gets into the database.
    pub(crate) write_path: WritePath,
    /// The operation that is queued.
    pub(crate) op: Op,
}

/// How an operation gets into the database, and when it counts as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritePath {
    /// The operation is stored once it is in the journal ([`JournalOp`]). It becomes rows later.
    Journal,
    /// The operation only saves time or space: losing it loses nothing, and what comes after it does not wait for it. Its ticket counts as stored as
    /// soon as everything before it is.
    Optional,
    /// The operation is stored once it is rows, and so is what comes after it.
    Database,
}

/// How much of an operation the queue already had when it came. A checkpoint of which everything is covered
/// only saves time at the next load; one that brings more fills a hole and must be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueuedCoverage {
    /// Everything that the operation contains.
    Whole,
    /// Less than that, or nothing certain.
    Less,
}

/// An operation of the log. Operations are applied in order.
#[derive(Debug)]
pub(crate) enum Op {
    /// Store events with their documents, calls and results.
    Append(Arc<QueuedEvents>),
    /// Store a whole state, which the packer packs later.
    Keep(Box<Checkpoint>),
    /// Store a state that is packed.
    View(Box<PackedView>),
    /// Replace small blocks by a larger one.
    Compact(Box<CompactedBlocks>),
    /// Store rows of the list.
    Rows(Vec<ConversationRow>),
    /// Store a piece of an import, invisibly.
    Stage(ImportId, Arc<QueuedEvents>),
    /// Make a conversation of what was staged.
    Adopt(Box<StagedImport>),
    /// Forget what was staged.
    Abandon(ImportId),
    /// Remove a conversation, with all its rows.
    Remove(ConversationId),
    /// Write the files anew without what is left of a conversation that was removed.
    Purge(ConversationId),
    /// Note the new epoch of a conversation.
    Rename(ConversationId, Epoch),
    /// Give a conversation up, where several hubs share the log: from then on any of them may claim it.
    Release(ConversationId),
    /// Change nothing, but make what came before survive a loss of power.
    Sync,
}

/// An operation as it stands in the journal.
#[derive(Debug, Clone)]
pub(crate) enum JournalOp {
    /// [`Op::Append`].
    Append(Arc<QueuedEvents>),
    /// [`Op::Remove`].
    Remove(ConversationId),
    /// [`Op::Purge`].
    Purge(ConversationId),
}

impl From<JournalOp> for Op {
    fn from(op: JournalOp) -> Self {
        match op {
            JournalOp::Append(events) => Self::Append(events),
            JournalOp::Remove(conversation) => Self::Remove(conversation),
            JournalOp::Purge(conversation) => Self::Purge(conversation),
        }
    }
}

/// The last step of an import: makes a conversation of what was staged, with its state and its calls.
#[derive(Debug)]
pub(crate) struct StagedImport {
    /// The import whose pieces were staged.
    pub(crate) import: ImportId,
    /// The conversation's row in the list, which also names it.
    pub(crate) row: ConversationRow,
    /// The epoch that the conversation begins in.
    pub(crate) epoch: Epoch,
    /// When its newest event was taken, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The newest seq of the conversation. Where the last staged piece ends elsewhere, pieces are missing and nothing is made.
    pub(crate) head: u64,
    /// The packed state at `head`.
    pub(crate) body: Vec<u8>,
    /// The tool calls in it that have ended.
    pub(crate) calls: Vec<EndedToolCall>,
    /// What was measured in it.
    pub(crate) measurements: Vec<Measurement>,
}

impl StagedImport {
    /// Takes the state of `checkpoint` and packs it here, in the calling thread.
    pub(crate) fn of(
        import: ImportId,
        checkpoint: Checkpoint,
        calls: Vec<EndedToolCall>,
        measurements: Vec<Measurement>,
    ) -> Self {
        let Checkpoint { row, epoch, view, at, .. } = checkpoint;
        Self { import, row, epoch, at, head: view.seq, body: views::pack(&view), calls, measurements }
    }
}

/// The owned form of an [`Append`], as it waits in the queue.
#[derive(Debug)]
pub(crate) struct QueuedEvents {
    /// The conversation that the events belong to. For a piece of an import it only serves the trace.
    pub(crate) conversation: ConversationId,
    /// The position that the events continue.
    pub(crate) after: Position,
    /// The events, shared with the conversation's ring. Empty for a frame of ephemeral events.
    pub(crate) envelopes: Vec<Arc<Envelope>>,
    /// How far their publisher has come; stored in the same transaction (invariant I10).
    pub(crate) mark: Option<PublisherMark>,
    /// The durability that was asked for, which decides how they are written ([`Op::write_path`]).
    pub(crate) level: Durability,
    pub(crate) documents: Vec<SearchDocument>,
    pub(crate) calls: Vec<EndedToolCall>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) attachments: Vec<Attachment>,
    /// The memory that it counts for, in bytes, without texts that others had when they were queued.
    pub(crate) bytes: usize,
    /// The bytes of those texts.
    pub(crate) shared_bytes: usize,
}

/// A state that the packer has packed, ready to be written.
#[derive(Debug)]
pub(crate) struct PackedView {
    /// The name that the conversation had when the state was taken.
    pub(crate) conversation: ConversationId,
    /// The key of its row. If the name has another key by now, the state is dropped.
    pub(crate) key: i64,
    /// The seq that the state has folded up to.
    pub(crate) seq: u64,
    /// The state as [`views::pack`] made it.
    pub(crate) body: Vec<u8>,
}

impl PackedView {
    /// Packs the state of the conversation with the key `key`.
    pub(crate) fn of(key: i64, checkpoint: Checkpoint) -> Self {
        let (seq, body) = (checkpoint.view.seq, views::pack(&checkpoint.view));
        Self { conversation: checkpoint.row.conversation, key, seq, body }
    }
}

/// A block that the packer has made of smaller ones, and those that it replaces.
#[derive(Debug)]
pub(crate) struct CompactedBlocks {
    /// The conversation that the block belongs to.
    pub(crate) conversation: ConversationId,
    /// The key of its row when the blocks were read. If it has another by now, nothing is replaced.
    pub(crate) key: i64,
    /// The keys of the rows that go.
    pub(crate) instead_of: Vec<i64>,
    /// The bytes of those rows.
    pub(crate) bytes_before: u64,
    /// The block that comes in their place.
    pub(crate) block: Block,
}

/// A row of the table of events: the events from `first` to `last`, packed into `body`. They have `raw` bytes
/// before compression.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The encoding of `body`.
    pub(crate) encoding: Encoding,
    pub(crate) raw: usize,
    pub(crate) body: Vec<u8>,
}

/// The encoding of the body of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The lines that were packed, as they are.
    Plain,
    /// The lines that were packed, compressed with zlib.
    Zlib,
}

impl QueuedEvents {
    /// Copies an append. The events are shared. The weight is an estimate: texts, results and names by their
    /// lengths, and a fixed amount for each thing.
    pub(crate) fn of(append: Append<'_>) -> Self {
        let Append {
            conversation,
            after,
            envelopes,
            mark,
            level,
            documents,
            calls,
            attachments,
            measurements,
        } = append;
        let events: usize = envelopes.iter().map(|envelope| weigh(envelope)).sum();
        let shared_bytes = shared_bytes(&documents);
        let texts: usize =
            documents.iter().map(|document| document.text.len() + document.name.len() + 128).sum();
        let texts = texts - shared_bytes;
        let called: usize = calls.iter().map(|call| call.name.len() + 64).sum();
        let measured: usize =
            measurements.iter().map(|it| it.agent.len() + it.model.len() + it.tool.len() + 96).sum();
        let results: usize = attachments.iter().map(|attachment| attachment.json.len()).sum();
        Self {
            conversation: conversation.clone(),
            after: after.clone(),
            envelopes: envelopes.to_vec(),
            mark,
            level,
            bytes: 256 + events + texts + results + called + measured,
            shared_bytes,
            documents,
            calls,
            measurements,
            attachments,
        }
    }
}

/// The bytes of the texts of `documents` that others have too.
fn shared_bytes(documents: &[SearchDocument]) -> usize {
    documents.iter().filter(|document| document.text.is_shared()).map(|document| document.text.len()).sum()
}

impl Op {
    /// The conversation that it concerns; `None` if it concerns none or several.
    pub(crate) fn conversation(&self) -> Option<&ConversationId> {
        match self {
            Self::Append(events) => Some(&events.conversation),
            Self::Keep(checkpoint) => Some(&checkpoint.row.conversation),
            Self::View(view) => Some(&view.conversation),
            Self::Compact(compacted) => Some(&compacted.conversation),
            Self::Remove(conversation) | Self::Rename(conversation, _) | Self::Release(conversation) => {
                Some(conversation)
            }
            Self::Adopt(adoption) => Some(&adoption.row.conversation),
            // An import is not known by a name before it is complete, and what is purged has no name any more.
            Self::Stage(..) | Self::Abandon(_) | Self::Rows(_) | Self::Purge(_) | Self::Sync => None,
        }
    }

    /// About the memory that it holds, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Append(events) => events.bytes,
            // The state of an import is not one that is kept.
            Self::Stage(_, events) => events.bytes + events.shared_bytes,
            Self::Adopt(adoption) => adoption.body.len(),
            // The view shares its texts with the one in memory, and there is one for each conversation.
            Self::Keep(checkpoint) => checkpoint.newest.iter().map(|envelope| weigh(envelope)).sum(),
            Self::View(view) => view.body.len(),
            Self::Compact(compacted) => compacted.block.body.len(),
            Self::Rows(rows) => rows.len() * 512,
            Self::Remove(_)
            | Self::Purge(_)
            | Self::Rename(..)
            | Self::Release(_)
            | Self::Abandon(_)
            | Self::Sync => 64,
        }
    }

    /// Whether it is written at once. Events are not: for those, whoever waits says so, see
    /// [`crate::EventLog::hasten`]. A removal frees space, an import is waited for by a person, and a sync
    /// was asked for.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::Purge(_) | Self::Release(_) | Self::Adopt(_) | Self::Sync)
    }

    /// How it gets into the database. `known` is what the queue had of its conversation before.
    pub(crate) fn write_path(&self, known: QueuedCoverage) -> WritePath {
        match self {
            _ if self.is_journaled() => WritePath::Journal,
            Self::Keep(_) if known == QueuedCoverage::Whole => WritePath::Optional,
            Self::View(_)
            | Self::Compact(_)
            | Self::Rows(_)
            | Self::Stage(..)
            | Self::Abandon(_)
            | Self::Rename(..) => WritePath::Optional,
            Self::Append(_)
            | Self::Keep(_)
            | Self::Adopt(_)
            | Self::Remove(_)
            | Self::Purge(_)
            | Self::Release(_)
            | Self::Sync => WritePath::Database,
        }
    }

    /// Whether it is stored in the journal: events that need not survive a loss of power, removals and purges.
    fn is_journaled(&self) -> bool {
        match self {
            Self::Append(events) => events.level < Durability::Synced,
            Self::Remove(_) | Self::Purge(_) => true,
            _ => false,
        }
    }

    /// Its form in the journal; `None` if it is not stored there.
    pub(crate) fn journaled(&self) -> Option<JournalOp> {
        match self {
            _ if !self.is_journaled() => None,
            Self::Append(events) => Some(JournalOp::Append(Arc::clone(events))),
            Self::Remove(conversation) => Some(JournalOp::Remove(conversation.clone())),
            Self::Purge(conversation) => Some(JournalOp::Purge(conversation.clone())),
            _ => None,
        }
    }

    /// Whether it changes what searches and the figures of tools find.
    pub(crate) fn is_found(&self) -> bool {
        match self {
            Self::Append(events) => {
                !(events.documents.is_empty() && events.calls.is_empty() && events.measurements.is_empty())
            }
            Self::Adopt(_) | Self::Remove(_) => true,
            _ => false,
        }
    }

    /// The name of the operation in the file of refused operations. It is also the name in the trace and, for PostgreSQL, in the table of refused
    /// operations.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Append(_) => "events",
            Self::Keep(_) | Self::View(_) => "state",
            Self::Compact(_) => "blocks",
            Self::Rows(_) => "list",
            Self::Stage(..) | Self::Adopt(_) | Self::Abandon(_) => "import",
            Self::Remove(_) => "removal",
            Self::Purge(_) => "purge",
            Self::Rename(..) => "epoch",
            Self::Release(_) => "owner",
            Self::Sync => "sync",
        }
    }

    /// Whether it must survive a loss of power.
    pub(crate) fn is_synced(&self) -> bool {
        match self {
            Self::Append(events) => events.level == Durability::Synced,
            // These are rare enough to be written with the greatest care always.
            Self::Adopt(_) | Self::Sync => true,
            _ => false,
        }
    }
}

impl Encoding {
    /// The number in the database.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Plain => 0,
            Self::Zlib => 1,
        }
    }

    /// The encoding that has this number in the database.
    pub(crate) fn of(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Zlib),
            _ => None,
        }
    }
}

/// An operation and its weight in bytes. It is weighed before the queue is locked: weighing walks the events, and
/// every publisher takes that lock.
pub(crate) struct WeighedOp {
    pub(crate) op: Op,
    /// The weight in bytes, as [`Op::bytes`] says.
    pub(crate) bytes: usize,
    /// The bytes of texts that it shares with the state of its conversation, which are not in `bytes`.
    pub(crate) shared_bytes: usize,
}

impl WeighedOp {
    pub(crate) fn of(op: Op) -> Self {
        let shared_bytes = if let Op::Append(events) = &op { events.shared_bytes } else { 0 };
        Self { bytes: op.bytes(), shared_bytes, op }
    }

    /// Counts the texts that it shares like all else, unless they are at most `room` bytes.
    pub(crate) fn sharing_at_most(self, room: usize) -> Self {
        if self.shared_bytes <= room {
            return self;
        }
        Self { bytes: self.bytes.saturating_add(self.shared_bytes), shared_bytes: 0, op: self.op }
    }
}
