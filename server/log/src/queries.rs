//! What a log is asked for, and what it answers. All types are plain values: they borrow nothing from the log
//! and live as long as their holder likes.

use std::sync::Arc;

use compact_str::CompactString;
use model::event::RunStatus;
use model::view::ConversationLabels;
use model::{ConversationId, Envelope, Position, RunId, Seq, View};
use serde::Serialize;

use super::input::{PublisherMark, SearchDocumentKind};

/// The query for a page of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only rows after this one: the time of its newest event, in milliseconds since 1970, and its name.
    pub after: Option<(u64, ConversationId)>,
    /// Only those whose newest run has this status.
    pub state: Option<RunStatus>,
    /// Only those that are pinned, or only those that are not; `None` for all.
    pub pinned: Option<bool>,
    /// Only those that are archived, or only those that are not; `None` for all.
    pub archived: Option<bool>,
    /// Only those with this tag.
    pub tag: Option<CompactString>,
    /// Most rows that are returned.
    pub limit: usize,
}

impl ListQuery {
    /// Whether a conversation with that label is one of those that are asked for.
    pub fn wants(&self, label: &ConversationLabels) -> bool {
        self.pinned.is_none_or(|wanted| label.pinned == wanted)
            && self.archived.is_none_or(|wanted| label.archived == wanted)
            && self.tag.as_ref().is_none_or(|tag| label.tags.contains(tag))
    }
}

/// What to search for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words, all of which must occur; `"in quotes"` as a phrase, `wor*` for the beginning of a word.
    pub text: String,
    /// Search only in this conversation; `None` for all.
    pub conversation: Option<ConversationId>,
    /// Search only in documents of this kind; `None` for all.
    pub kind: Option<SearchDocumentKind>,
    /// Only documents that the hub took at this time or later, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Only documents that it took before this time.
    pub until: Option<u64>,
    /// Only arguments and results of tools whose name contains it. The case of ASCII letters does not count.
    pub tool: Option<CompactString>,
    /// Only in conversations whose newest run's main agent has a name that contains it, likewise.
    pub agent: Option<CompactString>,
    /// Only in conversations whose newest run has this status.
    pub state: Option<RunStatus>,
    /// Only in those that are archived, or only in those that are not; `None` for all.
    pub archived: Option<bool>,
    /// Only in those with this tag.
    pub tag: Option<CompactString>,
    /// Return only hits with a lower number ([`SearchHit::id`]) than this: the next page.
    pub before: Option<u64>,
    /// Most hits that are returned.
    pub limit: usize,
}

/// What a search found, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResults {
    /// The hits of this page.
    pub hits: Vec<SearchHit>,
    /// How far a search came that was stopped: it has looked at all documents from this number on, so that
    /// [`SearchQuery::before`] continues it. `None` if it came to its end.
    pub stopped_at: Option<u64>,
    /// Whether texts are missing that were complete when the search began, because the log has yet to index them.
    pub lacks_newest: bool,
}

/// A document that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchHit {
    /// The number of the document in the index; newer documents have higher numbers.
    pub id: u64,
    /// The conversation that it belongs to.
    pub conversation: ConversationId,
    /// The run; `None` for a message outside of any run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What the text is.
    pub kind: SearchDocumentKind,
    /// The id of the part, the call or the message.
    pub item: CompactString,
    /// The tool, or who speaks in a message.
    pub name: CompactString,
    /// The event that completed the text.
    pub seq: Seq,
    /// When the hub took that event, in milliseconds since 1970.
    pub at: u64,
    /// The text around the first match.
    pub snippet: String,
    /// Where the words that were searched for occur in `snippet`, in bytes.
    pub marks: Vec<TextRange>,
}

/// A range of bytes in a text: the first byte, and the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextRange(pub usize, pub usize);

/// Figures of the calls of one tool, over all conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolFigures {
    /// The name of the tool.
    pub name: CompactString,
    /// The number of calls that have ended.
    pub calls: u64,
    /// The number of calls that failed.
    pub failed: u64,
    /// Half of them took at most this long, in milliseconds; within 6 %.
    pub p50_ms: Option<u64>,
    /// 95 of 100 took at most this long, in milliseconds; within 6 %.
    pub p95_ms: Option<u64>,
}

/// What a log may keep at most. Without any bound it keeps everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Conversations go whose newest event is older than this, in milliseconds.
    pub age_ms: Option<u64>,
    /// Most bytes of disk that the log uses.
    pub bytes: Option<u64>,
    /// Most conversations that are kept.
    pub conversations: Option<u64>,
}

/// Events of one conversation, read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// Events that follow one another without a hole.
    pub envelopes: Vec<Arc<Envelope>>,
    /// The newest seq that the log has of the conversation, in this page or after it.
    pub head: Seq,
}

/// A conversation as it was read back from the log.
#[derive(Debug, Clone)]
pub struct StoredConversation {
    /// The position at which it goes on. The epoch is a new one if the log did not end well.
    pub position: Position,
    /// The folded state at `position`.
    pub view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub at: u64,
    /// How far its publishers have come, the one that was silent longest first.
    pub marks: Vec<PublisherMark>,
}
