//! Rows of the list, shared by all logs that list.

use model::event::RunStatus;
use model::frame::ConversationRow;
use model::{ConversationId, Epoch};

/// The name of a run's state in the database.
pub(crate) fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The row of a conversation of which no row was stored yet.
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
