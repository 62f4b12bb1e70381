//! What is asked of a log, and what it answers.

use compact_str::CompactString;
use model::event::RunStatus;
use model::{ConversationId, RunId, Seq};
use serde::Serialize;

use super::written::DocumentKind;

/// Which conversations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only those that come after this one: its time, in milliseconds since 1970, and its name.
    pub after: Option<(u64, ConversationId)>,
    /// Only those whose newest run has this status.
    pub state: Option<RunStatus>,
    /// Most rows that are returned.
    pub limit: usize,
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, all of which must be there; `"in quotes"` next to one another; `wor*` for a beginning.
    pub text: String,
    /// Only in this conversation.
    pub conversation: Option<ConversationId>,
    /// Only in what is of this kind.
    pub kind: Option<DocumentKind>,
    /// Only what is older than the hit with this number ([`Hit::id`]): the next page.
    pub before: Option<u64>,
    /// Most hits that are returned.
    pub limit: usize,
}

/// What a search found, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finds {
    /// The hits.
    pub hits: Vec<Hit>,
    /// The search was stopped: it looked at what is not older than this, as [`SearchQuery::before`] takes it. Nothing when it
    /// came to its end.
    pub stopped_at: Option<u64>,
}

/// A place that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The number of the document in the index; newer ones have higher numbers.
    pub id: u64,
    /// The conversation.
    pub conversation: ConversationId,
    /// The run; absent for a message outside of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What it is.
    pub kind: DocumentKind,
    /// The id of the part, the call or the message.
    pub item: CompactString,
    /// The tool, or who speaks in a message.
    pub name: CompactString,
    /// The event that made it whole.
    pub seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub at: u64,
    /// The text around the first match.
    pub snippet: String,
    /// Where the words that were looked for stand in `snippet`, in bytes.
    pub marks: Vec<Span>,
}

/// A range of bytes in a text: the first byte, and the one behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span(pub usize, pub usize);

/// The calls of one tool, over all conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolFigures {
    /// The tool.
    pub name: CompactString,
    /// How many calls have ended.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Half of them took at most this long, in milliseconds; within 6 %.
    pub p50_ms: Option<u64>,
    /// 95 of 100 took at most this long, in milliseconds; within 6 %.
    pub p95_ms: Option<u64>,
}

/// What a log keeps at most. What is not said has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Conversations whose newest event is older than this go, in milliseconds.
    pub age_ms: Option<u64>,
    /// Most bytes that the log uses on its disk.
    pub bytes: Option<u64>,
    /// Most conversations that are kept.
    pub conversations: Option<u64>,
}
