//! What goes into a log: the types that callers pass.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::{Event, Kind};
use model::frame::{ConversationRow, Durability};
use model::view::Item;
use model::{
    ConversationId, Envelope, Epoch, MessageId, Position, PublisherId, RunId, Seq, SharedText, View,
};

use crate::Measurement;

/// How far a publisher has come, stored together with its events for exactly-once.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PublisherMark {
    /// The id of the publisher.
    pub publisher: PublisherId,
    /// The epoch of the publisher; later ones are higher (invariant I10).
    pub epoch: u64,
    /// The number of the newest frame, or event, that was taken in that epoch.
    pub seq: u64,
}

/// Events that continue a conversation. They are stored as a whole or not at all.
#[derive(Debug)]
pub struct Append<'a> {
    /// The conversation. It is made if the log does not know it.
    pub conversation: &'a ConversationId,
    /// The position that the events continue. If the epoch is new and the seq above 0, the events of the old
    /// epoch stay.
    pub after: &'a Position,
    /// The events. Empty if a publisher's frame had only ephemeral ones.
    pub envelopes: &'a [Arc<Envelope>],
    /// How far the publisher has come with these events; `None` if it does not number them.
    pub mark: Option<PublisherMark>,
    /// The durability that the publisher asked for. The log need not write more carefully than that.
    pub level: Durability,
    /// Texts that these events have completed, for searches.
    pub documents: Vec<SearchDocument>,
    /// Tool calls that these events have ended, for the figures.
    pub calls: Vec<EndedToolCall>,
    /// What was measured of these events.
    pub measurements: Vec<Measurement>,
    /// Results that are too large for their events, which refer to them by hash.
    pub attachments: Vec<Attachment>,
}

impl<'a> Append<'a> {
    /// Makes an append of events alone with durability `memory`: no mark, documents, calls or attachments.
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

/// A text for searches. It is written once, when it is complete.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SearchDocument {
    /// The run; empty for a message outside of any run.
    pub run: RunId,
    /// The part, call or message that it belongs to.
    pub place: SearchDocumentPlace,
    /// What the text is.
    pub kind: SearchDocumentKind,
    /// The name of the tool, or the role of a message.
    pub name: CompactString,
    /// The seq of the event that completed the text.
    pub seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub at: u64,
    /// The text of the document, shared with the state that it is from, where it is no part of a longer one.
    pub text: SharedText,
}

/// What a document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum SearchDocumentPlace {
    /// A part or a call of the run.
    Item(Item),
    /// A message, by its id.
    Message(MessageId),
}

/// The kind of a document. Its names in snake case are used in queries and answers of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchDocumentKind {
    /// An answer of an agent.
    Text,
    /// Reasoning of an agent.
    Thinking,
    /// The arguments of a tool call.
    Arguments,
    /// The result of a tool call.
    Result,
    /// A message that was not streamed, such as a person's.
    Message,
}

/// A tool call that has ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndedToolCall {
    /// The name of the tool.
    pub name: CompactString,
    /// Whether the call failed.
    pub failed: bool,
    /// How long the call took, in milliseconds; `None` if neither the publisher nor the hub's clock can tell.
    pub latency_ms: Option<u64>,
}

/// What is stored beside its event: a large result, or the contents of a file of a message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment {
    /// The first 128 bits of its SHA-256, as 32 hex digits: its name within the conversation.
    pub hash: CompactString,
    /// The result, as JSON; of a file its base64, as a JSON string.
    pub json: Arc<str>,
}

impl Attachment {
    /// Whether it is the result, or a file, of `event`.
    pub fn is_of(&self, event: &Event) -> bool {
        match &event.kind {
            Kind::ToolResult(result) => result.reference.as_ref().is_some_and(|it| it.hash == self.hash),
            Kind::Message(message) => message.files.iter().any(|it| it.hash.as_ref() == Some(&self.hash)),
            _ => false,
        }
    }
}

/// The whole state of a conversation at one position. A log keeps only the newest checkpoint of each
/// conversation and loads it instead of folding all events. A log that lacks events goes on from it.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The conversation's row in the list; it also says which conversation this is.
    pub row: ConversationRow,
    /// The epoch of the state.
    pub epoch: Epoch,
    /// The view; its seq is the head of the conversation.
    pub view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub at: u64,
    /// How far the publishers have come, the one that was silent longest first.
    pub marks: Vec<PublisherMark>,
    /// The newest events, as many as the ring has. A log with a hole takes those that it lacks.
    pub newest: Vec<Arc<Envelope>>,
}

/// Identifies one import of a history from [`EventLog::stage`](crate::EventLog::stage) to [`EventLog::adopt`](crate::EventLog::adopt) or [`EventLog::abandon`](crate::EventLog::abandon). The caller
/// chooses it and never uses one twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImportId(pub u64);
