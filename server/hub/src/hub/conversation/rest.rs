//! The part of a conversation that decides when it may leave memory, and what the log is given before.

use std::sync::atomic::Ordering;

use event_log::{Checkpoint, EventLog, Progress, Ticket};

use super::{Conversation, ConversationState};
use crate::hub::row::row;

/// How a conversation is used at one moment, as upkeep needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::hub) struct ConversationUse {
    /// When its newest event was taken, in milliseconds since 1970.
    pub(in crate::hub) at: u64,
    /// Whether it has viewers or a running run.
    pub(in crate::hub) is_busy: bool,
    /// About the memory that it holds, in bytes: ring and view.
    pub(in crate::hub) bytes: u64,
    /// The weight of the events since the log was last given the whole state, in bytes.
    pub(in crate::hub) since_kept: usize,
}

impl Conversation {
    /// The present use of the conversation, which decides whether it may leave memory.
    pub(in crate::hub) fn usage(&self) -> ConversationUse {
        let state = self.state.lock();
        // One that is followed leaves when whoever follows it says so.
        let is_busy = self.is_followed()
            || self.viewers.load(Ordering::Relaxed) > 0
            || state.is_running()
            || !state.withheld.is_empty();
        ConversationUse {
            at: state.at,
            is_busy,
            bytes: state.ring.held() + state.view_bytes,
            since_kept: state.since_kept,
        }
    }

    /// Gives the log the whole state, unless it has left memory or is another hub's: then the log has all, or may have nothing of it. The returned
    /// ticket is reached when the log has it.
    pub(in crate::hub) fn keep(&self, log: &dyn EventLog) -> Ticket {
        // Under the lock: what is appended next must come after the checkpoint in the log's queue.
        let mut state = self.state.lock();
        if state.retired || self.is_followed() {
            return state.ticket;
        }
        self.keep_state(&mut state, log)
    }

    /// Gives the log the whole state.
    pub(super) fn keep_state(&self, state: &mut ConversationState, log: &dyn EventLog) -> Ticket {
        let viewers = self.viewers.load(Ordering::Relaxed);
        state.ticket = log.keep(Checkpoint {
            row: row(&self.id, &self.epoch, &state.view, state.at, viewers),
            epoch: self.epoch.clone(),
            view: state.view.clone(),
            at: state.at,
            // Of what is withheld nothing is in the state, and nobody may be told that it was taken.
            marks: state.marks_without_withheld(),
            newest: state.ring.page(state.ring.begins_after(), usize::MAX),
        });
        state.since_kept = 0;
        state.ticket
    }

    /// Drops the oldest events from the ring until the rest weighs at most `bytes_max` bytes; the newest
    /// event stays.
    pub(in crate::hub) fn keep_newest(&self, bytes_max: usize) {
        self.state.lock().ring.keep_newest(bytes_max);
    }

    /// If nothing was ever said and nobody views it, retires the conversation: nobody can enter or append any
    /// more. True if it did.
    pub(in crate::hub) fn retire_if_unused(&self) -> bool {
        let mut state = self.state.lock();
        let is_empty = state.view.seq == 0 && state.withheld.is_empty();
        let unused = is_empty && !state.reserved && self.viewers.load(Ordering::Relaxed) == 0;
        state.retired |= unused;
        unused
    }

    /// If the log has everything, the state included, and nobody uses the conversation, retires it: nobody
    /// can enter or append any more. True if it did. Never waits: false while somebody has the lock.
    pub(in crate::hub) fn retire_if_kept(&self, progress: &Progress) -> bool {
        let Some(mut state) = self.state.try_lock() else { return false };
        let kept = state.since_kept == 0 && progress.has_indexed(state.ticket);
        let idle =
            self.viewers.load(Ordering::Relaxed) == 0 && !state.is_running() && state.withheld.is_empty();
        state.retired |= kept && idle;
        kept && idle
    }

    /// Forgets everything that was said, and retires it for good: what is published to it begins another one, and its viewers are to
    /// begin again there. False if there is nothing to delete: nothing was ever said, or it is being imported.
    pub(in crate::hub) fn delete(&self) -> bool {
        let mut state = self.state.lock();
        let is_empty = state.view.seq == 0 && state.withheld.is_empty();
        if state.retired || state.reserved || is_empty {
            return false;
        }
        let left = std::mem::replace(
            &mut *state,
            ConversationState { retired: true, ..ConversationState::default() },
        );
        self.over.store(true, Ordering::Release);
        drop(state);
        left.give_up_withheld();
        self.appended.notify_waiters();
        true
    }

    /// The ticket of everything that the conversation has given to the log so far.
    pub fn ticket(&self) -> Ticket {
        self.state.lock().ticket
    }
}

impl ConversationState {
    /// Whether one of the newest runs goes on.
    fn is_running(&self) -> bool {
        self.view.runs.values().rev().take(RUNS_LOOKED_AT).any(model::view::RunView::is_running)
    }
}

/// How many of the newest runs are looked at. In a conversation with very many runs, older ones that never
/// ended will not go on.
const RUNS_LOOKED_AT: usize = 64;
