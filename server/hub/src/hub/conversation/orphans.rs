//! The part of a conversation that deals with runs whose publishers are gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::EventLog;
use model::event::{Kind, RunStart};
use model::{Envelope, Event, RunId};
use redact::Redactor;

use super::{Conversation, ConversationState};
use crate::hub::Publication;
use crate::hub::orphans::attendance::OrphanVerdict;
use crate::hub::orphans::{OrphanTimeouts, PublisherConnection};

impl Conversation {
    /// Notes that the connection `number` is gone. True if a run is now attended by nobody and the timer must
    /// look.
    pub(in crate::hub) fn unattend(&self, number: u64, now: u64) -> bool {
        let mut state = self.state.lock();
        let now = state.at.max(now);
        state.attendance.leave(number, now)
    }

    /// Notes that the connection `number` is gone and that its publisher does not come back. True if the timer must look now.
    pub(in crate::hub) fn unattend_for_good(&self, number: u64, now: u64) -> bool {
        let mut state = self.state.lock();
        let now = state.at.max(now);
        state.attendance.leave_for_good(number, now)
    }

    /// Notes that the publishers of those runs that `is_over` names do not come back. True if nobody attends one of them and the timer
    /// must look now.
    pub(in crate::hub) fn lose_runs(&self, is_over: impl Fn(&RunId) -> bool) -> bool {
        self.state.lock().attendance.lose_runs(is_over)
    }

    /// Begins to wait for the publishers of all running runs, after the conversation was read back. True if
    /// there are any and the timer must look.
    pub(in crate::hub) fn adopt(&self, now: u64) -> bool {
        // What is said of the runs of a copy is said of the original, and copied.
        if self.id.is_frozen() {
            return false;
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        state.attendance.adopt(&state.view, state.at, state.at.max(now))
    }

    /// Appends what is due at `now` about runs that nobody attends: that they are stalled, or that they are
    /// lost. The verdict counts both and says when to look again.
    pub(in crate::hub) fn judge_orphans(
        &self,
        patience: &OrphanTimeouts,
        now: u64,
        log: &dyn EventLog,
        redactor: Option<&Redactor>,
    ) -> OrphanVerdict {
        let verdict = {
            let mut state = self.state.lock();
            if state.retired || self.is_followed() {
                return OrphanVerdict::default();
            }
            let now = state.at.max(now);
            let ConversationState { attendance, view, .. } = &mut *state;
            let mut verdict = attendance.judge(view, patience, now);
            if verdict.events.is_empty() {
                return verdict;
            }
            let events = std::mem::take(&mut verdict.events).into_iter().map(bare).collect();
            let mut publication = Publication::beside(events);
            if let Some(redactor) = redactor {
                // An end may come of it, behind which nothing is said.
                self.release_withheld(&mut state, now, log, redactor);
                state.texts.take(redactor, &mut publication.events);
            }
            if let Err(error) = self.take(&mut state, &mut publication, now, log) {
                tracing::error!(%error, conversation = self.id.as_str(), "what the hub said of a run is not kept");
            }
            self.head.store(state.view.seq, Ordering::Release);
            verdict
        };
        self.appended.notify_waiters();
        verdict
    }
}

impl ConversationState {
    /// Notes who publishes to the run of an event, before the event is taken. If the hub has said that the
    /// run was stalled or lost, this takes that back: the returned event, which the log stores, says that the
    /// run goes on.
    pub(super) fn hear(
        &mut self,
        speaker: PublisherConnection,
        envelope: &Envelope,
    ) -> Option<Arc<Envelope>> {
        if !self.attendance.hear(speaker, envelope, self.at) {
            return None;
        }
        self.add(bare(Event::new(&envelope.event.run, Kind::RunStart(RunStart::default()))), None)
    }
}

/// An envelope without seq, time or publisher, as the hub's own events begin.
fn bare(event: Event) -> Envelope {
    Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false }
}
