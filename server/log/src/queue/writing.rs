//! The queue from the writer's side: what is next, what was written, what could not be. [`Queue::next`] hands
//! a group to the writer, whose operations are no longer in the queue but still count against its bound. For
//! each group the writer reports exactly one of: [`Queue::wrote`], or [`Queue::unwritten`] when the log ends
//! first. Before `wrote` it names what is missing from the group with [`Queue::lose`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::frame::Durability;
use model::{ConversationId, Seq};

use super::{
    GATHER, LOST_MAX, LogLifecycle, QUEUED_ENDS_MAX, Queue, SWEEP_PATIENCE, SWEEP_PAUSE, WriterStep,
};
use crate::ops::{Op, Queued, WritePath};
use crate::{Health, Ticket, Unwritten, WriteFault};

impl Queue {
    /// Counts a transaction and how long it took.
    pub(crate) fn committed(&self, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.commit_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Waits until there is something for the writer to do. Returns [`WriterStep::Write`] with at least one
    /// operation. When the log was dropped, what waits stays in the queue.
    pub(crate) fn next(&self) -> WriterStep {
        let mut state = self.state.lock();
        loop {
            match state.lifecycle {
                LogLifecycle::Dropped => return WriterStep::Leave,
                LogLifecycle::Closing if state.ops.is_empty() => return WriterStep::Close,
                _ => {}
            }
            if state.lifecycle == LogLifecycle::Open && state.sweep_is_due(Instant::now()) {
                return WriterStep::Sweep;
            }
            let now = Instant::now();
            let due = state.since.map(|since| state.rows_due(since, now));
            let writes = due.is_some_and(|due| due <= now || state.writes_at_once());
            if state.words_are_due(now) && !(writes && state.words_give_way()) {
                return WriterStep::IndexWords;
            }
            let Some(due) = due else {
                let sweep = state.sweep_at.filter(|_| state.lifecycle == LogLifecycle::Open);
                match [sweep, state.words_at()].into_iter().flatten().min() {
                    Some(due) => drop(self.work.wait_until(&mut state, due)),
                    None => self.work.wait(&mut state),
                }
                continue;
            };
            #[cfg(any(test, feature = "testkit"))]
            if state.write_hold.holds() && state.lifecycle == LogLifecycle::Open {
                self.work.wait(&mut state);
                continue;
            }
            if writes {
                let group = state.take();
                if !group.is_empty() {
                    state.words.commits();
                    return WriterStep::Write(group);
                }
                // The journal has nothing of it yet, and comes first.
                self.entries.notify_one();
                self.work.wait_for(&mut state, GATHER);
                continue;
            }
            // Rows of removed conversations are deleted meanwhile, and words are added.
            let sweep = state.sweep_at.map(|at| at + SWEEP_PATIENCE);
            let until = [sweep, state.words_at()].into_iter().flatten().fold(due, Instant::min);
            self.work.wait_until(&mut state, until);
        }
    }

    /// For a writer that a test drives: takes what waits, whether or not it is due.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn take_now(&self) -> Vec<Queued> {
        self.state.lock().take()
    }

    /// Plans the next step of deleting; the last one took `took`.
    pub(crate) fn sweep_after(&self, took: Duration) {
        // Deleting takes at most half of the time, so that what comes meanwhile waits for one step at most.
        self.state.lock().sweep_at = Some(Instant::now() + took.max(SWEEP_PAUSE));
    }

    /// Notes that there are no rows to delete.
    pub(crate) fn swept(&self) {
        self.state.lock().sweep_at = None;
    }

    /// For a writer that has no room: takes everything that waits if a removal is among it, which makes room, and
    /// otherwise nothing. The bytes stay counted. What is taken counts as stored once the writer says so.
    pub(crate) fn take_if_removals_wait(&self) -> VecDeque<Queued> {
        let mut state = self.state.lock();
        if !state.ops.iter().any(|queued| matches!(queued.op, Op::Remove(_))) {
            return VecDeque::new();
        }
        let waiting = std::mem::take(&mut state.ops);
        state.shared_bytes = 0;
        state.taken = waiting.back().map_or(state.taken, |queued| queued.ticket);
        state.has_taken();
        waiting
    }

    /// For the writer in the middle of a commit: waits for `pause`, less if something becomes due. Returns false at once
    /// if rows are to be written as fast as possible: somebody waits for some, much waits to be written, or the log ends.
    pub(crate) fn pause_commit(&self, pause: Duration) -> bool {
        let mut state = self.state.lock();
        let is_awaited = Ticket(state.rows_to) > self.progress.borrow().indexed
            || state.bytes >= state.rows_bytes
            || state.waits_for_rows()
            || state.words.is_awaited()
            || state.lifecycle != LogLifecycle::Open;
        if !is_awaited {
            self.work.wait_for(&mut state, pause);
        }
        !is_awaited
    }

    /// Waits for `pause`, less if the log ends. Returns how far the log is on its way to its end.
    pub(crate) fn pause(&self, pause: Duration) -> LogLifecycle {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        #[cfg(any(test, feature = "testkit"))]
        if state.write_hold.is_controlled() {
            while state.lifecycle == LogLifecycle::Open && state.write_hold.holds() {
                self.work.wait(&mut state);
            }
            return state.lifecycle;
        }
        while state.lifecycle != LogLifecycle::Dropped && !self.work.wait_until(&mut state, until).timed_out()
        {
        }
        state.lifecycle
    }

