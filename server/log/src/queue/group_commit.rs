//! When to write what somebody waits for. Somebody who waits alone is served at once. Those who come one
//! after another share a commit, which costs about as much for many as for one.
//!
//! ```text
//!            two or more shared a commit
//!   alone ─────────────────────────────────▶ together: a commit is at least WINDOW after the one before
//!     ▲  └─ or TRIES in a row, each within WINDOW ─▲          │
//!     └──────── one had the commit for itself ────────────────┘
//! ```
//!
//! A client that sends its next event only after the answer never shares a commit. It is delayed once in
//! [`TRIES`] commits.

use std::time::{Duration, Instant};

/// The least time between two commits while those who wait share them.
pub(super) const WINDOW: Duration = Duration::from_millis(5);

/// After so many commits in a row for one alone, each soon after the one before, waiting for others is tried.
const TRIES: u32 = 16;

/// Who waits, and whether they came together so far. Part of the queue, under its lock.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    /// How many have begun to wait since the last commit.
    waiting: u32,
    /// Whether those who wait shared a commit the last time.
    together: bool,
    /// How many commits in a row served one alone.
    alone: u32,
    /// When the last commit that somebody waited for began.
    last: Option<Instant>,
}

impl GroupCommit {
    /// Counts one more who waits. True for the first since the last commit.
    pub(super) fn waits(&mut self) -> bool {
        self.waiting = self.waiting.saturating_add(1);
        self.waiting == 1
    }

    /// When to write what somebody waits for; `None` if nobody waits. A time in the past means at once.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        match self.last {
            _ if self.waiting == 0 => None,
            Some(last) if self.together => Some(last + WINDOW),
            _ => Some(now),
        }
    }

    /// Notes that everything is being written for which somebody waits.
    pub(super) fn written(&mut self, now: Instant) {
        let is_soon = self.last.is_some_and(|last| now < last + 2 * WINDOW);
        match std::mem::take(&mut self.waiting) {
            0 => return,
            1 if self.together || !is_soon => (self.together, self.alone) = (false, 0),
            1 => {
                self.alone += 1;
                if self.alone >= TRIES {
                    (self.together, self.alone) = (true, 0);
                }
            }
            _ => (self.together, self.alone) = (true, 0),
        }
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets somebody wait every `step` for `count` times; how many commits there were, and the longest wait.
    fn stream(gather: &mut GroupCommit, begin: Instant, step: Duration, count: u32) -> (u32, Duration) {
        let (mut commits, mut longest, mut first) = (0, Duration::ZERO, None::<Instant>);
        for number in 0..count {
            let now = begin + step * number;
            if let (Some(since), Some(due)) = (first, gather.due(now))
                && due <= now
            {
                gather.written(due.max(since));
                longest = longest.max(due.max(since) - since);
                (commits, first) = (commits + 1, None);
            }
            gather.waits();
            let since = *first.get_or_insert(now);
            if gather.due(now).is_some_and(|due| due <= now) {
                gather.written(now);
                longest = longest.max(now - since);
                (commits, first) = (commits + 1, None);
            }
        }
        (commits, longest)
    }

    #[test]
    fn who_comes_now_and_then_is_written_at_once() {
        let (mut gather, begin) = (GroupCommit::default(), Instant::now());
        assert_eq!(stream(&mut gather, begin, 20 * WINDOW, 100), (100, Duration::ZERO));
    }

    #[test]
    fn a_stream_shares_commits_and_nobody_waits_longer_than_the_window() {
        let (mut gather, begin) = (GroupCommit::default(), Instant::now());
        let (commits, longest) = stream(&mut gather, begin, WINDOW / 10, 10_000);
        assert!(commits < 10_000 / 8, "{commits} commits");
        assert!(longest <= WINDOW, "{longest:?}");
        assert_eq!(stream(&mut gather, begin + 10_000 * WINDOW, 20 * WINDOW, 50).1, Duration::ZERO);
    }

    #[test]
    fn who_waits_for_each_answer_is_delayed_seldom() {
        let (mut gather, mut now) = (GroupCommit::default(), Instant::now());
        let mut delayed = 0;
        for _ in 0..1_700 {
            gather.waits();
            let due = gather.due(now).unwrap().max(now);
            delayed += u32::from(due > now);
            gather.written(due);
            now = due + WINDOW / 20;
        }
        assert!(delayed <= 110, "{delayed}");
    }

    #[test]
    fn nobody_who_waits_is_no_reason_to_write() {
        let (mut gather, now) = (GroupCommit::default(), Instant::now());
        assert_eq!(gather.due(now), None);
        assert!(gather.waits());
        assert!(!gather.waits());
        assert_eq!(gather.due(now), Some(now));
        gather.written(now);
        assert_eq!(gather.due(now), None);
    }
}
