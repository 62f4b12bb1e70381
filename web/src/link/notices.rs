//! Notices about the connection besides its status: the health of the hub's log, the round-trip time, and
//! when a notice about a reconnection ends.

use model::frame::{LogHealth, ServerFrame};

/// Why the hub's log cannot write, and since when, after `frame` arrived at `now_ms`; `None` if it can.
///
/// A hub with a healthy log says nothing about it to new sessions: its welcome implies it.
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

/// The time from a request to its answer, in milliseconds and never 0; `None` if there was no answer.
pub fn round_trip(asked_ms: u64, now_ms: u64, is_answered: bool) -> Option<u64> {
    is_answered.then(|| now_ms.saturating_sub(asked_ms).max(1))
}

/// Whether `told` is still the notice `words`: the timer of an earlier notice must not remove a later one.
pub fn is_still_told(told: Option<&str>, words: &str) -> bool {
    told == Some(words)
}
