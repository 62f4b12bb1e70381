//! How many bytes of one way pass between the hub and one principal, and between the hub and one address. Bytes are counted when they have
//! passed; what is over the number of a minute is owed. What is done one by one, such as searches, is counted in the same way, before it is done.
//!
//! ```text
//! bytes of ann from 203.0.113.7 ─▶ counted for ann and for 203.0.113.7 ─▶ whichever owes longer decides
//! ```

use super::{FullTimes, MinuteQuota};

/// A minute in microseconds.
const MINUTE_US: u64 = 60_000_000;

/// How many bytes passed, by whose they are: a number at once, and as many again in each minute. Bytes are counted when they have passed, so
/// somebody may have had more than that; they owe it then, a minute's worth at most. At most [`RATED_MAX`](super::RATED_MAX) are kept, as in
/// [`Rates`](super::Rates). Whatever else has a number is counted as bytes are.
#[derive(Debug, Clone)]
struct ByteRates<K> {
    /// Bytes in a minute, at least one.
    in_a_minute: u64,
    /// For each, the time at which nothing will have been used.
    full_at: FullTimes<K>,
}

impl<K: Ord + Clone> ByteRates<K> {
    /// `mib_in_a_minute` MiB at once, at least one, and as many again in each minute.
    fn new(mib_in_a_minute: u32) -> Self {
        Self::of(u64::from(mib_in_a_minute) << 20)
    }

    /// So many at once, at least one, and as many again in each minute.
    fn of(in_a_minute: u64) -> Self {
        Self { in_a_minute: in_a_minute.max(1), full_at: FullTimes::default() }
    }

    /// How long `bytes` take to be paid for, in microseconds.
    fn time(&self, bytes: u64) -> u64 {
        let time = u128::from(bytes) * u128::from(MINUTE_US);
        u64::try_from(time.div_ceil(u128::from(self.in_a_minute))).unwrap_or(u64::MAX)
    }

    /// Counts `bytes` that passed at `now`, in microseconds. Gives in how many microseconds more may pass; 0 is now.
    fn count(&mut self, whose: &K, bytes: u64, now: u64) -> u64 {
        let full_at = self.full_at.get(whose).max(now).saturating_add(self.time(bytes));
        self.full_at.set(whose, full_at.min(now.saturating_add(2 * MINUTE_US)));
        self.owes(whose, now)
    }

    /// In how many microseconds after `now` one more may be done; 0 is now.
    fn lacks_one(&self, whose: &K, now: u64) -> u64 {
        // Shares of a minute that are rounded up must not take one away.
        let minute = self.time(1).saturating_mul(self.in_a_minute).max(MINUTE_US);
        (self.full_at.get(whose).max(now) - now).saturating_add(self.time(1)).saturating_sub(minute)
    }

    /// In how many microseconds after `now` more may pass; 0 is now, and it is a minute at most.
    fn owes(&self, whose: &K, now: u64) -> u64 {
        self.full_at.get(whose).saturating_sub(now).saturating_sub(MINUTE_US)
    }
}

/// Whose quota is used up, of bytes or of an act: that of the principal, or that of the address, which principals share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaHolder {
    /// The principal.
    Principal,
    /// The address, whoever sends and fetches there.
    Address,
}

/// The bytes of one way: of each principal, and of each address, which principals share. What is counted for both is owed by whoever owes
/// longer. Of each at most [`RATED_MAX`](super::RATED_MAX) are kept.
#[derive(Debug)]
pub struct PrincipalAndAddressRates<P, A> {
    principals: ByteRates<P>,
    addresses: ByteRates<A>,
}

impl<P: Ord + Clone, A: Ord + Clone> PrincipalAndAddressRates<P, A> {
    /// So many MiB of one principal and of one address in a minute, at least one each.
    pub fn new(principal_mib: u32, address_mib: u32) -> Self {
        Self { principals: ByteRates::new(principal_mib), addresses: ByteRates::new(address_mib) }
    }

