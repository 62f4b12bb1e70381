//! Puts spans of time into as few lanes as they need: two spans of one lane never overlap.
//!
//! ```text
//! a ███████      d ███     lane 0
//!    b █████ c █████       lane 1
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The lane of each span, and the number of lanes. Each span gets the first lane that is free when it begins; spans without
/// an end last. The earlier begins first, so a span that grows or begins later moves none that were there.
pub fn pack(spans: &[(u64, Option<u64>)]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let begin = |at: &usize| spans.get(*at).map_or(0, |span| span.0);
    order.sort_by_key(begin);
    let mut lanes = vec![0; spans.len()];
    // Lanes that are taken, by when they become free; and lanes that are free.
    let (mut taken, mut free) = (BinaryHeap::new(), BinaryHeap::new());
    let mut count = 0;
    for at in order {
        let Some((from, to)) = spans.get(at).copied() else { continue };
        while let Some(Reverse((end, lane))) = taken.peek().copied() {
            if end > from {
                break;
            }
            taken.pop();
            free.push(Reverse(lane));
        }
        let lane = if let Some(Reverse(lane)) = free.pop() {
            lane
        } else {
            count += 1;
            count - 1
        };
        // A span without a length takes its lane for a moment, so that another one at that moment is seen too.
        let end = to.unwrap_or(u64::MAX).max(from.saturating_add(1));
        taken.push(Reverse((end, lane)));
        if let Some(place) = lanes.get_mut(at) {
            *place = lane;
        }
    }
    (lanes, count)
}

#[cfg(test)]
mod tests {
    //! Tests of what shares a lane.

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_follows_shares_a_lane_and_what_overlaps_does_not() {
        let spans =
            [(0, Some(10)), (10, Some(20)), (5, Some(15)), (15, None), (20, Some(20)), (20, Some(30))];
        assert_eq!(pack(&spans), (vec![0, 0, 1, 1, 0, 2], 3));
        assert_eq!(pack(&[]), (vec![], 0));
    }

    proptest! {
        #[test]
        fn packed_lanes_never_overlap_and_are_no_more_than_needed(
            told in proptest::collection::vec((0..500_u64, proptest::option::weighted(0.9, 0..60_u64)), 0..120),
        ) {
            let spans: Vec<_> = told.iter().map(|(from, long)| (*from, long.map(|long| from + long))).collect();
            let (lanes, count) = pack(&spans);
            let end = |span: &(u64, Option<u64>)| span.1.unwrap_or(u64::MAX).max(span.0 + 1);
            for (one, a) in spans.iter().enumerate() {
                prop_assert!(lanes[one] < count);
                for (other, b) in spans.iter().enumerate().skip(one + 1) {
                    let overlap = a.0 < end(b) && b.0 < end(a);
                    prop_assert!(!overlap || lanes[one] != lanes[other], "{a:?} {b:?}");
                }
            }
            let most = (0..560).map(|at| spans.iter().filter(|it| it.0 <= at && at < end(it)).count()).max();
            prop_assert_eq!(Some(count), most.or(Some(0)));
        }

        #[test]
        fn what_comes_later_moves_nothing(told in proptest::collection::vec((0..50_u64, 0..60_u64), 1..60)) {
            let mut from = 0;
            let spans: Vec<_> = told.iter().map(|(later, long)| { from += later; (from, Some(from + long)) }).collect();
            let (lanes, _) = pack(&spans);
            let (before, _) = pack(&spans[..spans.len() - 1]);
            prop_assert_eq!(&lanes[..spans.len() - 1], before.as_slice());
        }
    }
}