    /// Notes that everything up to `ticket`, `bytes` in all, is rows, and what that means. Those who wait for the tickets are woken, room in the queue is announced, and a journal that
    /// failed is used again.
    pub(crate) fn wrote(&self, ticket: u64, bytes: usize, level: Durability) {
        let mut state = self.state.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        state.stored = state.stored.max(ticket);
        state.pass_optional();
        let stored = Ticket(state.stored);
        if state.journal_is_off && state.has_journal {
            // There is room again, for the journal too.
            state.journal_is_off = false;
        }
        if state.entry_since.is_none()
            && state
                .ops
                .iter()
                .any(|queued| queued.write_path == WritePath::Journal && queued.ticket > state.stored)
        {
            state.entry_since = Some(Instant::now());
        }
        state.ends.healed(ticket);
        let full = state.bytes > self.bytes_max / 2;
        self.progress.send_modify(|progress| {
            progress.stored = progress.stored.max(stored);
            progress.indexed = progress.indexed.max(Ticket(ticket));
            progress.raise(Ticket(ticket), level);
            progress.health = Health::Well;
            progress.full = full;
        });
        // The database has those that are forgotten here.
        state.ends.trim(QUEUED_ENDS_MAX, ticket);
        drop(state);
        self.entries.notify_one();
        self.done.notify_all();
    }

    /// Notes that nothing can be written, and why. Those who wait get the error. Publishers are no longer
    /// asked to wait, since waiting would not help.
    pub(crate) fn failed(&self, fault: WriteFault) {
        #[cfg_attr(
            not(any(test, feature = "testkit")),
            expect(unused_mut, reason = "a test counts failures")
        )]
        let mut state = self.state.lock();
        #[cfg(any(test, feature = "testkit"))]
        state.write_hold.failed();
        self.progress.send_modify(|progress| {
            (progress.health, progress.full) = (Health::Failing(fault), false);
        });
        drop(state);
        self.done.notify_all();
    }

    /// Notes that another hub has taken over.
    pub(crate) fn overtaken(&self) {
        self.progress.send_modify(|progress| progress.is_overtaken = true);
    }

    /// Notes the most that a commit means from now on, where settings outside the hub decide that.
    pub(crate) fn offers(&self, level: Durability) {
        self.progress.send_if_modified(|progress| progress.offered.replace(level) != Some(level));
    }

    /// Notes what is known by now of everything up to `ticket`, which was written before.
    pub(crate) fn confirm(&self, ticket: Ticket, level: Durability) {
        self.progress.send_if_modified(|progress| {
            let before = (progress.synced, progress.replicated);
            progress.raise(ticket, level);
            before != (progress.synced, progress.replicated)
        });
    }

    /// Notes that the operation `ticket` will not be in the log. Call it before the ticket is passed.
    /// [`LOST_MAX`] are remembered; the oldest are forgotten first.
    pub(crate) fn lose(&self, ticket: u64) {
        self.progress.send_modify(|progress| {
            let lost = Arc::make_mut(&mut progress.lost);
            lost.insert(Ticket(ticket));
            while lost.len() > LOST_MAX {
                lost.pop_first();
            }
        });
    }

    /// Counts operations that were set aside.
    pub(crate) fn count_aside(&self, ops: u64) {
        self.set_aside.fetch_add(ops, Ordering::Relaxed);
    }

    /// Notes that events of `conversation` do not continue what is written, which ends at `head`: it has a
    /// hole now. From now on its events are left out until a checkpoint brings its state.
    pub(crate) fn misfit(&self, conversation: &ConversationId, head: Seq) {
        self.state.lock().hole(conversation, head);
    }

    /// Notes that the database refuses even the state of `conversation`, whose rows end at `head`. No more of
    /// it is taken until it is read again.
    pub(crate) fn give_up(&self, conversation: &ConversationId, head: Seq) {
        let mut state = self.state.lock();
        state.hole(conversation, head);
        state.unnamed.shift_remove(conversation);
        state.ends.give_up(conversation);
    }

    /// Counts operations that will not be written.
    pub(crate) fn unwritten<'a>(&self, ops: impl Iterator<Item = &'a Queued>) {
        let mut state = self.state.lock();
        for queued in ops {
            // What the journal has is read at the next start.
            let is_stored = queued.write_path == WritePath::Journal && queued.ticket <= state.stored;
            if let (Op::Append(events), false) = (&queued.op, is_stored) {
                state.unwritten.add(&events.conversation, events.envelopes.len() as u64);
            }
        }
    }

    /// What was not written when the writer had ended; `None` if all was. Called once, after the threads have
    /// ended.
    pub(crate) fn left(&self) -> Option<Unwritten> {
        let rest = std::mem::take(&mut self.state.lock().ops);
        self.unwritten(rest.iter());
        let mut state = self.state.lock();
        let mut unwritten = std::mem::take(&mut state.unwritten);
        for (conversation, left_out) in state.ends.holed() {
            unwritten.add(&conversation, left_out);
        }
        unwritten.why = match &self.progress.borrow().health {
            Health::Failing(fault) => fault.what.to_string(),
            Health::Well => String::from("the log's queue was full when they came"),
        };
        (!unwritten.conversations.is_empty()).then_some(unwritten)
    }
}
