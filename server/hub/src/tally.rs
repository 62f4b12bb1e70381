//! What is counted where it happens, once for each publication or frame that many share: relaxed atomics of the process.
//! The names under which they are shown are the server's, in its `metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// A counter at 0.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// So many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Adds one to the counter.
    pub fn one(&self) {
        self.add(1);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of the process. Each only grows, from 0 at the start.
#[derive(Debug)]
pub struct Tally {
    /// Publications that were taken.
    pub publications: Count,
    /// Their events.
    pub events: Count,
    /// What those weigh, about as JSON.
    pub bytes: Count,
    /// Publications that had been taken before.
    pub duplicates: Count,
    /// Publications that were refused since others are missing.
    pub gaps: Count,
    /// Publications of older lives.
    pub fenced: Count,
    /// Publications that were refused since their conversation is as large as one may get.
    pub full: Count,
    /// Publications that were refused for the moment since memory is short and their conversation is large.
    pub crowded: Count,
    /// Frames of conversations that sockets took.
    pub frames: Count,
    /// Their bytes.
    pub frame_bytes: Count,
    /// Slices that were encoded.
    pub encoded: Count,
    /// Slices that somebody else had encoded.
    pub encodes_shared: Count,
    /// Snapshots that were encoded.
    pub snapshots: Count,
    /// Snapshots that somebody else had encoded.
    pub snapshots_shared: Count,
}

/// Of this process.
pub static TALLY: Tally = Tally {
    publications: Count::new(),
    events: Count::new(),
    bytes: Count::new(),
    duplicates: Count::new(),
    gaps: Count::new(),
    fenced: Count::new(),
    full: Count::new(),
    crowded: Count::new(),
    frames: Count::new(),
    frame_bytes: Count::new(),
    encoded: Count::new(),
    encodes_shared: Count::new(),
    snapshots: Count::new(),
    snapshots_shared: Count::new(),
};
