//! The number of conversations in the log. Kept beside the database, so that [`crate::EventLog::count`] does
//! not wait.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of conversations in the log. The writer updates it after each commit; everybody else only reads it.
#[derive(Debug)]
pub(crate) struct ConversationCount(AtomicU64);

impl ConversationCount {
    /// A tally that begins with `count` conversations.
    pub(crate) fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    /// Counts conversations that a commit made and removed.
    pub(crate) fn commit(&self, made: u64, removed: u64) {
        self.0.fetch_add(made, Ordering::Relaxed);
        self.0.fetch_sub(removed, Ordering::Relaxed);
    }

    /// The number of conversations.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
