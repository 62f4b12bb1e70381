//! What the time of a run was spent on. Each moment counts once, whatever goes on beside: a tool that executes before a
//! model that writes, that before a question to a person, and the rest is waiting.

/// What a moment is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A model is writing.
    Model,
    /// A tool is executing.
    Tool,
    /// A person is asked.
    Person,
    /// A call waits in a queue, or nothing is known to go on: usually a model that has not begun to answer.
    Waiting,
}

impl Work {
    /// All of them, in the order in which they are said.
    pub const ALL: [Self; 4] = [Self::Model, Self::Tool, Self::Person, Self::Waiting];

    /// The word for it in a summary.
    pub fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tools",
            Self::Person => "approval",
            Self::Waiting => "waiting",
        }
    }
}

/// A span of time and what it is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSpan {
    /// The kind of work.
    pub work: Work,
    /// When the span begins, in milliseconds since 1970.
    pub from: u64,
    /// When the span ends, in milliseconds since 1970.
    pub to: u64,
}

/// The time of a run by what it was spent on, in milliseconds, in the order of [`Work::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shares([u64; 4]);

impl Shares {
    /// The shares of the run from `from` to `to`.
    pub fn of(spans: &[WorkSpan], from: u64, to: u64) -> Self {
        // Beginnings and ends in order: how many of each are open between two of them.
        let mut edges: Vec<(u64, Work, bool)> = Vec::with_capacity(spans.len().saturating_mul(2));
        for span in spans {
            let (begin, end) = (span.from.max(from), span.to.min(to));
            if begin < end {
                edges.push((begin, span.work, true));
                edges.push((end, span.work, false));
            }
        }
        edges.sort_unstable_by_key(|edge| edge.0);
        let (mut shares, mut open, mut since) = ([0_u64; 4], [0_usize; 4], from);
        for (at, work, begins) in edges {
            add(&mut shares, &open, at.saturating_sub(since));
            since = at;
            if let Some(count) = open.get_mut(work as usize) {
                *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        }
        add(&mut shares, &open, to.saturating_sub(since));
        Self(shares)
    }

    /// The time that each took, in milliseconds.
    pub fn ms(self) -> [u64; 4] {
        self.0
    }

    /// The shares in whole percent. They add up to 100, unless there was no time at all: what rounding leaves goes to the
    /// largest remainders.
    pub fn percent(self) -> [u64; 4] {
        let all = self.0.iter().fold(0_u128, |sum, ms| sum + u128::from(*ms));
        if all == 0 {
            return [0; 4];
        }
        let exact = self.0.map(|ms| u128::from(ms) * 100);
        let mut percent = exact.map(|it| u64::try_from(it / all).unwrap_or(100));
        let left = usize::try_from(100_u64.saturating_sub(percent.iter().sum())).unwrap_or(0);
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|at: &usize| std::cmp::Reverse(exact.get(*at).map_or(0, |it| it % all)));
        for at in order.into_iter().take(left) {
            if let Some(share) = percent.get_mut(at) {
                *share += 1;
            }
        }
        percent
    }

    /// The shares in words, such as `model 13 % · tools 70 % · waiting 17 %`; those of 0 % are left out.
    pub fn words(self) -> String {
        let shares = Work::ALL.into_iter().zip(self.percent()).filter(|(_, percent)| *percent > 0);
        shares.map(|(work, percent)| format!("{} {percent} %", work.word())).collect::<Vec<_>>().join(" · ")
    }
}

/// Adds `ms` to what counts while `open` is open.
fn add(shares: &mut [u64; 4], open: &[usize; 4], ms: u64) {
    let is_open = |work: Work| open.get(work as usize).is_some_and(|count| *count > 0);
    let work = [Work::Tool, Work::Model, Work::Person].into_iter().find(|work| is_open(*work));
    if let Some(share) = shares.get_mut(work.unwrap_or(Work::Waiting) as usize) {
        *share = share.saturating_add(ms);
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the sums.

    use proptest::prelude::*;

    use super::*;

    fn span(work: Work, from: u64, to: u64) -> WorkSpan {
        WorkSpan { work, from, to }
    }

    #[test]
    fn each_moment_counts_once() {
        let spans = [
            span(Work::Model, 0, 30),
            span(Work::Tool, 20, 70),
            span(Work::Tool, 40, 60),
            span(Work::Person, 65, 90),
            span(Work::Waiting, 0, 100),
            span(Work::Model, 200, 300),
        ];
        let shares = Shares::of(&spans, 0, 100);
        assert_eq!(shares.ms(), [20, 50, 20, 10]);
        assert_eq!(shares.words(), "model 20 % · tools 50 % · approval 20 % · waiting 10 %");
        assert_eq!(Shares::of(&[], 5, 5).words(), "");
        assert_eq!(Shares::of(&[], 0, 3).words(), "waiting 100 %");
    }

    #[test]
    fn what_rounding_leaves_goes_to_the_largest_remainder() {
        assert_eq!(Shares([1, 1, 1, 0]).percent(), [34, 33, 33, 0]);
        assert_eq!(Shares([u64::MAX, u64::MAX, 1, 0]).percent(), [50, 50, 0, 0]);
    }

    fn work() -> impl Strategy<Value = Work> {
        (0..4_usize).prop_map(|at| Work::ALL[at])
    }

    proptest! {
        #[test]
        fn the_shares_are_the_whole_and_sum_to_100(
            told in proptest::collection::vec((work(), 0..1_000_u64, 0..400_u64), 0..60), from in 0..500_u64, long in 0..1_000_u64,
        ) {
            let spans: Vec<_> = told.iter().map(|(work, from, long)| span(*work, *from, from + long)).collect();
            let shares = Shares::of(&spans, from, from + long);
            prop_assert_eq!(shares.ms().iter().sum::<u64>(), long);
            prop_assert_eq!(shares.percent().iter().sum::<u64>(), if long == 0 { 0 } else { 100 });
        }
    }
}
