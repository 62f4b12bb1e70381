//! How much one address and one principal may do: connections, requests, sockets, what is published, bytes, logins that fail. Pure: times are
//! arguments, and whoever holds a place gives it back.

use std::collections::{BTreeMap, BTreeSet};

use model::limits::{HEAD_S, STRANGER_BODY_S};

mod acts;
mod bytes;

pub use acts::{MinuteQuota, PerAct, RatedAct};
pub use bytes::{PrincipalAndAddressRates, QuotaHolder};

/// Most addresses or principals of which a rate is kept; for another one that which has used least is forgotten.
pub const RATED_MAX: usize = 10_000;

/// The bounds of one address and one principal. They count while access control is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Most open connections of one address, those of named proxies aside.
    pub connections_per_address: u32,
    /// Logins of one address that may fail in a minute, all of them at once too.
    pub failed_logins_per_minute: u32,
    /// Logins at a provider of identities that one address may begin in a minute, all of them at once too. Ten minutes of it are fewer than the
    /// logins that are kept, so that one address does not push out those of others.
    pub provider_logins_per_minute: u32,
    /// Most requests of one principal that are answered at the same time, streams and waits among them.
    pub requests_per_principal: u32,
    /// Most open sockets of one principal.
    pub sockets_per_principal: u32,
    /// Frames and requests with events that one principal may send in a second, and ten times as many at once.
    pub publishes_per_second: u32,
    /// MiB of one principal's bodies and frames that the hub receives in a minute, all of them at once too.
    pub received_mib_per_minute: u32,
    /// MiB of bodies that the hub sends one principal in a minute, all of them at once too.
    pub sent_mib_per_minute: u32,
    /// MiB of bodies and frames that the hub receives from one address in a minute, whoever sends them.
    pub received_mib_per_minute_per_address: u32,
    /// MiB of bodies that the hub sends one address in a minute, whoever fetches them.
    pub sent_mib_per_minute_per_address: u32,
    /// Most subscriptions of one principal at once, of conversations and of the list, on all of its sockets.
    pub subscriptions_per_principal: u32,
    /// Most subscriptions of one address at once, whoever has them.
    pub subscriptions_per_address: u32,
    /// Seconds in which a connection agrees on TLS, and in which it brings the head of a request.
    pub head_s: u32,
    /// Seconds in which the body of somebody who is not known yet has come.
    pub stranger_body_s: u32,
    /// How often one principal and one address may do the rest in a minute.
    pub per_minute: PerAct<MinuteQuota>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            connections_per_address: 1_000,
            failed_logins_per_minute: 1_000,
            provider_logins_per_minute: 60,
            requests_per_principal: 500,
            sockets_per_principal: 1_000,
            publishes_per_second: 1_000,
            received_mib_per_minute: 16_384,
            sent_mib_per_minute: 32_768,
            received_mib_per_minute_per_address: 16_384,
            sent_mib_per_minute_per_address: 32_768,
            subscriptions_per_principal: 20_000,
            subscriptions_per_address: 40_000,
            head_s: HEAD_S,
            stranger_body_s: STRANGER_BODY_S,
            per_minute: PerAct::each(RatedAct::usual),
        }
    }
}

