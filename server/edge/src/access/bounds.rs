//! The bounds of one address and one principal, as they are counted while the hub runs. Nothing is counted
//! while access control is off. How often something may happen, and how many things may be open, is decided
//! by `access::quota`; here are the clock and the locks.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use access::{InUse, Quotas, Rates};
use compact_str::CompactString;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A minute in microseconds.
const MINUTE_US: u64 = 60_000_000;

/// As many seconds' worth may be published at once.
const PUBLISHES_SAVED_S: u32 = 10;

/// What is counted. One for each hub, owned by the gate. Each count has a lock of its own, held for moments.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The bounds of the settings.
    pub(crate) quotas: Quotas,
    /// When counting began; times are microseconds after it.
    began: Instant,
    /// Open connections by address.
    connections: Arc<Mutex<InUse<IpAddr>>>,
    /// Open requests by principal, streams and waits among them.
    requests: Arc<Mutex<InUse<CompactString>>>,
    /// Open sockets by principal.
    sockets: Arc<Mutex<InUse<CompactString>>>,
    /// Frames and requests with events, by principal.
    publishes: Mutex<Rates<CompactString>>,
    /// Logins that failed, by address.
    failed: Mutex<Rates<IpAddr>>,
}

/// A place among those of one address or principal, which it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat<K: Ord + Clone> {
    whose: K,
    among: Arc<Mutex<InUse<K>>>,
}

impl<K: Ord + Clone> Drop for Seat<K> {
    fn drop(&mut self) {
        self.among.lock().give_back(&self.whose);
    }
}

/// Takes a place; `None` if all are taken.
pub(super) fn seat<K: Ord + Clone>(among: &Arc<Mutex<InUse<K>>>, whose: K) -> Option<Seat<K>> {
    among.lock().take(&whose).then(|| Seat { whose, among: Arc::clone(among) })
}

/// Whom an address stands for: of IPv6 one household has all that begin with the same 64 bits.
fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}

impl Counted {
    /// Counts from nothing.
    pub(super) fn new(quotas: Quotas) -> Self {
        let every_us = 1_000_000 / u64::from(quotas.publishes_per_second.max(1));
        let at_once = quotas.publishes_per_second.saturating_mul(PUBLISHES_SAVED_S);
        Self {
            quotas,
            began: Instant::now(),
            connections: Arc::new(Mutex::new(InUse::new(quotas.connections_per_address))),
            requests: Arc::new(Mutex::new(InUse::new(quotas.requests_per_principal))),
            sockets: Arc::new(Mutex::new(InUse::new(quotas.sockets_per_principal))),
            publishes: Mutex::new(Rates::new(at_once, every_us)),
            failed: Mutex::new(Rates::new(
                quotas.failed_logins_per_minute,
                MINUTE_US / u64::from(quotas.failed_logins_per_minute.max(1)),
            )),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// A place for a connection from `address`; `None` if it has as many as it may.
    pub(crate) fn connection(&self, address: IpAddr) -> Option<Seat<IpAddr>> {
        seat(&self.connections, household(address))
    }

    /// A place for a request of `principal`; `None` if it has as many as it may.
    pub(crate) fn request(&self, principal: &str) -> Option<Seat<CompactString>> {
        seat(&self.requests, principal.into())
    }

    /// A place for a socket of `principal`; `None` if it has as many as it may.
    pub(crate) fn socket(&self, principal: &str) -> Option<Seat<CompactString>> {
        seat(&self.sockets, principal.into())
    }

    /// Counts a frame or request with events of `principal`; false if it comes too soon.
    pub(crate) fn may_publish(&self, principal: &str) -> bool {
        self.publishes.lock().take(&principal.into(), self.now())
    }

    /// Counts a login that failed.
    pub(crate) fn failed(&self, address: IpAddr) {
        // Where none is left it is barred already.
        let _counted = self.failed.lock().take(&household(address), self.now());
    }

    /// Whether so many logins of that address failed that none of its credentials is looked at now.
    pub(crate) fn is_barred(&self, address: IpAddr) -> bool {
        !self.failed.lock().has_left(&household(address), self.now())
    }
}
