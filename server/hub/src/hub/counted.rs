//! How many viewers a conversation was last said to have.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of viewers that was last told, and whether it has to be looked at again.
#[derive(Debug, Default)]
pub struct Counted {
    told: AtomicUsize,
    /// How often it was said.
    times: AtomicUsize,
    /// Whether somebody will look how many there are.
    noted: AtomicBool,
}

impl Counted {
    /// Viewers came or went. True when nobody was to look yet.
    pub(crate) fn note(&self) -> bool {
        !self.noted.swap(true, Ordering::AcqRel)
    }

    /// Takes the figure of now, which `count` reads.
    pub(super) fn take(&self, count: impl FnOnce() -> usize) {
        // Before it is read: what happens meanwhile is noted again.
        self.noted.store(false, Ordering::Release);
        self.told.store(count(), Ordering::Release);
        self.times.fetch_add(1, Ordering::AcqRel);
    }

    /// What is said, and for the how manieth time; nothing is said before the first.
    pub fn told(&self) -> (usize, usize) {
        let times = self.times.load(Ordering::Acquire);
        (self.told.load(Ordering::Acquire), times)
    }

    /// Whether what is said will be another number soon.
    pub fn is_stale(&self) -> bool {
        self.noted.load(Ordering::Acquire)
    }
}
