//! When operations become rows: at once what somebody asks for, soon what is stored only as rows, and a
//! second later what the journal has. The writer asks when it is due, and takes what is.
//!
//! ```text
//! operation                       stored     rows after
//! events                          journal    1 s, 8 MiB, or at once when somebody reads
//! removals, purges                journal    at once
//! synced events, imports          as rows    20 ms, or at once when somebody waits
//! states, rows of the list        not asked  with the others
//!
//! without a journal, as in PostgreSQL, all events are stored as rows
//! ```

use std::time::Instant;

use model::Seq;

use super::{GATHER, GROUP_BYTES_MAX, LogLifecycle, QueueState, ROWS_AFTER, UNWRITTEN};
use crate::ops::{Op, Queued, QueuedCoverage, WritePath};

impl QueueState {
    /// What the queue had of the conversation of `op`, whose head is `head` after it. Only a conversation
    /// without a hole whose queued events reach `head` is covered.
    pub(super) fn knows(&self, op: &Op, head: Option<Seq>) -> QueuedCoverage {
        let end = op.conversation().and_then(|conversation| self.ends.get(conversation));
        match (end, head) {
            (Some(end), Some(head)) if !end.is_holed() && head <= end.head => QueuedCoverage::Whole,
            _ => QueuedCoverage::Less,
        }
    }

    /// Whether something waits that is stored only as rows. While the journal is off, everything is.
    pub(super) fn waits_for_rows(&self) -> bool {
        self.rows_since.is_some() || self.journal_is_off
    }

    /// Whether so much waits that some of it must become rows before more is promised. Appends beyond it wait
    /// in memory without being promised.
    pub(super) fn is_long(&self) -> bool {
        self.bytes > self.rows_bytes.saturating_mul(UNWRITTEN)
    }

    /// When the writer must write next; `since` is when the oldest operation came. A time in the past means
    /// at once.
    pub(super) fn rows_due(&self, since: Instant, now: Instant) -> Instant {
        let waited = self.group_commit.due(now).filter(|_| self.waits_for_rows());
        let gathered = if self.journal_is_off { Some(since) } else { self.rows_since };
        let gathered = gathered.map(|since| since + GATHER);
        [waited, gathered].into_iter().flatten().fold(since + ROWS_AFTER, Instant::min)
    }

    /// Whether rows are written now, whatever has waited how long.
    pub(super) fn writes_at_once(&self) -> bool {
        self.is_urgent() || self.bytes >= self.rows_bytes || self.lifecycle != LogLifecycle::Open
    }

    /// Whether the writer works at present: the log is open, and no test holds it back.
    pub(super) fn goes_on(&self) -> bool {
        #[cfg(any(test, feature = "testkit"))]
        if self.write_hold.holds() {
            return false;
        }
        self.lifecycle == LogLifecycle::Open
    }

    /// Takes what is written as rows next: what the journal has, so that entries go on meanwhile. If it has
    /// nothing, everything is taken that cannot become stored in another way. At most about
    /// [`GROUP_BYTES_MAX`] bytes.
    pub(super) fn take(&mut self) -> Vec<Queued> {
        let has_stored = self.ops.front().is_some_and(|queued| queued.ticket <= self.stored);
        // Without a journal there is no entry that could go on.
        let is_ahead = has_stored && !self.journal_is_off;
        let until = if is_ahead || !self.stores_as_rows() { self.stored } else { u64::MAX };
        let mut bytes = 0;
        let mut taken = Vec::new();
        while let Some(queued) = self.ops.pop_front() {
            bytes += queued.bytes + queued.shared_bytes;
            // A purge becomes rows with its removal.
            let is_full = bytes > GROUP_BYTES_MAX && !taken.is_empty() && !matches!(queued.op, Op::Purge(_));
            if is_full || queued.ticket > until {
                self.ops.push_front(queued);
                break;
            }
            self.taken = queued.ticket;
            self.shared_bytes = self.shared_bytes.saturating_sub(queued.shared_bytes);
            taken.push(queued);
        }
        self.has_taken();
        taken
    }

    /// Whether what waits next is stored only as rows, whatever it is.
    fn stores_as_rows(&self) -> bool {
        #[cfg(any(test, feature = "testkit"))]
        if self.write_hold.is_controlled() && self.is_urgent() {
            return true;
        }
        self.waits_for_rows() || self.lifecycle != LogLifecycle::Open || self.is_long()
    }

    /// Brings the times and sums up to date after operations were taken.
    pub(super) fn has_taken(&mut self) {
        let now = Instant::now();
        if self.taken > self.stored {
            // Whoever waits now waits for the writer.
            self.group_commit.written(now);
            (self.entry_since, self.entry_bytes) = (None, 0);
        }
        self.since = (!self.ops.is_empty()).then_some(now);
        if self.rows_since.is_some() {
            let is_left = self.ops.iter().any(|queued| queued.write_path == WritePath::Database);
            self.rows_since = self.rows_since.filter(|_| is_left);
        }
        if self.entry_since.is_none()
            && self
                .ops
                .iter()
                .any(|queued| queued.write_path == WritePath::Journal && queued.ticket > self.stored)
        {
            self.entry_since = Some(now);
        }
    }
}
