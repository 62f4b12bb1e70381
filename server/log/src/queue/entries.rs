//! The queue from the journal's side: what the next entry holds, and what became of it. An entry holds
//! appends, removals and purges in the order of their tickets, from the first that is not stored up to the first
//! operation that must become rows before. That one and what follows it are stored by the writer.

use std::time::Instant;

use super::{GATHER, GATHER_BYTES, GROUP_BYTES_MAX, LogLifecycle, Queue, QueueState};
use crate::ops::{JournalOp, Op, WritePath};
use crate::{Health, Ticket};

/// The contents of the next entry.
#[derive(Debug)]
pub(crate) struct NextEntry {
    /// The operations, each with its ticket. Empty if only operations wait that need not be stored.
    pub(crate) ops: Vec<(u64, JournalOp)>,
    /// Everything up to this ticket is stored once they are written.
    pub(crate) last: u64,
}

impl Queue {
    /// For the journal's thread: waits for an entry to write. `None` when the log ends, because the writer
    /// then writes everything. Also waits while the writer is busy with older operations, while the journal
    /// is off, and while nothing can be written.
    pub(crate) fn next_entry(&self) -> Option<NextEntry> {
        let mut state = self.state.lock();
        loop {
            if state.lifecycle != LogLifecycle::Open {
                return None;
            }
            #[cfg(any(test, feature = "testkit"))]
            if state.write_hold.is_controlled() {
                if let Some(entry) = self.entry_by_hand(&mut state) {
                    return Some(entry);
                }
                self.entries.wait(&mut state);
                continue;
            }
            if !self.journals(&state) {
                self.entries.wait(&mut state);
                continue;
            }
            let now = Instant::now();
            // Rows are made of what is stored, so whoever waits for rows waits for the entry first.
            let gathered = state
                .entry_since
                .map(|since| if state.stored < state.rows_to { now } else { since + GATHER });
            let Some(due) = gathered.into_iter().chain(state.group_commit.due(now)).min() else {
                self.entries.wait(&mut state);
                continue;
            };
            if now < due && state.entry_bytes < GATHER_BYTES {
                self.entries.wait_until(&mut state, due);
                continue;
            }
            if let Some(entry) = state.entry() {
                return Some(entry);
            }
            // An operation comes first that is stored only as rows.
            self.entries.wait(&mut state);
        }
    }

    /// Whether entries are written now. Not while the writer has what comes before them, and not while
    /// nothing can be written.
    fn journals(&self, state: &QueueState) -> bool {
        #[cfg(any(test, feature = "testkit"))]
        if state.write_hold.is_full() {
            return false;
        }
        let is_next = state.taken <= state.stored;
        is_next && !state.is_long() && !state.journal_is_off && self.progress.borrow().health == Health::Well
    }

    /// The entry that a hand wants, if there is one; else it is told that there is none.
    #[cfg(any(test, feature = "testkit"))]
    fn entry_by_hand(&self, state: &mut QueueState) -> Option<NextEntry> {
        let entry = (state.write_hold.wants_entry() && self.journals(state)).then(|| state.entry()).flatten();
        if entry.is_none() {
            state.write_hold.has_entry();
            self.done.notify_all();
        }
        entry
    }

    /// For the journal's thread: `entry` is written. Wakes those who wait for `stored`.
    pub(crate) fn journaled(&self, entry: &NextEntry) {
        let mut state = self.state.lock();
        state.stored = state.stored.max(entry.last);
        state.pass_optional();
        let stored = Ticket(state.stored);
        #[cfg(any(test, feature = "testkit"))]
        state.write_hold.has_entry();
        self.progress.send_modify(|progress| progress.stored = progress.stored.max(stored));
        if state.is_urgent() {
            self.work.notify_one();
        }
        drop(state);
        self.done.notify_all();
    }

    /// There is no journal, or it cannot be written. Everything is stored as rows until a commit succeeds; for ever, if no thread writes a
    /// journal.
    pub(crate) fn go_without_journal(&self) {
        let mut state = self.state.lock();
        state.journal_is_off = true;
        #[cfg(any(test, feature = "testkit"))]
        state.write_hold.has_entry();
        state.entry_since = None;
        // Whoever waits now waits for the writer.
        state.rows_to = state.tickets;
        drop(state);
        self.work.notify_one();
    }
}

impl QueueState {
    /// Counts as stored what comes next and need not be stored. True if there was any. The caller tells those
    /// who wait.
    pub(super) fn pass_optional(&mut self) -> bool {
        let (before, begin) = (self.stored, self.ops.partition_point(|queued| queued.ticket <= self.stored));
        let next = self.ops.range(begin..);
        // The writer may still have what comes before.
        if self.taken <= self.stored {
            let aside = next.take_while(|queued| queued.write_path == WritePath::Optional);
            self.stored = aside.last().map_or(before, |queued| queued.ticket);
        }
        self.stored > before
    }

    /// Collects the next entry; `None` if it would be empty.
    fn entry(&mut self) -> Option<NextEntry> {
        let begin = self.ops.partition_point(|queued| queued.ticket <= self.stored);
        let mut entry = NextEntry { ops: Vec::new(), last: self.stored };
        let mut bytes: usize = 0;
        for queued in self.ops.range(begin..) {
            // A purge is stored with its removal.
            if bytes > GROUP_BYTES_MAX && !matches!(queued.op, Op::Purge(_)) {
                break;
            }
            let op = match queued.write_path {
                WritePath::Journal => queued.op.journaled(),
                WritePath::Optional => None,
                WritePath::Database => break,
            };
            if let Some(op) = op {
                entry.ops.push((queued.ticket, op));
                bytes += queued.bytes + queued.shared_bytes;
            }
            entry.last = queued.ticket;
        }
        // Appends after other operations wait for the writer.
        let now = Instant::now();
        self.entry_since = (bytes > GROUP_BYTES_MAX).then_some(now);
        self.entry_bytes = 0;
        if entry.last <= self.stored {
            return None;
        }
        self.group_commit.written(now);
        Some(entry)
    }
}
