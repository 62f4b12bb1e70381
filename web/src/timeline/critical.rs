//! The critical path of a run: the steps that its end had to wait for. A run would have been shorter only if one of them
//! had been.
//!
//! ```text
//! a ████████               begins the path
//! b    ██ ████             c waited for a, not for b
//! c         ████████████   the last to end
//! path ████ │ ██████████   what lies between two steps is nobody's
//! ```

/// A step on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStep {
    /// The index of the span.
    pub at: usize,
    /// When the step begins on the path.
    pub from: u64,
    /// When the step ends on the path.
    pub to: u64,
}

/// The critical path through `spans` of a run from `from` to `to`, the earliest step first: the step that ended last, before
/// it the one that ended last before that began, and so on. Where several ended at once the longest counts. Steps that lie
/// outside the run are cut to it.
pub fn critical_path(spans: &[(u64, u64)], from: u64, to: u64) -> Vec<PathStep> {
    let cut = |(at, span): (usize, &(u64, u64))| {
        let (begin, end) = (span.0.clamp(from, to.max(from)), span.1.clamp(from, to.max(from)));
        (begin < end).then_some(PathStep { at, from: begin, to: end })
    };
    let mut steps: Vec<PathStep> = spans.iter().enumerate().filter_map(cut).collect();
    steps.sort_by_key(|step| (std::cmp::Reverse(step.to), step.from, step.at));
    let (mut path, mut until) = (Vec::new(), u64::MAX);
    for step in steps {
        if step.to <= until {
            until = step.from;
            path.push(step);
        }
    }
    path.reverse();
    path
}

/// How long the steps of a path take together, in milliseconds.
pub fn path_ms(path: &[PathStep]) -> u64 {
    path.iter().fold(0, |sum, step| sum.saturating_add(step.to.saturating_sub(step.from)))
}

#[cfg(test)]
mod tests {
    //! Tests of what the end waited for.

    use proptest::prelude::*;

    use super::*;

    fn steps(spans: &[(u64, u64)]) -> Vec<usize> {
        critical_path(spans, 0, 1_000).iter().map(|step| step.at).collect()
    }

    #[test]
    fn the_path_goes_from_the_end_back_over_what_ended_last() {
        assert_eq!(steps(&[(0, 80), (30, 50), (60, 100), (90, 210)]), [0, 3]);
        assert_eq!(
            steps(&[(0, 100), (50, 100), (100, 100), (100, 200)]),
            [0, 3],
            "the longest of two that end at once"
        );
        assert_eq!(steps(&[]), Vec::<usize>::new());
        let path = critical_path(&[(0, 80), (90, 5_000)], 10, 1_000);
        assert_eq!((path_ms(&path), path[1].to), (70 + 910, 1_000), "a step is cut to its run");
    }

    proptest! {
        #[test]
        fn its_steps_follow_each_other_and_are_no_longer_than_the_run(
            told in proptest::collection::vec((0..900_u64, 0..300_u64), 0..80), from in 0..200_u64, long in 0..1_000_u64,
        ) {
            let spans: Vec<_> = told.iter().map(|(from, long)| (*from, from + long)).collect();
            let path = critical_path(&spans, from, from + long);
            prop_assert!(path_ms(&path) <= long);
            for pair in path.windows(2) {
                prop_assert!(pair[0].to <= pair[1].from);
                // Nothing that ended between the two is left out.
                let between = spans.iter().any(|(begin, end)| {
                    let (begin, end) = ((*begin).clamp(from, from + long), (*end).clamp(from, from + long));
                    begin < end && end > pair[0].to && end <= pair[1].from
                });
                prop_assert!(!between);
            }
            let last = spans.iter().map(|(begin, end)| ((*begin).max(from), (*end).min(from + long))).filter(|(a, b)| a < b).map(|it| it.1).max();
            prop_assert_eq!(path.last().map(|step| step.to), last);
        }
    }
}
