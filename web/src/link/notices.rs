//! What the page tells of its link beside its status: whether the hub's log writes, how long the way there is, and when the
//! word about the link's return is over.

use model::frame::{LogHealth, ServerFrame};

/// Why the hub's log cannot write and since when, after `frame` came at `now_ms`; nothing while it writes.
///
/// A hub of which the log is well does not say so to those who come: its welcome means that it is.
pub fn log_after(
    known: Option<(LogHealth, u64)>,
    frame: &ServerFrame,
    now_ms: u64,
) -> Option<(LogHealth, u64)> {
    match frame {
        ServerFrame::Welcome(_) | ServerFrame::Health { log: LogHealth::Well, .. } => None,
        ServerFrame::Health { log, since, .. } => Some((*log, since.unwrap_or(now_ms))),
        _ => known,
    }
}

/// From a request to its answer, in milliseconds and never 0; nothing where no answer came.
pub fn round_trip(asked_ms: u64, now_ms: u64, is_answered: bool) -> Option<u64> {
    is_answered.then(|| now_ms.saturating_sub(asked_ms).max(1))
}

/// Whether what is told is still what began to be told then: a later word is not taken away by the time of an earlier one.
pub fn is_still_told(told: Option<&str>, words: &str) -> bool {
    told == Some(words)
}
