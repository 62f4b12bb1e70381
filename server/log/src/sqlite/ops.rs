//! What the writer is told to do.

use std::sync::Arc;

use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Envelope, Epoch, Position};

use super::views;
use crate::{Append, Attachment, Call, Checkpoint, Document, Import, Mark, Measurement};
use model::weigh::weigh;

/// An op in its place.
#[derive(Debug)]
pub(super) struct Queued {
    /// Its number.
    pub(super) ticket: u64,
    /// What it weighs.
    pub(super) bytes: usize,
    /// How it gets into the database.
    pub(super) way: Way,
    /// What to do.
    pub(super) op: Op,
}

/// How an op gets into the database, and what it is until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is stored once it is in the journal, and becomes rows when that suits.
    Journal,
    /// It saves time or room: losing it loses nothing, and what comes after it does not wait.
    Aside,
    /// It is stored once it is rows, and so is what comes after it.
    Rows,
}

/// What was said of a conversation when an op about it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// All that the op knows of it.
    Whole,
    /// Less, or nothing that is certain.
    Less,
}

/// Something to do. Its order among others counts.
#[derive(Debug)]
pub(super) enum Op {
    /// Events, and what comes with them.
    Append(Arc<Events>),
    /// A state to be kept.
    Keep(Box<Checkpoint>),
    /// A state, packed.
    View(Box<PackedView>),
    /// Blocks instead of others.
    Compact(Box<Compacted>),
    /// Rows of the list.
    Rows(Vec<ConversationRow>),
    /// A piece of a history that is imported.
    Stage(Import, Arc<Events>),
    /// All of it becomes a conversation.
    Adopt(Box<Adoption>),
    /// What was staged is forgotten.
    Abandon(Import),
    /// A conversation goes.
    Remove(ConversationId),
    /// A conversation goes on in another epoch.
    Rename(ConversationId, Epoch),
    /// Nothing, but what came before is to survive the loss of power.
    Sync,
}

/// A conversation that is made of what an import staged, with its state and its calls.
#[derive(Debug)]
pub(super) struct Adoption {
    pub(super) import: Import,
    pub(super) row: ConversationRow,
    pub(super) epoch: Epoch,
    pub(super) at: u64,
    pub(super) head: u64,
    /// The state at `head`, packed.
    pub(super) body: Vec<u8>,
    /// Calls that are over in it.
    pub(super) calls: Vec<Call>,
    pub(super) measurements: Vec<Measurement>,
}

impl Adoption {
    /// With the state of `checkpoint`, which is packed here.
    pub(super) fn of(
        import: Import,
        checkpoint: Checkpoint,
        calls: Vec<Call>,
        measurements: Vec<Measurement>,
    ) -> Self {
        let Checkpoint { row, epoch, view, at, .. } = checkpoint;
        Self { import, row, epoch, at, head: view.seq, body: views::pack(&view), calls, measurements }
    }
}

/// The owned form of an [`Append`]: what the queue holds of it until it is written.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) conversation: ConversationId,
    pub(super) after: Position,
    pub(super) envelopes: Vec<Arc<Envelope>>,
    pub(super) mark: Option<Mark>,
    pub(super) level: Durability,
    pub(super) documents: Vec<Document>,
    pub(super) calls: Vec<Call>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) attachments: Vec<Attachment>,
    /// What it weighs.
    pub(super) bytes: usize,
}

/// A state that the packer has made into bytes, ready to be written.
#[derive(Debug)]
pub(super) struct PackedView {
    pub(super) conversation: ConversationId,
    pub(super) key: i64,
    pub(super) seq: u64,
    pub(super) body: Vec<u8>,
}

impl PackedView {
    /// The state of the conversation `key`, packed.
    pub(super) fn of(key: i64, checkpoint: Checkpoint) -> Self {
        let (seq, body) = (checkpoint.view.seq, views::pack(&checkpoint.view));
        Self { conversation: checkpoint.row.conversation, key, seq, body }
    }
}

/// Blocks that the packer has made of smaller ones, and what they replace.
#[derive(Debug)]
pub(super) struct Compacted {
    pub(super) conversation: ConversationId,
    pub(super) key: i64,
    /// The rows that go.
    pub(super) instead_of: Vec<i64>,
    /// Bytes of these rows.
    pub(super) bytes_before: u64,
    /// The rows that come in their place.
    pub(super) blocks: Vec<Block>,
}

