//! Bytes that go one way between the hub and its principals and their addresses, as they are counted while the hub runs. What somebody owes is
//! decided by `access::TrafficRates`; here are the clock and the lock.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::{Debtor, TrafficRates};
use compact_str::CompactString;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::bounds::household;

/// For whom bytes are counted. What is known of neither is not counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedFor {
    /// The name of the principal; `None` for who is not admitted.
    principal: Option<CompactString>,
    /// The address, of IPv6 its first 64 bits; `None` behind a proxy that says none.
    address: Option<IpAddr>,
}

impl CountedFor {
    /// For a principal, an address or both.
    pub(crate) fn new(principal: Option<&str>, address: Option<IpAddr>) -> Self {
        Self { principal: principal.map(CompactString::new), address: address.map(household) }
    }
}

/// The bytes of one way. Whoever passes bytes on counts them in lumps: each count takes the lock.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// When counting began; times are microseconds after it.
    began: Instant,
    rates: Mutex<TrafficRates<CompactString, IpAddr>>,
    /// All bytes of principals since the start.
    bytes: AtomicU64,
    /// How often somebody was refused or slowed down.
    over: AtomicU64,
}

impl Traffic {
    /// Counts from nothing; each principal and each address may have so many MiB in a minute.
    pub(super) fn new(principal_mib: u32, address_mib: u32) -> Self {
        let rates = Mutex::new(TrafficRates::new(principal_mib, address_mib));
        Self { began: Instant::now(), rates, bytes: AtomicU64::new(0), over: AtomicU64::new(0) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Counts `bytes` that have passed between the hub and `whose`. Gives how long they owe, zero where more may pass.
    pub(crate) fn count(&self, whose: &CountedFor, bytes: u64) -> Duration {
        let CountedFor { principal, address } = whose;
        if principal.is_some() {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        let mut rates = self.rates.lock();
        let owed = rates.count(principal.as_ref(), address.as_ref(), bytes, self.now());
        Duration::from_micros(owed)
    }

    /// For how long `whose` may have no more, a minute at most, and who owes it; `None` where they may. Otherwise they are refused or slowed
    /// down, which is counted.
    pub(crate) fn owes(&self, whose: &CountedFor) -> Option<(Duration, Debtor)> {
        let CountedFor { principal, address } = whose;
        let owed = self.rates.lock().owes(principal.as_ref(), address.as_ref(), self.now());
        owed.map(|(owed, debtor)| {
            self.over.fetch_add(1, Ordering::Relaxed);
            (Duration::from_micros(owed), debtor)
        })
    }

    /// All bytes of principals since the start, and how often somebody was refused or slowed down.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.over.load(Ordering::Relaxed))
    }
}