/// How many of something are in use, by whose they are. Who uses none is not in it. It is as large as what is
/// in use.
#[derive(Debug)]
pub struct UseCounts<K> {
    /// The most that each may have in use.
    max: u32,
    /// The number that each has in use, never 0.
    by: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> UseCounts<K> {
    /// Makes counts of which each may have `max` at most.
    pub fn new(max: u32) -> Self {
        Self { max, by: BTreeMap::new() }
    }

    /// Takes one; false if as many are in use as may be.
    pub fn take(&mut self, whose: &K) -> bool {
        let used = self.by.get(whose).copied().unwrap_or_default();
        if used < self.max {
            self.by.insert(whose.clone(), used + 1);
        }
        used < self.max
    }

    /// Gives one back. What was never taken changes nothing.
    pub fn give_back(&mut self, whose: &K) {
        match self.by.get_mut(whose) {
            Some(used) if *used > 1 => *used -= 1,
            _ => drop(self.by.remove(whose)),
        }
    }
}

/// When all that may be saved up is there, by whose it is, in microseconds since some beginning. At most [`RATED_MAX`] are kept; for another one
/// that which has used least is forgotten, so those who used most stay, and a crowd of others gives nobody more. Each is found, changed and
/// forgotten in a number of steps that grows with the logarithm of how many there are, since a stranger may make each one new.
#[derive(Debug, Clone)]
struct FullTimes<K> {
    by: BTreeMap<K, u64>,
    /// The entries of `by` as (time, key): those that have used least come first.
    order: BTreeSet<(u64, K)>,
}

impl<K> Default for FullTimes<K> {
    fn default() -> Self {
        Self { by: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> FullTimes<K> {
    /// The time of `whose`; 0 for one that is not there.
    fn get(&self, whose: &K) -> u64 {
        self.by.get(whose).copied().unwrap_or_default()
    }

    /// Sets the time of `whose`.
    fn set(&mut self, whose: &K, full_at: u64) {
        if let Some(there) = self.by.get_mut(whose) {
            let before = std::mem::replace(there, full_at);
            self.order.remove(&(before, whose.clone()));
        } else {
            if self.by.len() >= RATED_MAX
                && let Some((_, least)) = self.order.pop_first()
            {
                self.by.remove(&least);
            }
            self.by.insert(whose.clone(), full_at);
        }
        self.order.insert((full_at, whose.clone()));
    }
}

/// How often something was done, by whose it is: a number of times at once, and one more after each span of
/// time. At most [`RATED_MAX`] are kept; those who used most stay, so a crowd of others gives nobody more.
#[derive(Debug)]
pub struct Rates<K> {
    /// How often something may be done at once.
    at_once: u64,
    /// After how many microseconds it may be done once more.
    every_us: u64,
    full_at: FullTimes<K>,
}

impl<K: Ord + Clone> Rates<K> {
    /// `at_once` times at once, at least one, and one more after each `every_us` microseconds.
    pub fn new(at_once: u32, every_us: u64) -> Self {
        Self { at_once: u64::from(at_once.max(1)), every_us: every_us.max(1), full_at: FullTimes::default() }
    }

    /// Whether one more may be done at `now`, in microseconds; nothing is taken.
    pub fn has_left(&self, whose: &K, now: u64) -> bool {
        let full_at = self.full_at.get(whose).max(now);
        full_at - now + self.every_us <= self.every_us.saturating_mul(self.at_once)
    }

    /// Does one at `now`; false if it may not be done yet.
    pub fn take(&mut self, whose: &K, now: u64) -> bool {
        let may = self.has_left(whose, now);
        if may {
            self.full_at.set(whose, self.full_at.get(whose).max(now).saturating_add(self.every_us));
        }
        may
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how much one may do, and that nobody else pays for it.

    use super::*;

    #[test]
    fn i7_no_more_are_in_use_than_may_be_and_others_are_not_counted() {
        let mut used = UseCounts::new(2);
        assert_eq!(
            [used.take(&"a"), used.take(&"a"), used.take(&"a"), used.take(&"b")],
            [true, true, false, true]
        );
        used.give_back(&"a");
        assert!(used.take(&"a") && !used.take(&"a"));
        for _ in 0..2 {
            used.give_back(&"a");
        }
        used.give_back(&"b");
        assert!(used.by.is_empty(), "who uses nothing takes no memory");
    }

    #[test]
    fn i7_some_at_once_and_then_one_in_each_span_and_others_are_not_counted() {
        let mut rates = Rates::new(3, 1_000);
        assert_eq!([0; 4].map(|now| rates.take(&"a", now)), [true, true, true, false]);
        assert!(!rates.has_left(&"a", 999) && rates.has_left(&"b", 0));
        assert!(rates.take(&"a", 1_000) && !rates.take(&"a", 1_000));
        assert_eq!(
            [9_000; 4].map(|now| rates.take(&"a", now)),
            [true, true, true, false],
            "saved up to three"
        );
    }

    #[test]
    fn i7_of_so_many_is_a_rate_kept_and_those_who_used_most_stay() {
        let mut rates = Rates::new(2, 1_000_000);
        assert!(rates.take(&0, 0) && rates.take(&0, 0));
        for other in 1..=2 * RATED_MAX {
            assert!(rates.take(&other, 0));
        }
        assert_eq!((rates.full_at.by.len(), rates.full_at.order.len()), (RATED_MAX, RATED_MAX));
        assert!(!rates.has_left(&0, 0), "a crowd of others gives nobody more");
    }
}
