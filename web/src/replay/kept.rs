//! Views on the way, so that any moment is a short way from one of them. Bounded: where they are too many or too large,
//! every other one goes.

use model::View;

/// Between two of them, in events, to begin with.
const SPACING: usize = 1_000;

/// Most of them.
const KEPT_MAX: usize = 64;

/// Most bytes of them all together, as their events count.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// A view after so many events, and how many bytes those were.
#[derive(Debug)]
struct Kept {
    events: usize,
    bytes: usize,
    view: View,
}

/// Views kept at some events, by which any moment is reached in a short fold.
#[derive(Debug)]
pub(super) struct Checkpoints {
    spacing: usize,
    kept: Vec<Kept>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { spacing: SPACING, kept: Vec::new() }
    }
}

impl Checkpoints {
    /// `view` is what `events` events of `bytes` bytes have made.
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

    /// The newest view of at most `events` events, and how many it has.
    pub(super) fn nearest(&self, events: usize) -> (usize, Option<&View>) {
        let found = self.kept.iter().rev().find(|kept| kept.events <= events);
        found.map_or((0, None), |kept| (kept.events, Some(&kept.view)))
    }

    /// How many bytes their events count.
    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    //! They are bounded, and no moment is far from one.

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
