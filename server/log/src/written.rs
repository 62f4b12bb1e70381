//! What goes into a log.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::{Event, Kind};
use model::frame::{ConversationRow, Durability};
use model::view::Item;
use model::{ConversationId, Envelope, Epoch, MessageId, Position, PublisherId, RunId, Seq, View};

use crate::Measurement;

/// How far a publisher has come: for exactly-once, kept together with what it said.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    /// The publisher.
    pub publisher: PublisherId,
    /// Which life of the publisher this is; a later one has a higher number (invariant I10).
    pub epoch: u64,
    /// The number of the newest frame that was taken of that life.
    pub seq: u64,
}

/// One continuation of a conversation, kept as a whole or not at all.
#[derive(Debug)]
pub struct Append<'a> {
    /// The conversation; it is created where the log does not know it.
    pub conversation: &'a ConversationId,
    /// The position that the events continue. A new epoch with a seq above 0 goes on with the events of the old one.
    pub after: &'a Position,
    /// The events. Empty where a publisher's frame held ephemeral ones only.
    pub envelopes: &'a [Arc<Envelope>],
    /// How far the publisher has come with these events; nothing where they came without a publisher's number.
    pub mark: Option<Mark>,
    /// The durability that the publisher asked for. A log that can tell levels apart writes no more carefully than that.
    pub level: Durability,
    /// Texts that became whole with these events, to be found by searches.
    pub documents: Vec<Document>,
    /// Tool calls that ended with these events, to be counted.
    pub calls: Vec<Call>,
    /// What is counted of these events.
    pub measurements: Vec<Measurement>,
    /// Tool results that are too large for an event; the events refer to them by hash.
    pub attachments: Vec<Attachment>,
}

impl<'a> Append<'a> {
    /// An append of events alone, with durability `memory`: no mark, documents, calls or attachments.
    pub fn of(conversation: &'a ConversationId, after: &'a Position, envelopes: &'a [Arc<Envelope>]) -> Self {
        Self {
            conversation,
            after,
            envelopes,
            mark: None,
            level: Durability::Memory,
            documents: Vec::new(),
            calls: Vec::new(),
            measurements: Vec::new(),
            attachments: Vec::new(),
        }
    }
}

/// A text that searches find. It is written once, when it is whole.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Document {
    /// The run; empty for a message outside of any.
    pub run: RunId,
    /// The part, call or message that it belongs to.
    pub place: DocumentPlace,
    /// What the text is.
    pub kind: DocumentKind,
    /// The tool, or who speaks in a message.
    pub name: CompactString,
    /// The event that made it whole.
    pub seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub at: u64,
    /// The text.
    pub text: String,
}

/// What a document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DocumentPlace {
    /// A part or a call of the run.
    Item(Item),
    /// A message.
    Message(MessageId),
}

/// What a document is. The names in snake case are those of queries and answers of the search.
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
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Call {
    /// The tool.
    pub name: CompactString,
    /// Whether it failed.
    pub failed: bool,
    /// How long the call took, in milliseconds; nothing where neither the publisher nor the hub's clock says.
    pub latency_ms: Option<u64>,
}

/// A result that is kept beside its event.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// A conversation's whole state at one position. A log keeps only the newest checkpoint of a conversation and loads it instead of
/// folding all events; one that lacks events goes on from it.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The conversation's row in the list; it also says which conversation this is.
    pub row: ConversationRow,
    /// The epoch of the state.
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