/// A row of the table of events: the events from `first` to `last`, packed into `body`, which has `raw` bytes once it is
/// uncompressed.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) encoding: Encoding,
    pub(super) raw: usize,
    pub(super) body: Vec<u8>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As it is.
    Plain,
    /// With zlib.
    Zlib,
}

impl Events {
    pub(super) fn of(append: Append<'_>) -> Self {
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
        let texts: usize =
            documents.iter().map(|document| document.text.len() + document.name.len() + 128).sum();
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
            documents,
            calls,
            measurements,
            attachments,
        }
    }
}

impl Op {
    /// The conversation that it is about.
    pub(super) fn conversation(&self) -> Option<&ConversationId> {
        match self {
            Self::Append(events) => Some(&events.conversation),
            Self::Keep(checkpoint) => Some(&checkpoint.row.conversation),
            Self::View(view) => Some(&view.conversation),
            Self::Compact(compacted) => Some(&compacted.conversation),
            Self::Remove(conversation) | Self::Rename(conversation, _) => Some(conversation),
            Self::Adopt(adoption) => Some(&adoption.row.conversation),
            // Of an import nothing is known by name before it is whole.
            Self::Stage(..) | Self::Abandon(_) | Self::Rows(_) | Self::Sync => None,
        }
    }

    /// About what it holds in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Append(events) | Self::Stage(_, events) => events.bytes,
            Self::Adopt(adoption) => adoption.body.len(),
            // The state itself is as large as the one in memory; there is one for each conversation.
            Self::Keep(checkpoint) => checkpoint.newest.iter().map(|envelope| weigh(envelope)).sum(),
            Self::View(view) => view.body.len(),
            Self::Compact(compacted) => compacted.blocks.iter().map(|block| block.body.len()).sum(),
            Self::Rows(rows) => rows.len() * 512,
            Self::Remove(_) | Self::Rename(..) | Self::Abandon(_) | Self::Sync => 64,
        }
    }

    /// Whether it is written at once. For events nobody waits but who says so, see [`crate::EventLog::hasten`].
    pub(super) fn is_urgent(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::Adopt(_) | Self::Sync)
    }

    /// How it gets into the database. `known` is what was said of its conversation before.
    pub(super) fn way(&self, known: Known) -> Way {
        match self {
            // A new conversation is listed and counted at once.
            Self::Append(events) if events.after.seq > 0 && events.level < Durability::Synced => Way::Journal,
            Self::Keep(_) if known == Known::Whole => Way::Aside,
            Self::View(_)
            | Self::Compact(_)
            | Self::Rows(_)
            | Self::Stage(..)
            | Self::Abandon(_)
            | Self::Rename(..) => Way::Aside,
            Self::Append(_) | Self::Keep(_) | Self::Adopt(_) | Self::Remove(_) | Self::Sync => Way::Rows,
        }
    }

    /// Whether searches and figures of tools change by it.
    pub(super) fn is_found(&self) -> bool {
        match self {
            Self::Append(events) => {
                !(events.documents.is_empty() && events.calls.is_empty() && events.measurements.is_empty())
            }
            Self::Adopt(_) | Self::Remove(_) => true,
            _ => false,
        }
    }

    /// What it is, for those who read what was set aside.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Append(_) => "events",
            Self::Keep(_) | Self::View(_) => "state",
            Self::Compact(_) => "blocks",
            Self::Rows(_) => "list",
            Self::Stage(..) | Self::Adopt(_) | Self::Abandon(_) => "import",
            Self::Remove(_) => "removal",
            Self::Rename(..) => "epoch",
            Self::Sync => "sync",
        }
    }

    /// Whether what it asks for must survive the loss of power.
    pub(super) fn is_synced(&self) -> bool {
        match self {
            Self::Append(events) => events.level == Durability::Synced,
            // Seldom enough to be written as carefully as can be, whatever is asked for.
            Self::Adopt(_) | Self::Sync => true,
            _ => false,
        }
    }
}

impl Encoding {
    /// The number in the database.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Plain => 0,
            Self::Zlib => 1,
        }
    }

    /// What the number in the database means.
    pub(super) fn of(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Zlib),
            _ => None,
        }
    }
}
