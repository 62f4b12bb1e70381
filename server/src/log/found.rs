//! What is asked of a log, and what it answers.

use compact_str::CompactString;
use model::event::RunStatus;
use model::{ConversationId, RunId, Seq};
use serde::Serialize;

use super::written::DocumentKind;

/// Which conversations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListQuery {
    /// Only those that come after this one: its time, in milliseconds since 1970, and its name.
    pub(crate) after: Option<(u64, ConversationId)>,
    /// Only those whose newest run stands so.
    pub(crate) state: Option<RunStatus>,
    /// Most rows.
    pub(crate) limit: usize,
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    /// Words, all of which must be there; `"in quotes"` next to one another; `wor*` for a beginning.
    pub(crate) text: String,
    /// Only in this conversation.
    pub(crate) conversation: Option<ConversationId>,
    /// Only in what is of this kind.
    pub(crate) kind: Option<DocumentKind>,
    /// Only what is older than this hit.
    pub(crate) before: Option<u64>,
    /// Most hits.
    pub(crate) limit: usize,
}

/// What a search found, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Finds {
    /// The hits.
    pub(crate) hits: Vec<Hit>,
    /// The search was stopped: it looked at what is not older than this, as [`SearchQuery::before`] takes it. Nothing when it
    /// came to its end.
    pub(crate) stopped_at: Option<u64>,
}

/// A place that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    /// Its number; newer ones have higher numbers.
    pub(crate) id: u64,
    /// The conversation.
    pub(crate) conversation: ConversationId,
    /// The run; absent for a message outside of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    /// What it is.
    pub(crate) kind: DocumentKind,
    /// The id of the part, the call or the message.
    pub(crate) item: CompactString,
    /// The tool, or who speaks in a message.
    pub(crate) name: CompactString,
    /// The event that made it whole.
    pub(crate) seq: Seq,
    /// When that was taken, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The text around the first match.
    pub(crate) snippet: String,
    /// Where the words stand in it.
    pub(crate) marks: Vec<Span>,
}

/// From the first byte to the one behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Span(pub(crate) usize, pub(crate) usize);

/// The calls of one tool, over all conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ToolFigures {
    /// The tool.
    pub(crate) name: CompactString,
    /// How many were over.
    pub(crate) calls: u64,
    /// How many of them failed.
    pub(crate) failed: u64,
    /// Half of them took at most this long, in milliseconds; within 6 %.
    pub(crate) p50_ms: Option<u64>,
    /// 95 of 100 took at most this long, in milliseconds; within 6 %.
    pub(crate) p95_ms: Option<u64>,
}

/// What a log keeps at most. What is not said has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Conversations whose newest event is older go, in milliseconds.
    pub(crate) age_ms: Option<u64>,
    /// Bytes that the log uses on its disk.
    pub(crate) bytes: Option<u64>,
    /// Conversations.
    pub(crate) conversations: Option<u64>,
}
