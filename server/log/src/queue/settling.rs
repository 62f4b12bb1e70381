//! What readers of the log and the hub need of the queue: waiting until something is rows, and which conversations have a hole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ConversationId, Epoch, Seq};

use super::{LogLifecycle, Queue};
use crate::ops::{Op, WeighedOp};
use crate::queued_ends::QueuedEnd;
use crate::{Health, LogError, QueryCancel, Ticket};

/// How long a list waits for removals to become rows. The writer may be busy for minutes, as while it writes the file anew.
const LIST_WAITS_MAX: Duration = Duration::from_secs(1);

/// How often who waits looks whether to wait on.
pub(super) const LOOK: Duration = Duration::from_millis(20);

impl Queue {
    /// The conversations with a hole, each named once, if there is room for checkpoints.
    pub(crate) fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        if self.is_failing() {
            return Vec::new();
        }
        let mut state = self.state.lock();
        if state.bytes > self.bytes_max / 2 {
            return Vec::new();
        }
        std::mem::take(&mut state.unnamed).into_iter().collect()
    }

    /// All conversations of which events are missing.
    pub(crate) fn holed(&self) -> Vec<ConversationId> {
        self.state.lock().ends.holed().into_iter().map(|(conversation, _)| conversation).collect()
    }

    /// Waits until everything of `conversation` is rows; fails if nothing can be written.
    pub(crate) fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        let ticket = self.state.lock().ends.get(conversation).map_or(0, |end| end.ticket);
        self.settle_to(ticket)
    }

    /// Waits until everything that figures are made of is rows, if it can be written.
    pub(crate) fn settle_found(&self) {
        let ticket = self.state.lock().found_at;
        // If it cannot be written, figures are those of what was written.
        drop(self.settle_to(ticket));
    }

    /// As [`Queue::settle_found`], until `stop` is called at the most.
    pub(crate) fn settle_found_unless(&self, stop: &QueryCancel) {
        let ticket = self.state.lock().found_at;
        drop(self.settle_unless(ticket, Some(&|| stop.is_cancelled())));
    }

    /// Waits until no conversation that was removed is in the database, if it can be written; [`LIST_WAITS_MAX`] at the most.
    pub(crate) fn settle_removals(&self) {
        let ticket = self.state.lock().removed_at;
        let deadline = Instant::now() + LIST_WAITS_MAX;
        // Otherwise the list is what the database has.
        drop(self.settle_unless(ticket, Some(&|| Instant::now() >= deadline)));
    }

    /// Waits until everything up to `ticket` is rows; fails if nothing can be written.
    pub(crate) fn settle_to(&self, ticket: u64) -> Result<(), LogError> {
        self.settle_unless(ticket, None)
    }

    /// As [`Queue::settle_to`], until `is_over` says so at the most. It is asked every [`LOOK`].
    pub(super) fn settle_unless(
        &self,
        ticket: u64,
        is_over: Option<&dyn Fn() -> bool>,
    ) -> Result<(), LogError> {
        #[cfg(any(test, feature = "testkit"))]
        let _goes_on = self.release_writer();
        let mut state = self.state.lock();
        loop {
            let (indexed, health) = {
                let progress = self.progress.borrow();
                (progress.indexed, progress.health.clone())
            };
            if indexed >= Ticket(ticket) {
                return Ok(());
            }
            if let Health::Failing(fault) = health {
                return Err(LogError::Failing(fault.what));
            }
            if state.lifecycle == LogLifecycle::Dropped {
                return Err(LogError::Failing(Arc::from("it has ended")));
            }
            state.rows_to = state.rows_to.max(ticket);
            self.entries.notify_one();
            self.work.notify_one();
            match is_over {
                Some(is_over) if is_over() => return Ok(()),
                Some(_) => drop(self.done.wait_for(&mut state, LOOK)),
                None => self.done.wait(&mut state),
            }
        }
    }

    /// Notes the head of a conversation that was read. Returns whether it had a hole, which is forgotten: its
    /// reader goes on in a new epoch.
    pub(crate) fn enter(&self, conversation: &ConversationId, head: Seq) -> bool {
        let mut state = self.state.lock();
        if let Some(end) = state.ends.get(conversation)
            && !end.is_holed()
        {
            return false;
        }
        state.unnamed.shift_remove(conversation);
        state.ends.put(conversation, QueuedEnd::at(head, 0))
    }

    /// As [`Self::enter`], where a database may have lost what was written, as by the promotion of a standby that lacked something: less is read then
    /// than was written, and the reader goes on in a new epoch as well. `head` must have been read after everything was written.
    pub(crate) fn enter_after_loss(&self, conversation: &ConversationId, head: Seq) -> bool {
        let is_lost = self.forget_lost(conversation, head);
        self.enter(conversation, head) || is_lost
    }

    /// Forgets where a conversation ends if less of it was read than was written. Returns whether that is so.
    fn forget_lost(&self, conversation: &ConversationId, head: Seq) -> bool {
        let known = self.state.lock().ends.get(conversation).map(|end| (end.is_holed(), end.head));
        let is_lost = known.is_some_and(|(is_holed, written)| !is_holed && written > head);
        if is_lost {
            self.forget(conversation);
        }
        is_lost
    }

    /// Forgets the hole of a conversation that is not in the file. Nothing is noted of a name that nobody
    /// wrote to.
    pub(crate) fn absent(&self, conversation: &ConversationId) {
        let mut state = self.state.lock();
        if state.ends.get(conversation).is_some_and(QueuedEnd::is_holed) {
            state.ends.remove(conversation);
            state.unnamed.shift_remove(conversation);
        }
    }

    /// As [`Self::absent`], where a database may have lost all of the conversation.
    pub(crate) fn absent_after_loss(&self, conversation: &ConversationId) {
        self.forget_lost(conversation, 0);
        self.absent(conversation);
    }

    /// Forgets where a conversation ends of which everything is written.
    pub(crate) fn forget(&self, conversation: &ConversationId) {
        let mut state = self.state.lock();
        state.unnamed.shift_remove(conversation);
        state.ends.remove(conversation);
    }

    /// The number of conversations that it remembers.
    #[cfg(test)]
    pub(crate) fn known(&self) -> usize {
        self.state.lock().ends.len()
    }

    /// Queues the new epoch of a conversation.
    pub(crate) fn rename(&self, conversation: &ConversationId, epoch: Epoch) {
        let mut state = self.state.lock();
        let head = state.ends.get(conversation).map(|end| end.head);
        self.push(&mut state, WeighedOp::of(Op::Rename(conversation.clone(), epoch)), head);
    }
}
