//! The ladder: how well viewers keep up. A viewer whose socket takes everything is sent events as they
//! happen. One whose socket does not is sent less often, with the deltas that waited joined, or gets the
//! snapshot instead. It returns to the first rung only when nothing waits for it any more.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use model::frame::Rung;

/// A viewer counts as behind once it has been catching up for this long since its socket was full. Shorter pauses happen on any
/// network, and a frame that reports one would only add to the load.
pub const BEHIND_AFTER: Duration = Duration::from_millis(100);

/// Counts how many viewers are on each rung. Shared by all subscriptions of a hub.
#[derive(Debug, Default)]
pub struct Ladder {
    /// By rung, at the index that `number` gives.
    counts: [AtomicUsize; 3],
}

/// How many viewers are on each rung at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RungCounts {
    /// Viewers that are sent events as they happen.
    pub immediate: usize,
    /// Viewers that are sent what waited, joined.
    pub merged: usize,
    /// Viewers that get the snapshot instead of what they missed.
    pub snapshot: usize,
}

impl Ladder {
    /// How many viewers are on each rung now.
    pub fn viewers(&self) -> RungCounts {
        let [immediate, merged, snapshot] = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        RungCounts { immediate, merged, snapshot }
    }

    /// Adds one viewer to the count at index `place`, or takes one away.
    fn add(&self, place: u8, one: bool) {
        let Some(count) = self.counts.get(usize::from(place)) else { return };
        if one {
            count.fetch_add(1, Ordering::Relaxed);
        } else {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts a new viewer, on the first rung.
    pub(super) fn enter(&self) -> CurrentRung {
        self.add(number(Rung::Immediate), true);
        CurrentRung(AtomicU8::new(number(Rung::Immediate)))
    }

    /// Stops counting a viewer. A second call for the same viewer does nothing.
    pub(super) fn leave(&self, standing: &CurrentRung) {
        self.add(standing.0.swap(GONE, Ordering::AcqRel), false);
    }

    /// Moves a viewer to `rung`. Does nothing after `Ladder::leave`.
    pub fn step(&self, standing: &CurrentRung, rung: Rung) {
        let new = number(rung);
        let stepped = standing.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| {
            (old != GONE && old != new).then_some(new)
        });
        if let Ok(old) = stepped {
            self.add(old, false);
            self.add(new, true);
        }
    }
}

/// The value of a [`CurrentRung`] whose viewer has left.
const GONE: u8 = u8::MAX;

/// The index of `rung` in [`Ladder::counts`].
fn number(rung: Rung) -> u8 {
    match rung {
        Rung::Immediate => 0,
        Rung::Merged => 1,
        Rung::Snapshot => 2,
    }
}

/// The rung of one viewer. The ladder's counts include it until `Ladder::leave`; dropping it does not.
#[derive(Debug)]
pub struct CurrentRung(AtomicU8);

#[cfg(test)]
mod tests;
