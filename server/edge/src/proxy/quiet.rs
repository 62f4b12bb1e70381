//! When recorders give way to calls. Between the first byte of a call on its way out and the first one of its
//! answer, the caller, the hub and an upstream on the same machine need the cores for a moment. Recording can
//! wait that long, because nobody notices so short a delay.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long recorders give way after a call was sent. An upstream on the same machine has answered by then.
const FIRST: Duration = Duration::from_millis(2);

/// The time of the newest call of any caller. Shared by calls and recorders.
#[derive(Debug)]
pub(super) struct QuietWait {
    /// When the hub made this; times are counted from it.
    since: Instant,
    /// When the newest call was sent, in microseconds after `since`.
    called: AtomicU64,
}

impl Default for QuietWait {
    fn default() -> Self {
        Self { since: Instant::now(), called: AtomicU64::new(0) }
    }
}

impl QuietWait {
    /// Notes that a call is being sent.
    pub(super) fn note_call(&self) {
        // Only the newest counts; a race between two that are almost simultaneous does not matter.
        self.called.store(self.micros(), Ordering::Relaxed);
    }

    /// Waits until the newest call has had its time, but not for calls that come meanwhile: if calls follow
    /// each other without a pause, recording happens in between.
    pub(super) async fn wait(&self) {
        let left = self.left(self.micros());
        if !left.is_zero() {
            tokio::time::sleep(left).await;
        }
    }

    /// How long the newest call still has at `now`, in microseconds after `since`.
    fn left(&self, now: u64) -> Duration {
        let gone = now.saturating_sub(self.called.load(Ordering::Relaxed));
        FIRST.saturating_sub(Duration::from_micros(gone))
    }

    /// The time since the start, in microseconds.
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
        let quiet = QuietWait::default();
        quiet.note_call();
        let called = quiet.called.load(super::Ordering::Relaxed);
        assert_eq!(quiet.left(called), FIRST);
        assert_eq!(quiet.left(called + 1_500), Duration::from_micros(500));
        assert_eq!(quiet.left(called + 2_000), Duration::ZERO);
        // Another thread may have looked at the clock before.
        assert_eq!(quiet.left(called.saturating_sub(1)), FIRST);
    }
}
