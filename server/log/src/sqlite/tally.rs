//! The number of conversations in the log, for those who ask often.

use std::sync::atomic::{AtomicU64, Ordering};

use super::commit::Outcome;

/// The number of conversations in the file. The writer updates it after each commit; everybody else only reads it.
#[derive(Debug)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Begins with the number of conversations in the file.
    pub(super) fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    /// Counts what a commit has made and removed.
    pub(super) fn commit(&self, outcome: &Outcome) {
        self.0.fetch_add(outcome.made, Ordering::Relaxed);
        self.0.fetch_sub(outcome.removed, Ordering::Relaxed);
    }

    /// How many conversations there are.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
