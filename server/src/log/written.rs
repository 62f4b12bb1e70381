//! What goes into a log.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::{Event, Kind};
use model::frame::{ConversationRow, Durability};
use model::view::Item;
use model::{ConversationId, Envelope, Epoch, MessageId, Position, PublisherId, RunId, Seq, View};

/// How far a publisher has come: for exactly-once, kept together with what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The publisher.
    pub(crate) publisher: PublisherId,
    /// Its life.
    pub(crate) epoch: u64,
    /// The number of its last frame in that life.
    pub(crate) seq: u64,
}

/// One continuation of a conversation, kept as a whole or not at all.
#[derive(Debug)]
pub(crate) struct Append<'a> {
    /// The conversation; made when the log does not know it.
    pub(crate) conversation: &'a ConversationId,
    /// What it continues. A new epoch with a seq above 0 goes on with the events of the old one.
    pub(crate) after: &'a Position,
    /// The events. Empty where a publisher's frame held ephemeral ones only.
    pub(crate) envelopes: &'a [Arc<Envelope>],
    /// How far the publisher has come with them.
    pub(crate) mark: Option<Mark>,
    /// What is asked for: a log that can tell them apart writes no more carefully than that.
    pub(crate) level: Durability,
    /// Texts that became whole.
    pub(crate) documents: Vec<Document>,
    /// Calls that were over.
    pub(crate) calls: Vec<Call>,
    /// Results that are too large for an event.
    pub(crate) attachments: Vec<Attachment>,
}

impl<'a> Append<'a> {
    /// Events and nothing beside them.
    pub(crate) fn of(
        conversation: &'a ConversationId,
        after: &'a Position,
        envelopes: &'a [Arc<Envelope>],
    ) -> Self {
        Self {
            conversation,
            after,
            envelopes,
            mark: None,
            level: Durability::Memory,
            documents: Vec::new(),
            calls: Vec::new(),
            attachments: Vec::new(),
        }
    }
}

/// A text to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// The run; empty for a message outside of any.
    pub(crate) run: RunId,
    /// The part, call or message that it belongs to.
    pub(crate) place: DocumentPlace,
    /// What it is.
    pub(crate) kind: DocumentKind,
    /// The tool, or who speaks in a message.
    pub(crate) name: CompactString,
    /// The event that made it whole.
    pub(crate) seq: Seq,
    /// When that was taken, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The text.
    pub(crate) text: String,
}

/// What a document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum DocumentPlace {
    /// A part or a call of the run.
    Item(Item),
    /// A message.
    Message(MessageId),
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DocumentKind {
    /// An answer.
    Text,
    /// Thinking.
    Thinking,
    /// The arguments of a call.
    Arguments,
    /// The result of a call.
    Result,
    /// A message of the history.
    Message,
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) name: CompactString,
    /// Whether it failed.
    pub(crate) failed: bool,
    /// How long it took, in milliseconds; nothing where nobody knows.
    pub(crate) latency_ms: Option<u64>,
}

/// A result that is kept beside its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The first 128 bits of its SHA-256, as 32 hex digits: its name in the conversation.
    pub(crate) hash: CompactString,
    /// The result, as JSON.
    pub(crate) json: Arc<str>,
}

impl Attachment {
    /// Whether it is the result of `event`.
    pub(crate) fn is_of(&self, event: &Event) -> bool {
        match &event.kind {
            Kind::ToolResult(result) => result.reference.as_ref().is_some_and(|it| it.hash == self.hash),
            _ => false,
        }
    }
}

/// A conversation as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    /// Its row in the list; names the conversation.
    pub(crate) row: ConversationRow,
    /// The life of its log.
    pub(crate) epoch: Epoch,
    /// The state; its seq is where the conversation stands.
    pub(crate) view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub(crate) at: u64,
    /// How far its publishers have come, the one that was silent longest first.
    pub(crate) marks: Vec<Mark>,
    /// The newest events, as many as the ring has: a log with a hole takes those that it lacks.
    pub(crate) newest: Vec<Arc<Envelope>>,
}
