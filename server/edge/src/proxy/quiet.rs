//! When recorders let calls go first. Between a call's first byte on its way out and the first one of its answer, the
//! caller, the hub and an upstream on the same machine want the cores, for a moment. What is recorded can wait that long:
//! nobody sees it later by so little.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a call goes first. An upstream on the same machine has answered by then.
const FIRST: Duration = Duration::from_millis(2);

/// The calls of all callers, seen from those that record.
#[derive(Debug)]
pub(super) struct QuietWait {
    since: Instant,
    /// When the newest call was sent on, in microseconds after `since`.
    called: AtomicU64,
}

impl Default for QuietWait {
    fn default() -> Self {
        Self { since: Instant::now(), called: AtomicU64::new(0) }
    }
}

impl QuietWait {
    /// A call is sent on.
    pub(super) fn ends(&self) {
        // The newest counts; that another one is a little newer does not matter.
        self.called.store(self.micros(), Ordering::Relaxed);
    }

    /// Waits until the newest call, whoever's it is, has gone first, but not for one that comes meanwhile: where calls follow
    /// each other without a pause, what they say is recorded in between.
    pub(super) async fn begins(&self) {
        let left = self.left(self.micros());
        if !left.is_zero() {
            tokio::time::sleep(left).await;
        }
    }

    /// How long it is from `now` until the newest call has gone first.
    fn left(&self, now: u64) -> Duration {
        let gone = now.saturating_sub(self.called.load(Ordering::Relaxed));
        FIRST.saturating_sub(Duration::from_micros(gone))
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{FIRST, QuietWait};

    #[test]
    fn what_is_recorded_waits_for_the_newest_call_and_no_longer() {
        let lull = QuietWait::default();
        lull.ends();
        let called = lull.called.load(super::Ordering::Relaxed);
        assert_eq!(lull.left(called), FIRST);
        assert_eq!(lull.left(called + 1_500), Duration::from_micros(500));
        assert_eq!(lull.left(called + 2_000), Duration::ZERO);
        // Another thread may have looked at the clock before.
        assert_eq!(lull.left(called.saturating_sub(1)), FIRST);
    }
}
