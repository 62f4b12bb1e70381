//! A log for tests that writes only on command and whose disk can be made full.
//!
//! The writer asks [`WriteHold`], under the queue's lock, whether it may go on. A test holds the [`WriteControl`],
//! which changes that state. So a test can stop between two steps of a log and see what is stored at exactly
//! that point.

use std::sync::Arc;

use crate::queue::{LogLifecycle, Queue};

/// The state that holds the writer back.
#[derive(Debug, Default)]
pub(crate) struct WriteHold {
    /// Whether a hand controls the log. It never turns back to false.
    is_held: bool,
    /// How many callers wait for a write; the writer runs while there are any.
    waiting: usize,
    /// Whether writes to the journal and the database fail as on a full disk.
    is_full: bool,
    /// Whether an entry is to be written to the journal now.
    wants_entry: bool,
    /// How many commits have failed, so that [`WriteControl::write`] does not wait for one that cannot succeed.
    failures: u64,
}

impl WriteHold {
    /// Whether the writer must wait. False while somebody waits for rows, for example a test that reads.
    pub(crate) fn holds(&self) -> bool {
        self.is_held && self.waiting == 0
    }

    /// Whether the journal cannot be written.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether an entry is to be written now.
    pub(crate) fn wants_entry(&self) -> bool {
        self.wants_entry
    }

    /// Notes that the wanted entry was written or could not be.
    pub(crate) fn has_entry(&mut self) {
        self.wants_entry = false;
    }

    /// Counts one more commit that failed.
    pub(crate) fn failed(&mut self) {
        self.failures += 1;
    }

    /// Whether a [`WriteControl`] controls the log.
    pub(crate) fn is_controlled(&self) -> bool {
        self.is_held
    }
}

/// Controls the writer of one log: nothing becomes rows, and nothing is written to the journal, before a
/// method of it says so or somebody waits for the rows. Dropping it leaves the log held.
#[derive(Debug)]
pub struct WriteControl {
    queue: Arc<Queue>,
}

impl WriteControl {
    /// Takes control of `queue`: from now on its log writes only on command.
    pub(crate) fn of(queue: &Arc<Queue>) -> Self {
        queue.state.lock().write_hold.is_held = true;
        Self { queue: Arc::clone(queue) }
    }

    /// Writes everything that is queued, unless the disk is full. Returns when everything that was queued
    /// before the call is rows, or when a commit has failed.
    pub fn write(&self) {
        let _goes_on = self.queue.release_writer();
        let mut state = self.queue.state.lock();
        let (newest, failures) = (state.tickets, state.write_hold.failures);
        while self.queue.progress.borrow().indexed.0 < newest && state.write_hold.failures == failures {
            state.wants_all_rows();
            self.queue.work.notify_one();
            self.queue.done.wait(&mut state);
        }
    }

    /// Writes what is queued to the journal as one entry, without writing rows. Has no effect on a full disk.
    pub fn write_entry(&self) {
        let mut state = self.queue.state.lock();
        state.write_hold.wants_entry = true;
        while state.write_hold.wants_entry && state.lifecycle() == LogLifecycle::Open {
            self.queue.entries.notify_all();
            self.queue.done.wait(&mut state);
        }
    }

    /// Makes the disk full, or usable again. A commit that was tried meanwhile has failed and is tried again.
    pub fn fill_the_disk(&self, is_full: bool) {
        self.queue.state.lock().write_hold.is_full = is_full;
    }
}

/// Lets the writer run until it is dropped.
#[derive(Debug)]
pub(crate) struct HoldRelease<'a>(&'a Queue);

impl Drop for HoldRelease<'_> {
    fn drop(&mut self) {
        self.0.state.lock().write_hold.waiting -= 1;
    }
}

impl Queue {
    /// Lets the writer run.
    pub(crate) fn release_writer(&self) -> HoldRelease<'_> {
        self.state.lock().write_hold.waiting += 1;
        self.work.notify_all();
        HoldRelease(self)
    }

    /// Whether the disk was made full.
    pub(crate) fn is_full(&self) -> bool {
        self.state.lock().write_hold.is_full
    }
}
