//! The bounds of one address and one principal, as they are counted while the hub runs. Nothing is counted
//! while access control is off. How often something may happen, and how many things may be open, is decided
//! by `access::quota`; here are the clock and the locks.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use access::{PerAct, Quotas, RatedAct, Rates, UseCounts};
use compact_str::CompactString;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use super::traffic::{ActLimiter, Beginner, CountedFor, Traffic};

/// A minute in microseconds.
const MINUTE_US: u64 = 60_000_000;

/// Seconds whose share of publications may be saved up and used at once.
const PUBLISHES_SAVED_S: u32 = 10;

/// Most questions to the log that hubs share which somebody may ask who is not admitted yet: whose session or link that is, and logins at a
/// provider. Fewer than the log does at a time, so that those who are admitted go on.
pub(crate) const STRANGERS_AT_ONCE_MAX: usize = 2;

/// How long such a question waits for others.
const STRANGER_WAITS: Duration = Duration::from_secs(5);

/// What is counted. One for each hub, owned by the gate. Each count has a lock of its own, held for moments.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The bounds of the settings.
    pub(crate) quotas: Quotas,
    /// When counting began; times are microseconds after it.
    began: Instant,
    /// Open connections by address.
    connections: Arc<Mutex<UseCounts<IpAddr>>>,
    /// Open requests by principal, streams and waits among them.
    requests: Arc<Mutex<UseCounts<CompactString>>>,
    /// Open sockets by principal.
    sockets: Arc<Mutex<UseCounts<CompactString>>>,
    /// Frames and requests with events, by principal.
    publishes: Mutex<Rates<CompactString>>,
    /// Bytes that come from each principal and each address: bodies and frames.
    pub(crate) received: Arc<Traffic>,
    /// Bytes of bodies that each principal and each address is sent.
    pub(crate) sent: Arc<Traffic>,
    /// Subscriptions of sockets, by principal.
    subscriptions: Mutex<UseCounts<CompactString>>,
    /// Subscriptions of sockets, by address.
    subscriptions_there: Mutex<UseCounts<IpAddr>>,
    /// What is counted by the minute besides bytes, for principals and addresses.
    acts: PerAct<Arc<ActLimiter>>,
    /// Logins that failed, by address.
    failed: Mutex<Rates<IpAddr>>,
    /// Logins at a provider that were begun, by address.
    begun: Mutex<Rates<IpAddr>>,
    /// A permit for each question of strangers that the log may be asked at a time, [`STRANGERS_AT_ONCE_MAX`].
    strangers: Semaphore,
}

/// A place among those of one address or principal, which it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat<K: Ord + Clone> {
    whose: K,
    among: Arc<Mutex<UseCounts<K>>>,
}

impl<K: Ord + Clone> Drop for Seat<K> {
    fn drop(&mut self) {
        self.among.lock().give_back(&self.whose);
    }
}

/// Takes a place; `None` if all are taken.
pub(crate) fn seat<K: Ord + Clone>(among: &Arc<Mutex<UseCounts<K>>>, whose: K) -> Option<Seat<K>> {
    among.lock().take(&whose).then(|| Seat { whose, among: Arc::clone(among) })
}

/// Whom an address stands for: of IPv6 one household has all that begin with the same 64 bits.
pub(super) fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address => address,
    }
}

/// So many at once, and as many again in each minute.
fn in_a_minute(count: u32) -> Rates<IpAddr> {
    Rates::new(count, MINUTE_US / u64::from(count.max(1)))
}

