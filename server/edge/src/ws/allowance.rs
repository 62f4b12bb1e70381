//! An allowance: something may be done a number of times at once, and once more for each span of time. It
//! bounds the rate, not the sum over a long life.

use std::time::Duration;

use tokio::time::Instant;

/// A token bucket: at most `max` uses at once, and one more after each `every`. Both are told with each use, so that the bucket of an idle
/// socket takes no room for them.
#[derive(Debug)]
pub(super) struct TokenBucket {
    /// When all uses that can be saved up were, or will be, available.
    full_at: Instant,
}

impl TokenBucket {
    /// Begins at `now` with all uses available.
    pub(super) fn new(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one use. False if none is available at `now`.
    pub(super) fn take(&mut self, now: Instant, max: u32, every: Duration) -> bool {
        let full_at = self.full_at.max(now) + every;
        let is_left = full_at.duration_since(now) <= every * max;
        if is_left {
            self.full_at = full_at;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how often something may be done.

    use super::*;

    #[test]
    fn some_times_at_once_and_then_one_for_each_span_of_time() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut allowance = TokenBucket::new(now);
        assert_eq!([now; 4].map(|now| allowance.take(now, 3, second)), [true, true, true, false]);
        assert!(!allowance.take(now + second / 2, 3, second));
        assert!(allowance.take(now + second, 3, second));
        // A thousand of them, each in its time, are fine.
        for n in 2..1_000 {
            assert!(allowance.take(now + second * n, 3, second));
        }
        assert!(!allowance.take(now + second * 999, 3, second));
    }
}
