//! Kept views of a replay, so that every moment is near one of them. If they are too many or too large, every
//! other one is dropped.

use model::View;

/// The distance of two kept views at first, in events.
const SPACING: usize = 1_000;

/// The most kept views.
const KEPT_MAX: usize = 64;

/// The most bytes of all kept views, measured by their events.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// A view, how many events it contains, and their length in bytes.
#[derive(Debug)]
struct Kept {
    events: usize,
    bytes: usize,
    view: View,
}

/// The views that are kept, so that any moment can be shown soon.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// The distance of two kept views, in events.
    spacing: usize,
    kept: Vec<Kept>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { spacing: SPACING, kept: Vec::new() }
    }
}

impl Checkpoints {
    /// Keeps `view` if it is due. It contains `events` events of `bytes` bytes.
    pub(super) fn pass(&mut self, events: usize, bytes: usize, view: &View) {
        if !events.is_multiple_of(self.spacing) {
            return;
        }
        self.kept.push(Kept { events, bytes, view: view.clone() });
        while self.kept.len() > KEPT_MAX || self.bytes() > KEPT_BYTES_MAX {
            self.spacing = self.spacing.saturating_mul(2);
            let spacing = self.spacing;
            let before = self.kept.len();
            self.kept.retain(|kept| kept.events.is_multiple_of(spacing));
            if self.kept.len() == before || self.kept.is_empty() {
                break;
            }
        }
    }

    /// The newest kept view of at most `events` events, and how many it contains.
    pub(super) fn nearest(&self, events: usize) -> (usize, Option<&View>) {
        let found = self.kept.iter().rev().find(|kept| kept.events <= events);
        found.map_or((0, None), |kept| (kept.events, Some(&kept.view)))
    }

    /// The bytes of all kept views.
    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    //! Tests that they are bounded, and that no moment is far from one.

    use super::*;

    #[test]
    fn the_views_on_the_way_are_bounded_and_leave_no_moment_far_from_one() {
        let mut checkpoints = Checkpoints::default();
        let view = View::default();
        for events in 1..=300_000 {
            checkpoints.pass(events, events * 100, &view);
            assert!(checkpoints.kept.len() <= KEPT_MAX && checkpoints.bytes() <= KEPT_BYTES_MAX);
        }
        for events in [999, 1_000, 77_777, 299_999] {
            let (from, _) = checkpoints.nearest(events);
            assert!(from <= events && events - from < 80_000, "{events} from {from}");
        }
        let mut few = Checkpoints::default();
        (1..=50_000).for_each(|events| few.pass(events, events * 20, &view));
        assert!(few.nearest(49_999).0 >= 46_000, "{:?}", few.nearest(49_999).0);
    }
}
