//! Rows of the list, shared by all logs that list.

use model::event::RunStatus;
use model::frame::ConversationRow;
use model::{ConversationId, Epoch};

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

/// A row for a conversation of which the hub has not yet given one with [`crate::EventLog::list_as`], or
/// whose row cannot be read. The caller fills in epoch, head and time.
pub(crate) fn nameless(id: &ConversationId) -> ConversationRow {
    ConversationRow {
        conversation: id.clone(),
        title: None,
        forked_from: None,
        state: None,
        stalled: false,
        activity: None,
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
        asks: None,
        model: None,
        answer: None,
        used: Vec::new(),
        agent: None,
        usage: None,
        said: None,
    }
}