impl Counted {
    /// Makes counters that begin at nothing.
    pub(crate) fn new(quotas: Quotas) -> Self {
        let every_us = 1_000_000 / u64::from(quotas.publishes_per_second.max(1));
        let at_once = quotas.publishes_per_second.saturating_mul(PUBLISHES_SAVED_S);
        Self {
            quotas,
            began: Instant::now(),
            connections: Arc::new(Mutex::new(UseCounts::new(quotas.connections_per_address))),
            requests: Arc::new(Mutex::new(UseCounts::new(quotas.requests_per_principal))),
            sockets: Arc::new(Mutex::new(UseCounts::new(quotas.sockets_per_principal))),
            publishes: Mutex::new(Rates::new(at_once, every_us)),
            received: Arc::new(Traffic::new(
                quotas.received_mib_per_minute,
                quotas.received_mib_per_minute_per_address,
            )),
            sent: Arc::new(Traffic::new(quotas.sent_mib_per_minute, quotas.sent_mib_per_minute_per_address)),
            subscriptions: Mutex::new(UseCounts::new(quotas.subscriptions_per_principal)),
            subscriptions_there: Mutex::new(UseCounts::new(quotas.subscriptions_per_address)),
            acts: PerAct::each(|act| Arc::new(ActLimiter::new(act, *quotas.per_minute.of(act)))),
            failed: Mutex::new(in_a_minute(quotas.failed_logins_per_minute)),
            begun: Mutex::new(in_a_minute(quotas.provider_logins_per_minute)),
            strangers: Semaphore::new(STRANGERS_AT_ONCE_MAX),
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

    /// The count of `act`.
    pub(crate) fn act(&self, act: RatedAct) -> &ActLimiter {
        self.acts.of(act)
    }

    /// The rule under which conversations begin for `whose`.
    pub(crate) fn beginner(&self, whose: CountedFor) -> Arc<Beginner> {
        Arc::new(Beginner::new(self.acts.of(RatedAct::Conversation), whose))
    }

    /// Counts a subscription of `whose`. Where there are as many as may be, the error says whose and how many.
    pub(crate) fn subscribe(&self, whose: &CountedFor) -> Result<(), String> {
        let says = |who: &str, max: u32| {
            format!("this {who} has {max} subscriptions already, which is subscriptions_per_{who}")
        };
        let CountedFor { principal, address } = whose;
        if principal.as_ref().is_some_and(|it| !self.subscriptions.lock().take(it)) {
            return Err(says("principal", self.quotas.subscriptions_per_principal));
        }
        if address.as_ref().is_some_and(|it| !self.subscriptions_there.lock().take(it)) {
            if let Some(principal) = principal {
                self.subscriptions.lock().give_back(principal);
            }
            return Err(says("address", self.quotas.subscriptions_per_address));
        }
        Ok(())
    }

    /// Gives so many subscriptions of `whose` back.
    pub(crate) fn unsubscribe(&self, whose: &CountedFor, count: u16) {
        let CountedFor { principal, address } = whose;
        for _ in 0..count {
            if let Some(principal) = principal {
                self.subscriptions.lock().give_back(principal);
            }
            if let Some(address) = address {
                self.subscriptions_there.lock().give_back(address);
            }
        }
    }

    /// Counts a frame or request with events of `principal`; false if it comes too soon.
    pub(crate) fn may_publish(&self, principal: &str) -> bool {
        self.publishes.lock().take(&principal.into(), self.now())
    }

    /// Counts a login at a provider that `address` begins; false if it comes too soon.
    pub(crate) fn may_begin_login(&self, address: IpAddr) -> bool {
        self.begun.lock().take(&household(address), self.now())
    }

    /// The turn of somebody who is not admitted yet to ask the log that hubs share; it is over when it is dropped. `None` where those before take
    /// longer than [`STRANGER_WAITS`].
    pub(super) async fn stranger(&self) -> Option<SemaphorePermit<'_>> {
        timeout(STRANGER_WAITS, self.strangers.acquire()).await.ok()?.ok()
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

#[cfg(test)]
mod tests {
    //! Tests of who waits for whom.

    use access::RATED_MAX;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn i7_strangers_take_turns_and_wait_for_a_bounded_time() {
        let counted = Counted::new(Quotas::default());
        let mut turns = Vec::new();
        for _ in 0..STRANGERS_AT_ONCE_MAX {
            turns.push(counted.stranger().await.unwrap());
        }
        let began = Instant::now();
        assert!(counted.stranger().await.is_none());
        assert_eq!(began.elapsed(), STRANGER_WAITS);
        let next = counted.stranger();
        turns.pop();
        assert!(next.await.is_some());
    }
    #[test]
    fn attack_so_many_strangers_do_not_make_each_count_look_at_all_of_them() {
        /// Some twenty times what it takes, and far less than looking at [`RATED_MAX`] others for each.
        const WITHIN: Duration = Duration::from_mins(1);
        let counted = Counted::new(Quotas { failed_logins_per_minute: 1, ..Quotas::default() });
        let began = Instant::now();
        for stranger in 0..50 * u128::try_from(RATED_MAX).unwrap() {
            let address = IpAddr::V6(Ipv6Addr::from_bits(stranger << 64));
            counted.failed(address);
            assert!(counted.is_barred(address));
            assert!(began.elapsed() < WITHIN, "after {stranger} strangers");
        }
    }
}
