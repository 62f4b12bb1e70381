//! How many viewers a conversation has, as its viewers were last told.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of viewers that was last told, and whether it must be counted again. Owned by its conversation.
#[derive(Debug, Default)]
pub struct Counted {
    /// The number that is told.
    told: AtomicUsize,
    /// How often a number was told.
    times: AtomicUsize,
    /// Whether the conversation waits to be counted again.
    noted: AtomicBool,
}

impl Counted {
    /// Notes that viewers came or went. True if the conversation did not yet wait to be counted.
    pub(crate) fn note(&self) -> bool {
        !self.noted.swap(true, Ordering::AcqRel)
    }

    /// Takes `count` as the number to tell.
    pub(super) fn take(&self, count: impl FnOnce() -> usize) {
        // Cleared before the counting: what happens meanwhile is noted again.
        self.noted.store(false, Ordering::Release);
        self.told.store(count(), Ordering::Release);
        self.times.fetch_add(1, Ordering::AcqRel);
    }

    /// The number to tell, and how often one was told so far; with 0 as the second figure there is nothing to
    /// tell yet.
    pub fn told(&self) -> (usize, usize) {
        let times = self.times.load(Ordering::Acquire);
        (self.told.load(Ordering::Acquire), times)
    }

    /// Whether viewers came or went since the number was taken.
    pub fn is_stale(&self) -> bool {
        self.noted.load(Ordering::Acquire)
    }
}
