//! The hub's counters: relaxed atomics of the process, raised once for each publication or shared frame. The
//! names under which they are shown are in `metrics` of the crate `edge`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
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
    pub publications: Counter,
    /// Events in the publications that were taken.
    pub events: Counter,
    /// Their weight in bytes, about that of their JSON.
    pub bytes: Counter,
    /// Publications that had been taken before.
    pub duplicates: Counter,
    /// Publications refused because earlier ones of the same publisher are missing.
    pub gaps: Counter,
    /// Publications refused because a newer life of the publisher is known.
    pub fenced: Counter,
    /// Publications refused because their conversation is as large as one may get.
    pub full: Counter,
    /// Publications refused for the moment because memory is short and their conversation is large.
    pub crowded: Counter,
    /// Raw events that were left out because those of their run have used up its budget.
    pub raw_left_out: Counter,
    /// Frames of conversations that sockets took whole from pumps.
    pub frames: Counter,
    /// Bytes of those frames.
    pub frame_bytes: Counter,
    /// Slices that were encoded.
    pub encoded: Counter,
    /// Slices that were needed and had been encoded already.
    pub encodes_shared: Counter,
    /// Snapshots that were encoded.
    pub snapshots: Counter,
    /// Snapshots that were needed and had been encoded already.
    pub snapshots_shared: Counter,
}

/// The counters of this process.
pub static TALLY: Tally = Tally {
    publications: Counter::new(),
    events: Counter::new(),
    bytes: Counter::new(),
    duplicates: Counter::new(),
    gaps: Counter::new(),
    fenced: Counter::new(),
    full: Counter::new(),
    crowded: Counter::new(),
    raw_left_out: Counter::new(),
    frames: Counter::new(),
    frame_bytes: Counter::new(),
    encoded: Counter::new(),
    encodes_shared: Counter::new(),
    snapshots: Counter::new(),
    snapshots_shared: Counter::new(),
};
