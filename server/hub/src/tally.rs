//! The hub's counters: relaxed atomics of the process, raised once for each publication or shared frame. The
//! names under which they are shown are in `metrics` of the server.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// A counter at 0.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds `more` to the counter.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Adds one to the counter.
    pub fn one(&self) {
        self.add(1);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of the process. Each begins at 0 and only grows.
#[derive(Debug)]
pub struct Tally {
    /// Publications that were taken.
    pub publications: Count,
    /// Events in them.
    pub events: Count,
    /// Their weight in bytes, about that of their JSON.
    pub bytes: Count,
    /// Publications that had been taken before.
    pub duplicates: Count,
    /// Publications refused because earlier ones of the same publisher are missing.
    pub gaps: Count,
    /// Publications refused because a newer epoch of the publisher is known.
    pub fenced: Count,
    /// Publications refused because their conversation is as large as one may get.
    pub full: Count,
    /// Publications refused for the moment because memory is short and their conversation is large.
    pub crowded: Count,
    /// Frames of conversations that sockets took whole from pumps.
    pub frames: Count,
    /// Bytes of those frames.
    pub frame_bytes: Count,
    /// Slices that were encoded.
    pub encoded: Count,
    /// Slices that were needed and had been encoded already.
    pub encodes_shared: Count,
    /// Snapshots that were encoded.
    pub snapshots: Count,
    /// Snapshots that were needed and had been encoded already.
    pub snapshots_shared: Count,
}

/// The counters of this process.
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
