//! Whether a life's own lease holds, by the clock of this machine alone. The database counts a lease from when a renewal reaches it, which is
//! later than when it was sent: so a lease that holds here holds there. The clock stands still while the machine is suspended: after that a lease
//! may seem to hold for up to its length.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The lease of a life, as of its newest renewal that is known to have succeeded.
#[derive(Debug)]
pub(super) struct OwnLease {
    length: Duration,
    /// The time from which `sent_ms` is counted.
    began: Instant,
    /// When that renewal was sent, in milliseconds.
    sent_ms: AtomicU64,
}

impl OwnLease {
    /// A lease of that length, for which the database was asked at `began`.
    pub(super) fn new(length: Duration, began: Instant) -> Self {
        Self { length, began, sent_ms: AtomicU64::new(0) }
    }

    /// Notes a renewal that was sent at that time and succeeded.
    pub(super) fn renewed(&self, sent: Instant) {
        self.sent_ms.fetch_max(millis(sent.saturating_duration_since(self.began)), Ordering::AcqRel);
    }

    /// Whether nobody can have taken over by that time.
    pub(super) fn holds(&self, now: Instant) -> bool {
        let sent = self.began + Duration::from_millis(self.sent_ms.load(Ordering::Acquire));
        now.saturating_duration_since(sent) < self.length
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_for_its_length_from_when_its_newest_renewal_was_sent() {
        let lease = OwnLease::new(Duration::from_secs(3), Instant::now());
        let after = |seconds| lease.began + Duration::from_secs(seconds);
        assert!(lease.holds(after(2)) && !lease.holds(after(3)));
        lease.renewed(after(2));
        // An answer that was overtaken by a later one.
        lease.renewed(after(1));
        assert!(lease.holds(after(4)) && !lease.holds(after(5)));
    }
}
