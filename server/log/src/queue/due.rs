//! When operations become rows: at once what somebody asks for, soon what is stored only as rows, and a
//! second later what the journal has. The writer asks when it is due, and takes what is.
//!
//! ```text
//! operation                       stored     rows after
//! events of a known conversation  journal    1 s, 8 MiB, or at once when somebody reads
//! first events, synced, removals  as rows    20 ms, or at once when somebody waits
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

    /// Takes what is written as rows next: everything if something waits for that, otherwise what the journal
    /// has. At most about [`GROUP_BYTES_MAX`] bytes.
    pub(super) fn take(&mut self) -> Vec<Queued> {
        let all =
            self.urgent || self.waits_for_rows() || self.lifecycle != LogLifecycle::Open || self.is_long();
        let until = if all { u64::MAX } else { self.stored };
        let mut bytes = 0;
        let mut taken = Vec::new();
        while let Some(queued) = self.ops.pop_front() {
            bytes += queued.bytes;
            if (bytes > GROUP_BYTES_MAX || queued.ticket > until) && !(taken.is_empty() && until == u64::MAX)
            {
                self.ops.push_front(queued);
                break;
            }
            self.taken = queued.ticket;
            taken.push(queued);
        }
        self.has_taken();
        taken
    }

    /// Brings the times and sums up to date after operations were taken.
    fn has_taken(&mut self) {
        let now = Instant::now();
        if self.taken > self.stored {
            // Whoever waits now waits for the writer.
            self.group_commit.written(now);
            (self.entry_since, self.entry_bytes) = (None, 0);
        }
        self.since = (!self.ops.is_empty()).then_some(now);
        self.urgent &= !self.ops.is_empty();
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
