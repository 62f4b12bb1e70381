//! What is counted where it happens, once for each publication or frame that many share: relaxed atomics of the process.
//! Their names are elsewhere, see [`crate::metrics`].

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// So many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// One more.
    pub(crate) fn one(&self) {
        self.add(1);
    }

    /// How many so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of the process. Each only grows, from 0 at the start.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Publications that were taken.
    pub(crate) publications: Count,
    /// Their events.
    pub(crate) events: Count,
    /// What those weigh, about as JSON.
    pub(crate) bytes: Count,
    /// Publications that had been taken before.
    pub(crate) duplicates: Count,
    /// Publications that were refused since others are missing.
    pub(crate) gaps: Count,
    /// Publications of older lives.
    pub(crate) fenced: Count,
    /// Frames of conversations that sockets took.
    pub(crate) frames: Count,
    /// Their bytes.
    pub(crate) frame_bytes: Count,
    /// Slices that were encoded.
    pub(crate) encoded: Count,
    /// Slices that somebody else had encoded.
    pub(crate) encodes_shared: Count,
    /// Snapshots that were encoded.
    pub(crate) snapshots: Count,
    /// Snapshots that somebody else had encoded.
    pub(crate) snapshots_shared: Count,
    /// Requests that were passed on.
    pub(crate) proxied: Count,
    /// Recordings of them that have a hole.
    pub(crate) copies_lost: Count,
}

/// Of this process.
pub(crate) static TALLY: Tally = Tally {
    publications: Count::new(),
    events: Count::new(),
    bytes: Count::new(),
    duplicates: Count::new(),
    gaps: Count::new(),
    fenced: Count::new(),
    frames: Count::new(),
    frame_bytes: Count::new(),
    encoded: Count::new(),
    encodes_shared: Count::new(),
    snapshots: Count::new(),
    snapshots_shared: Count::new(),
    proxied: Count::new(),
    copies_lost: Count::new(),
};
