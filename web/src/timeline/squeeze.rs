//! The span of time of a conversation, and the leaving out of pauses between its runs.

use super::bars::stalled;
use model::View;

/// The shortest pause between runs that can be left out, in milliseconds.
const IDLE_MS: u64 = 2_000;

/// How much of a left-out pause is still drawn, in milliseconds.
const KEPT_MS: u64 = 1_000;

/// The span of time of a conversation, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// The first moment of the conversation.
    pub from: u64,
    /// The last moment; the present while a run is active.
    pub to: u64,
}

/// The span of time of `view` at `now`; `None` if it has no times.
pub fn extent(view: &View, now: u64) -> Option<Extent> {
    let runs = busy(view, now);
    let from = runs.first()?.0;
    let to = runs.iter().map(|(_, to)| *to).max()?;
    Some(Extent { from, to: to.max(from.saturating_add(1)) })
}

/// The spans of time in which runs were active, the earliest first.
fn busy(view: &View, now: u64) -> Vec<(u64, u64)> {
    let timed = view.runs.values().filter(|run| run.started_at > 0);
    let span = timed.map(|run| {
        let late = run.tools.values().rev().take(64).filter_map(|tool| tool.ended_at).max();
        let end = match stalled(run) {
            Some(at) => at,
            None if run.is_running() => now,
            None => run.ended_at.max(late).unwrap_or(run.started_at),
        };
        (run.started_at, end.max(run.started_at))
    });
    let mut runs: Vec<(u64, u64)> = span.collect();
    runs.sort_unstable();
    runs
}

/// Converts moments into places on the time line, with or without pauses between runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Squeeze {
    from: u64,
    /// The pauses that are left out.
    gaps: Vec<(u64, u64)>,
}

impl Squeeze {
    /// No pause is left out.
    pub fn none(from: u64) -> Self {
        Self { from, gaps: Vec::new() }
    }

    /// The pauses of `view` are left out.
    pub fn of(view: &View, now: u64) -> Self {
        let runs = busy(view, now);
        let from = runs.first().map_or(0, |(from, _)| *from);
        let (mut gaps, mut until) = (Vec::new(), from);
        for (begin, end) in runs {
            if begin.saturating_sub(until) > IDLE_MS {
                gaps.push((until, begin));
            }
            until = until.max(end);
        }
        Self { from, gaps }
    }

    /// The number of left-out pauses.
    pub fn gaps(&self) -> usize {
        self.gaps.len()
    }

    /// The place of the moment `at`, in milliseconds from the first moment.
    pub fn place(&self, at: u64) -> u64 {
        let cut = self.gaps.iter().take_while(|(begin, _)| *begin < at).map(|(begin, end)| {
            let passed = at.min(*end).saturating_sub(*begin);
            passed.saturating_sub(KEPT_MS.min(passed))
        });
        at.saturating_sub(self.from).saturating_sub(cut.sum())
    }

    /// The moment at `place`.
    pub fn moment(&self, place: u64) -> u64 {
        let mut at = self.from.saturating_add(place);
        for (begin, end) in &self.gaps {
            if at >= begin.saturating_add(KEPT_MS) {
                let cut = end.saturating_sub(*begin).saturating_sub(KEPT_MS);
                at = at.saturating_add(cut);
            }
        }
        at
    }
}