    /// So many of something other than bytes.
    pub fn of(MinuteQuota { principal, address }: MinuteQuota) -> Self {
        Self { principals: ByteRates::of(principal.into()), addresses: ByteRates::of(address.into()) }
    }

    /// Does one at `now`, in microseconds, for a principal and an address where they are known. Where it may not be done yet nothing is
    /// counted, and the error has in how many microseconds it may, and whose number that is.
    pub fn take(
        &mut self,
        principal: Option<&P>,
        address: Option<&A>,
        now: u64,
    ) -> Result<(), (u64, QuotaHolder)> {
        let of_principal = principal.map_or(0, |it| self.principals.lacks_one(it, now));
        let of_address = address.map_or(0, |it| self.addresses.lacks_one(it, now));
        if let Some(lacks) = longer(of_principal, of_address) {
            return Err(lacks);
        }
        self.count(principal, address, 1, now);
        Ok(())
    }

    /// Counts `bytes` that passed at `now`, in microseconds, for a principal and an address where they are known. Gives in how many microseconds
    /// more may pass; 0 is now.
    pub fn count(&mut self, principal: Option<&P>, address: Option<&A>, bytes: u64, now: u64) -> u64 {
        let principal = principal.map_or(0, |it| self.principals.count(it, bytes, now));
        let address = address.map_or(0, |it| self.addresses.count(it, bytes, now));
        principal.max(address)
    }

    /// In how many microseconds after `now` more may pass, a minute at most, and who owes so long; `None` where more may pass now.
    pub fn owes(&self, principal: Option<&P>, address: Option<&A>, now: u64) -> Option<(u64, QuotaHolder)> {
        let principal = principal.map_or(0, |it| self.principals.owes(it, now));
        let address = address.map_or(0, |it| self.addresses.owes(it, now));
        longer(principal, address)
    }
}

/// The longer one of what a principal and an address lack, and whose it is; `None` if both lack nothing.
fn longer(principal: u64, address: u64) -> Option<(u64, QuotaHolder)> {
    let longer = if address > principal {
        (address, QuotaHolder::Address)
    } else {
        (principal, QuotaHolder::Principal)
    };
    (longer.0 > 0).then_some(longer)
}

#[cfg(test)]
mod tests {
    //! Tests of bytes that are owed, for as long as it takes, by whose they are.

    use proptest::prelude::*;

    use super::super::RATED_MAX;
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn i7_bytes_of_a_minute_pass_at_once_and_what_is_over_it_is_owed_a_minute_at_most() {
        let mut rates = ByteRates::new(6);
        assert_eq!(
            [rates.count(&"a", 2 * MIB, 0), rates.count(&"a", 4 * MIB, 0)],
            [0, 0],
            "a minute's worth"
        );
        assert_eq!(rates.count(&"a", MIB, 0), MINUTE_US / 6, "one MiB in ten seconds");
        assert_eq!((rates.owes(&"a", MINUTE_US / 6 - 1), rates.owes(&"a", MINUTE_US / 6)), (1, 0));
        assert_eq!((rates.owes(&"b", 0), rates.count(&"b", 6 * MIB, 0)), (0, 0), "others are not counted");
        assert_eq!(rates.count(&"a", u64::MAX, 0), MINUTE_US, "whatever it was");
        assert_eq!(
            rates.count(&"a", 6 * MIB, 2 * MINUTE_US),
            0,
            "after the minutes all of it is there again"
        );
        assert_eq!(rates.count(&"a", 1, 2 * MINUTE_US), 10, "and no more");
    }

    #[test]
    fn i7_of_so_many_principals_are_bytes_counted_and_those_who_had_most_stay() {
        let mut rates = ByteRates::new(1);
        assert!(rates.count(&0, 2 << 20, 0) > 0);
        for other in 1..=2 * RATED_MAX {
            assert_eq!(rates.count(&other, 1_000, 0), 0);
        }
        assert_eq!(rates.full_at.by.len(), RATED_MAX);
        assert!(rates.owes(&0, 0) > 0, "a crowd of others gives nobody more");
    }

