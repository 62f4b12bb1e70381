//! Puts two sequences beside each other: what belongs together stands in one row, in the order of both.
//!
//! Steps of runs are alike to a degree (the same tool with other arguments), which differences of texts do not know;
//! therefore the whole table of scores is computed, and sequences are bounded by who calls.
//!
//! ```text
//! one     a b c   d          Both(0, 0)  One(1)  Both(2, 1)  Other(2)  Both(3, 3)
//! other   a   c e d
//! ```

/// A row of two sequences that are beside each other, by the indices of what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignedPair {
    /// A pair of elements, one of each sequence.
    Both(usize, usize),
    /// Only in the first.
    One(usize),
    /// Only in the second.
    Other(usize),
}

/// Aligns sequences of the lengths `one` and `other`, so that the scores of the pairs add up to the most. `score` says how
/// alike two elements are; those of 0 are never paired. Takes time and memory for `one` times `other` scores.
pub fn align(one: usize, other: usize, score: impl Fn(usize, usize) -> u32) -> Vec<AlignedPair> {
    let wide = other.saturating_add(1);
    let mut best = vec![0_u32; wide.saturating_mul(one.saturating_add(1))];
    let get = |best: &[u32], a: usize, b: usize| best.get(a * wide + b).copied().unwrap_or(0);
    // From the end, so that the pairs come out from the beginning.
    for a in (0..one).rev() {
        for b in (0..other).rev() {
            let alike = score(a, b);
            let both = if alike > 0 { get(&best, a + 1, b + 1).saturating_add(alike) } else { 0 };
            let most = both.max(get(&best, a + 1, b)).max(get(&best, a, b + 1));
            if let Some(cell) = best.get_mut(a * wide + b) {
                *cell = most;
            }
        }
    }
    let (mut pairs, mut a, mut b) = (Vec::with_capacity(one.max(other)), 0, 0);
    while a < one || b < other {
        let alike = if a < one && b < other { score(a, b) } else { 0 };
        let most = get(&best, a, b);
        if alike > 0 && most == get(&best, a + 1, b + 1).saturating_add(alike) {
            pairs.push(AlignedPair::Both(a, b));
            (a, b) = (a + 1, b + 1);
        } else if a < one && (b >= other || most == get(&best, a + 1, b)) {
            pairs.push(AlignedPair::One(a));
            a += 1;
        } else {
            pairs.push(AlignedPair::Other(b));
            b += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    //! Tests of what stands beside what.

    use proptest::prelude::*;

    use super::AlignedPair::{Both, One, Other};
    use super::*;

    fn letters(one: &str, other: &str) -> Vec<AlignedPair> {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        align(one.len(), other.len(), |a, b| u32::from(one[a] == other[b]))
    }

    #[test]
    fn what_is_in_both_stands_in_one_row() {
        assert_eq!(letters("abcd", "aced"), [Both(0, 0), One(1), Both(2, 1), Other(2), Both(3, 3)]);
        assert_eq!(letters("", "x"), [Other(0)]);
        assert_eq!(letters("a", "b"), [One(0), Other(0)]);
        assert_eq!(letters("", ""), []);
    }

    #[test]
    fn the_more_alike_are_paired() {
        // Twice the same tool here, once there: with the same arguments it is the second.
        let score = |a: usize, _| if a == 1 { 3 } else { 1 };
        assert_eq!(align(2, 1, score), [One(0), Both(1, 0)]);
    }

    proptest! {
        #[test]
        fn every_element_is_in_one_row_in_its_order(one in "[abc]{0,30}", other in "[abc]{0,30}") {
            let pairs = letters(&one, &other);
            let (mut a, mut b) = (0, 0);
            for pair in pairs {
                match pair {
                    Both(x, y) => {
                        prop_assert_eq!((x, y), (a, b));
                        prop_assert_eq!(one.as_bytes()[x], other.as_bytes()[y]);
                        (a, b) = (a + 1, b + 1);
                    }
                    One(x) => { prop_assert_eq!(x, a); a += 1; }
                    Other(y) => { prop_assert_eq!(y, b); b += 1; }
                }
            }
            prop_assert_eq!((a, b), (one.len(), other.len()));
        }

        #[test]
        fn the_same_is_all_in_both_and_the_rows_of_the_other_way_round_are_as_many(one in "[abc]{0,20}", other in "[abc]{0,20}") {
            prop_assert!(letters(&one, &one).iter().all(|pair| matches!(pair, Both(a, b) if a == b)));
            let both = |pairs: Vec<AlignedPair>| pairs.iter().filter(|pair| matches!(pair, Both(..))).count();
            prop_assert_eq!(both(letters(&one, &other)), both(letters(&other, &one)));
        }
    }
}
