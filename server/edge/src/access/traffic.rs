//! Bytes that go one way between the hub and its principals, as they are counted while the hub runs. What somebody owes is decided by
//! `access::ByteRates`; here are the clock and the lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::ByteRates;
use compact_str::CompactString;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The bytes of one way. Whoever passes bytes on counts them in lumps: each count takes the lock.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// When counting began; times are microseconds after it.
    began: Instant,
    rates: Mutex<ByteRates<CompactString>>,
    /// All bytes since the start.
    bytes: AtomicU64,
    /// How often somebody was refused or slowed down.
    over: AtomicU64,
}

impl Traffic {
    /// Counts from nothing; each may have so many MiB in a minute.
    pub(super) fn new(mib_in_a_minute: u32) -> Self {
        let rates = Mutex::new(ByteRates::new(mib_in_a_minute));
        Self { began: Instant::now(), rates, bytes: AtomicU64::new(0), over: AtomicU64::new(0) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Counts `bytes` that have passed between the hub and `principal`. Gives how long it owes, zero where more may pass.
    pub(crate) fn count(&self, principal: &str, bytes: u64) -> Duration {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let owed = self.rates.lock().count(&principal.into(), bytes, self.now());
        Duration::from_micros(owed)
    }

    /// For how long `principal` may have no more, a minute at most; zero where it may. Otherwise it is refused or slowed down, which is counted.
    pub(crate) fn owes(&self, principal: &str) -> Duration {
        let owed = self.rates.lock().owes(&principal.into(), self.now());
        if owed > 0 {
            self.over.fetch_add(1, Ordering::Relaxed);
        }
        Duration::from_micros(owed)
    }

    /// All bytes since the start, and how often somebody was refused or slowed down.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.over.load(Ordering::Relaxed))
    }
}
