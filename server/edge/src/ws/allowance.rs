//! An allowance: something may be done a number of times at once, and once more for each span of time. It
//! bounds the rate, not the sum over a long life.

use std::time::Duration;

use tokio::time::Instant;

/// A token bucket: at most `max` uses at once, and one more after each `every`.
#[derive(Debug)]
pub(super) struct TokenBucket {
    /// Most uses that are saved up.
    max: u32,
    /// One more use comes after each of these spans.
    every: Duration,
    /// When all uses that can be saved up were, or will be, available.
    full_at: Instant,
}

impl TokenBucket {
    /// Begins at `now` with all `max` uses available.
    pub(super) fn new(max: u32, every: Duration, now: Instant) -> Self {
        Self { max, every, full_at: now }
    }

    /// Takes one use. False if none is available at `now`.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let full_at = self.full_at.max(now) + self.every;
        let is_left = full_at.duration_since(now) <= self.every * self.max;
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
        let mut allowance = TokenBucket::new(3, second, now);
        assert_eq!([now; 4].map(|now| allowance.take(now)), [true, true, true, false]);
        assert!(!allowance.take(now + second / 2));
        assert!(allowance.take(now + second));
        // A thousand of them, each in its time, are fine.
        for n in 2..1_000 {
            assert!(allowance.take(now + second * n));
        }
        assert!(!allowance.take(now + second * 999));
    }
}
