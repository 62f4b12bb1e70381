//! Rows of the list, shared by all logs that list.

use std::sync::Arc;

use model::event::RunStatus;
use model::frame::ConversationRow;
use model::{ConversationId, Envelope, Epoch, Seq};

use crate::ListQuery;

/// The name of a run's state in the database. The column serves to filter the list; the row's JSON has the
/// state too.
pub(crate) fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// A row as a database keeps it: the JSON, and what the list is narrowed to.
#[derive(Debug)]
pub(crate) struct StoredRow {
    /// The head of the conversation as of the row.
    pub(crate) head: Seq,
    /// The row as JSON.
    pub(crate) json: String,
    /// The state of the newest run, see [`word`].
    pub(crate) state: Option<&'static str>,
    /// 1 for a pinned conversation, otherwise 0; likewise for one that is archived.
    pub(crate) pinned: i16,
    pub(crate) archived: i16,
    /// The tags, each between line breaks, so that one is found as a piece of the text. Empty for none.
    pub(crate) tags: String,
}

impl StoredRow {
    /// `row` as a database keeps it.
    pub(crate) fn of(row: &ConversationRow) -> Self {
        let tags: String = row.tags.iter().flat_map(|tag| ["\n", tag.as_str()]).collect();
        Self {
            head: row.head,
            // A row holds nothing that cannot be written.
            json: serde_json::to_string(row).unwrap_or_default(),
            state: row.state.map(word),
            pinned: row.pinned.into(),
            archived: row.archived.into(),
            tags: if tags.is_empty() { tags } else { tags + "\n" },
        }
    }
}

/// The piece of [`StoredRow::tags`] that says that a row has the tag.
pub(crate) fn tag_piece(tag: &str) -> String {
    format!("\n{tag}\n")
}

/// What a list is narrowed to, as conditions of a database, each of which begins with `AND`. `state` and `tag` are the conditions for a
/// state and a tag that are values of the statement.
pub(crate) fn narrowed(query: &ListQuery, state: &str, tag: &str) -> String {
    let number = |column: &str, wanted: Option<bool>| {
        wanted.map_or_else(String::new, |wanted| format!(" AND {column} = {}", u8::from(wanted)))
    };
    let value = |is_wanted: bool, condition: &str| {
        if is_wanted { format!(" AND {condition}") } else { String::new() }
    };
    let numbers = number("pinned", query.pinned) + &number("archived", query.archived);
    numbers + &value(query.state.is_some(), state) + &value(query.tag.is_some(), tag)
}

/// When the newest of `envelopes` came that is activity ([`model::Kind::is_activity`]), in milliseconds since 1970; 0 if none is. Lists are
/// in this order: what people make of a conversation does not move it.
pub(crate) fn active_at(envelopes: &[Arc<Envelope>]) -> u64 {
    let mut newest = envelopes.iter().rev().filter(|envelope| envelope.event.kind.is_activity());
    newest.next().map_or(0, |envelope| envelope.at)
}

/// A row for a conversation of which the hub has not yet given one with [`crate::EventLog::put_rows`], or
/// whose row cannot be read. The caller fills in epoch, head and time.
pub(crate) fn nameless(id: &ConversationId) -> ConversationRow {
    ConversationRow {
        conversation: id.clone(),
        title: None,
        forked_from: None,
        state: None,
        stalled: false,
        activity: None,
        reason: None,
        epoch: Epoch::new(""),
        head: 0,
        started_at: 0,
        ended_at: None,
        at: 0,
        runs: 0,
        tools: 0,
        failed: 0,
        approvals: 0,
        agents: 0,
        anomalies: 0,
        viewers: 0,
        call: None,
        more_calls: Vec::new(),
        written: 0,
        asks: None,
        model: None,
        answer: None,
        used: Vec::new(),
        pinned: false,
        archived: false,
        tags: Vec::new(),
        good: 0,
        bad: 0,
        agent: None,
        host: None,
        usage: None,
        said: None,
    }
}
