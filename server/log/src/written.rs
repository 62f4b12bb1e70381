//! What goes into a log.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::{Event, Kind};
use model::frame::{ConversationRow, Durability};
use model::view::Item;
use model::{ConversationId, Envelope, Epoch, MessageId, Position, PublisherId, RunId, Seq, View};

/// How far a publisher has come: for exactly-once, kept together with what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The publisher.
    pub publisher: PublisherId,
    /// Its life.
    pub epoch: u64,
    /// The number of its last frame in that life.
    pub seq: u64,
}

/// One continuation of a conversation, kept as a whole or not at all.
#[derive(Debug)]
pub struct Append<'a> {
    /// The conversation; made when the log does not know it.
    pub conversation: &'a ConversationId,
    /// What it continues. A new epoch with a seq above 0 goes on with the events of the old one.
    pub after: &'a Position,
    /// The events. Empty where a publisher's frame held ephemeral ones only.
    pub envelopes: &'a [Arc<Envelope>],
    /// How far the publisher has come with them.
    pub mark: Option<Mark>,
    /// What is asked for: a log that can tell them apart writes no more carefully than that.
    pub level: Durability,
    /// Texts that became whole.
    pub documents: Vec<Document>,
    /// Calls that were over.
    pub calls: Vec<Call>,
    /// Results that are too large for an event.
    pub attachments: Vec<Attachment>,
}

impl<'a> Append<'a> {
    /// Events and nothing beside them.
    pub fn of(conversation: &'a ConversationId, after: &'a Position, envelopes: &'a [Arc<Envelope>]) -> Self {
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
pub struct Document {
    /// The run; empty for a message outside of any.
    pub run: RunId,
    /// The part, call or message that it belongs to.
    pub place: DocumentPlace,
    /// What it is.
    pub kind: DocumentKind,
    /// The tool, or who speaks in a message.
    pub name: CompactString,
    /// The event that made it whole.
    pub seq: Seq,
    /// When that was taken, in milliseconds since 1970.
    pub at: u64,
    /// The text.
    pub text: String,
}

/// What a document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentPlace {
    /// A part or a call of the run.
    Item(Item),
    /// A message.
    Message(MessageId),
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
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
pub struct Call {
    /// The tool.
    pub name: CompactString,
    /// Whether it failed.
    pub failed: bool,
    /// How long it took, in milliseconds; nothing where nobody knows.
    pub latency_ms: Option<u64>,
}

/// A result that is kept beside its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The first 128 bits of its SHA-256, as 32 hex digits: its name in the conversation.
    pub hash: CompactString,
    /// The result, as JSON.
    pub json: Arc<str>,
}

impl Attachment {
    /// Whether it is the result of `event`.
    pub fn is_of(&self, event: &Event) -> bool {
        match &event.kind {
            Kind::ToolResult(result) => result.reference.as_ref().is_some_and(|it| it.hash == self.hash),
            _ => false,
        }
    }
}

/// A conversation as it stands.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its row in the list; names the conversation.
    pub row: ConversationRow,
    /// The life of its log.
    pub epoch: Epoch,
    /// The state; its seq is where the conversation stands.
    pub view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub at: u64,
    /// How far its publishers have come, the one that was silent longest first.
    pub marks: Vec<Mark>,
    /// The newest events, as many as the ring has: a log with a hole takes those that it lacks.
    pub newest: Vec<Arc<Envelope>>,
}
