//! How well viewers keep up. A viewer whose socket takes everything is told what happens as it happens; one whose socket
//! does not is told less often, with what waited joined, or gets the state instead. It goes back up only when nothing
//! waited for it any more.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use model::frame::Rung;

/// How long a socket must take nothing before its viewer counts as behind. Shorter stops are what any network has; to
/// speak of them would only add to the load.
pub const BEHIND_AFTER: Duration = Duration::from_millis(100);

/// How many viewers stand on each rung.
#[derive(Debug, Default)]
pub struct Ladder {
    counts: [AtomicUsize; 3],
}

/// See [`Ladder::viewers`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Viewers {
    /// Told what happens as it happens.
    pub immediate: usize,
    /// Told with what waited joined.
    pub merged: usize,
    /// Given the state instead of what they missed.
    pub snapshot: usize,
}

impl Ladder {
    /// The figures of now.
    pub fn viewers(&self) -> Viewers {
        let [immediate, merged, snapshot] = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Viewers { immediate, merged, snapshot }
    }

    fn add(&self, place: u8, one: bool) {
        let Some(count) = self.counts.get(usize::from(place)) else { return };
        if one {
            count.fetch_add(1, Ordering::Relaxed);
        } else {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A viewer comes.
    pub(super) fn enter(&self) -> CurrentRung {
        self.add(number(Rung::Immediate), true);
        CurrentRung(AtomicU8::new(number(Rung::Immediate)))
    }

    /// A viewer goes. Counts once, however often it is called.
    pub(super) fn leave(&self, standing: &CurrentRung) {
        self.add(standing.0.swap(GONE, Ordering::AcqRel), false);
    }

    /// A viewer stands on `rung` from here on.
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

/// Not counted any more.
const GONE: u8 = u8::MAX;

fn number(rung: Rung) -> u8 {
    match rung {
        Rung::Immediate => 0,
        Rung::Merged => 1,
        Rung::Snapshot => 2,
    }
}

/// Where one viewer stands.
#[derive(Debug)]
pub struct CurrentRung(AtomicU8);

#[cfg(test)]
mod tests;