    #[test]
    fn i7_of_so_many_addresses_are_bytes_counted_and_those_that_had_most_stay() {
        let mut rates = PrincipalAndAddressRates::new(100, 1);
        assert!(rates.count(Some(&"ann"), Some(&0), 2 * MIB, 0) > 0);
        for other in 1..=RATED_MAX + 10 {
            assert_eq!(rates.count(None, Some(&other), 1_000, 0), 0);
        }
        assert_eq!((rates.addresses.full_at.by.len(), rates.principals.full_at.by.len()), (RATED_MAX, 1));
        assert_eq!(rates.owes(None, Some(&0), 0).map(|(_, holder)| holder), Some(QuotaHolder::Address));
    }

    #[test]
    fn i7_so_many_are_done_at_once_and_then_one_after_each_share_of_a_minute() {
        for number in [1, 3, 7, 1_000] {
            let quota = MinuteQuota { principal: number, address: 2 * number };
            let mut rates = PrincipalAndAddressRates::of(quota);
            let mut done = |who: &'static str, now| rates.take(Some(&who), Some(&"there"), now);
            for _ in 0..number {
                assert_eq!(done("ann", 0), Ok(()));
            }
            let (wait, holder) = done("ann", 0).unwrap_err();
            assert!(holder == QuotaHolder::Principal && wait <= MINUTE_US / u64::from(number) + 1, "{wait}");
            for _ in 0..number {
                assert_eq!(done("bob", 0), Ok(()), "what was refused did not count for the address");
            }
            assert_eq!(done("eve", 0).map_err(|(_, holder)| holder), Err(QuotaHolder::Address));
            assert_eq!(done("ann", wait - 1).map_err(|(left, _)| left > 0), Err(true));
            assert_eq!(done("ann", wait), Ok(()), "after that long one more");
        }
    }

    /// One lump of bytes: after how long it comes, in microseconds, of which principal, from which address, how many.
    type Lump = (u64, u8, u8, u64);

    fn lumps() -> impl Strategy<Value = Vec<Lump>> {
        proptest::collection::vec((0..20_000_000_u64, 0..4_u8, 0..3_u8, 0..MIB / 2), 1..200)
    }

    proptest! {
        #[test]
        fn i7_principals_and_addresses_get_what_a_minute_gives_and_pay_for_nobody_else(lumps in lumps()) {
            let (of_principal, of_address) = (2_u32, 3_u32);
            let mut both = PrincipalAndAddressRates::new(of_principal, of_address);
            let mut principals = vec![ByteRates::new(of_principal); 4];
            let mut addresses = vec![ByteRates::new(of_address); 3];
            let (mut now, mut passed) = (0, [[0_u64; 4]; 2]);
            for (pause, principal, address, bytes) in lumps {
                now += pause;
                let (who, place) = (usize::from(principal), usize::from(address));
                // Whoever owes waits until it does not, as sockets and bodies do.
                let owed = both.owes(Some(&principal), Some(&address), now);
                let (alone, there) = (principals[who].owes(&(), now), addresses[place].owes(&(), now));
                prop_assert_eq!(owed.map_or(0, |(us, _)| us), alone.max(there), "as if nobody else was there");
                prop_assert!(alone.max(there) <= MINUTE_US, "nobody waits longer than a minute");
                now += alone.max(there);
                prop_assert_eq!(both.owes(Some(&principal), Some(&address), now), None);
                let (alone, there) = (principals[who].count(&(), bytes, now), addresses[place].count(&(), bytes, now));
                let owes = both.count(Some(&principal), Some(&address), bytes, now);
                prop_assert_eq!(owes, alone.max(there));
                passed[0][who] += bytes;
                passed[1][place] += bytes;
                // A minute's worth at once, what time has brought since, and one lump that was over it.
                let may = |mib: u32| u128::from(mib) * u128::from(MIB) * u128::from(now + MINUTE_US) / u128::from(MINUTE_US) + u128::from(MIB / 2);
                prop_assert!(u128::from(passed[0][who]) <= may(of_principal));
                prop_assert!(u128::from(passed[1][place]) <= may(of_address));
            }
        }
    }
}
