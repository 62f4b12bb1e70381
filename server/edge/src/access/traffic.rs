//! Bytes that go one way between the hub and its principals and their addresses, as they are counted while the hub runs. What somebody owes is
//! decided by `access::PrincipalAndAddressRates`; here are the clock and the lock.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::{MinuteQuota, PrincipalAndAddressRates, QuotaHolder, RatedAct};
use compact_str::CompactString;
use hub::beginning::BeginningRule;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::bounds::household;

/// For whom bytes are counted. What is known of neither is not counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedFor {
    /// The name of the principal; `None` for who is not admitted.
    pub(super) principal: Option<CompactString>,
    /// The address, of IPv6 its first 64 bits; `None` behind a proxy that says none.
    pub(super) address: Option<IpAddr>,
}

impl CountedFor {
    /// Counts for a principal, an address or both.
    pub(crate) fn new(principal: Option<&str>, address: Option<IpAddr>) -> Self {
        Self { principal: principal.map(CompactString::new), address: address.map(household) }
    }

    /// The name of the principal; `None` for who is not admitted.
    pub(crate) fn principal(&self) -> Option<&CompactString> {
        self.principal.as_ref()
    }
}

/// The bytes of one way. Whoever passes bytes on counts them in lumps: each count takes the lock.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// When counting began; times are microseconds after it.
    began: Instant,
    rates: Mutex<PrincipalAndAddressRates<CompactString, IpAddr>>,
    /// All bytes of principals since the start.
    bytes: AtomicU64,
    /// How often somebody was refused or slowed down.
    over: AtomicU64,
}

impl Traffic {
    /// Counts from nothing; each principal and each address may have so many MiB in a minute.
    pub(super) fn new(principal_mib: u32, address_mib: u32) -> Self {
        Self::from(PrincipalAndAddressRates::new(principal_mib, address_mib))
    }

    /// Counts something other than bytes from nothing.
    pub(super) fn of(quota: MinuteQuota) -> Self {
        Self::from(PrincipalAndAddressRates::of(quota))
    }

    fn from(rates: PrincipalAndAddressRates<CompactString, IpAddr>) -> Self {
        let rates = Mutex::new(rates);
        Self { began: Instant::now(), rates, bytes: AtomicU64::new(0), over: AtomicU64::new(0) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Counts one for `whose`. Where that is too much, nothing is counted but the refusal, and the error has how long they wait, and whose
    /// number it is.
    pub(super) fn take(&self, whose: &CountedFor) -> Result<(), (Duration, QuotaHolder)> {
        let CountedFor { principal, address } = whose;
        let taken = self.rates.lock().take(principal.as_ref(), address.as_ref(), self.now());
        taken.map_err(|(wait, holder)| {
            self.over.fetch_add(1, Ordering::Relaxed);
            (Duration::from_micros(wait), holder)
        })
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
    pub(crate) fn owes(&self, whose: &CountedFor) -> Option<(Duration, QuotaHolder)> {
        let CountedFor { principal, address } = whose;
        let owed = self.rates.lock().owes(principal.as_ref(), address.as_ref(), self.now());
        owed.map(|(owed, holder)| {
            self.over.fetch_add(1, Ordering::Relaxed);
            (Duration::from_micros(owed), holder)
        })
    }

    /// All bytes of principals since the start, or all of what else is counted, and how often somebody was refused or slowed down.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.over.load(Ordering::Relaxed))
    }
}

/// Limits one act, such as searches, by the minute for each principal and address, and counts how often somebody was refused.
#[derive(Debug)]
pub(crate) struct ActLimiter {
    act: RatedAct,
    quota: MinuteQuota,
    pub(crate) traffic: Traffic,
}

impl ActLimiter {
    /// A limiter of `act` that has counted nothing yet.
    pub(super) fn new(act: RatedAct, quota: MinuteQuota) -> Self {
        Self { act, quota, traffic: Traffic::of(quota) }
    }

    /// Counts one for `whose`, or says for how long not and why.
    pub(crate) fn take(&self, whose: &CountedFor) -> Result<(), (Duration, String)> {
        self.traffic.take(whose).map_err(|(wait, holder)| {
            let seconds = u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1);
            (Duration::from_secs(seconds), self.act.refusal(holder, self.quota, seconds))
        })
    }
}

/// The rule for conversations that begin while something is done for somebody: they count for that one.
pub(crate) struct Beginner {
    begun: Arc<ActLimiter>,
    whose: CountedFor,
    /// For how many seconds one was last refused; 0 if none was.
    refused_s: AtomicU64,
}

impl Beginner {
    /// Makes the rule for `whose`, counted in `begun`.
    pub(super) fn new(begun: &Arc<ActLimiter>, whose: CountedFor) -> Self {
        Self { begun: Arc::clone(begun), whose, refused_s: AtomicU64::new(0) }
    }

    /// For how many seconds one was last refused; 0 if none was.
    pub(crate) fn refused_s(&self) -> u64 {
        self.refused_s.load(Ordering::Relaxed)
    }
}

impl BeginningRule for Beginner {
    fn may_begin(&self) -> Result<(), (String, u64)> {
        self.begun.take(&self.whose).map_err(|(wait, why)| {
            self.refused_s.store(wait.as_secs(), Ordering::Relaxed);
            (why, wait.as_secs())
        })
    }
}
