//! Latencies count in one of a few hundred buckets whose width grows with them, so that quantiles come within 1/32 of the truth,
//! however many there were.
//!
//! ```text
//! latency   0 … 63   64 65 │ 66 67 │ … 126 127 │ 128 … 131 │ 132 … 135 │ …
//! bucket    0 … 63   64    │ 65    │ …   95    │ 96        │ 97        │ …
//! ```
//!
//! Up to 63 ms each millisecond has a bucket of its own. From there on each doubling is divided into 32 of
//! equal width.
//!
//! How many there are in each bucket is packed into bytes where a log keeps them: for each bucket that is not empty, the distance from the
//! one before and the count, as numbers of 7 bits a byte, the lowest first (LEB128); the count's lowest bit is its sign (zigzag).

use super::SUM_MAX;

/// Buckets for each doubling, as a power of two.
const STEP_BITS: u32 = 5;

/// How many buckets there are: the last one has the longest latency that 64 bits hold.
pub const BUCKETS_MAX: u32 = 1_920;

/// The bucket of a latency. Later latencies have higher buckets.
pub fn bucket(latency_ms: u64) -> u32 {
    let bits = u64::BITS - latency_ms.leading_zeros();
    // Small ones have a bucket each; of larger ones the highest bits count.
    let shift = bits.saturating_sub(STEP_BITS + 1);
    let step = u32::try_from(latency_ms >> shift).unwrap_or(u32::MAX);
    (shift << STEP_BITS) + step
}

/// The longest latency of a bucket. A quantile is given as this, so it is never shorter than the truth.
pub fn longest(bucket: u32) -> u64 {
    let shift = (bucket >> STEP_BITS).saturating_sub(1);
    let step = u64::from(bucket - (shift << STEP_BITS));
    // A damaged file may name a bucket that no latency is in.
    let end = u128::from(step + 1).checked_shl(shift).unwrap_or(u128::MAX);
    u64::try_from(end.saturating_sub(1)).unwrap_or(u64::MAX)
}

/// The bucket that a text names; none for all but a number below [`BUCKETS_MAX`].
pub(super) fn parse(text: &str) -> Option<u32> {
    text.parse().ok().filter(|bucket| *bucket < BUCKETS_MAX)
}

/// What `percent` of 100 took at most, of buckets that rise, each with how many are in it; nothing of none.
pub fn quantile(buckets: &[(u32, u64)], percent: u64) -> Option<u64> {
    quantile_of(buckets.iter().copied(), percent)
}

fn quantile_of(mut buckets: impl Iterator<Item = (u32, u64)> + Clone, percent: u64) -> Option<u64> {
    let all: u128 = buckets.clone().map(|(_, count)| u128::from(count)).sum();
    let rank = (all * u128::from(percent)).div_ceil(100).max(1);
    let mut below = 0;
    let found = buckets.find(|(_, count)| {
        below += u128::from(*count);
        below >= rank
    });
    found.map(|(bucket, _)| longest(bucket))
}

/// How many latencies fell into each bucket. At most [`BUCKETS_MAX`] counts, each of at most 2^61 either way; a count may be negative where
/// more was taken back than counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    /// By bucket, rising, without those that count 0.
    counts: Vec<(u32, i64)>,
}

impl LatencyCounts {
    /// `count` latencies of one bucket; of none for a bucket that there is not.
    pub fn of(bucket: u32, count: i64) -> Self {
        let mut one = Self::default();
        one.add(bucket, count);
        one
    }

    /// Adds `count` to a bucket. A bucket that there is not stays without.
    pub fn add(&mut self, bucket: u32, count: i64) {
        if bucket < BUCKETS_MAX {
            let at = self.counts.partition_point(|(known, _)| *known < bucket);
            self.add_at(at, bucket, count);
            self.counts.retain(|(_, count)| *count != 0);
        }
    }

    /// Adds all counts of another.
    pub fn plus(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        let mut at = 0;
        for (bucket, count) in &other.counts {
            while self.counts.get(at).is_some_and(|(known, _)| known < bucket) {
                at += 1;
            }
            self.add_at(at, *bucket, *count);
        }
        self.counts.retain(|(_, count)| *count != 0);
    }

    /// Adds to the count of `bucket`, whose place is `at`. It may be 0 then.
    fn add_at(&mut self, at: usize, bucket: u32, count: i64) {
        match self.counts.get_mut(at) {
            Some((known, sum)) if *known == bucket => {
                *sum = sum.saturating_add(count).clamp(-SUM_MAX, SUM_MAX);
            }
            _ => self.counts.insert(at, (bucket, count.clamp(-SUM_MAX, SUM_MAX))),
        }
    }

    /// The buckets that are not empty, rising, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u32, i64)> + Clone {
        self.counts.iter().copied()
    }

    /// The number of buckets that are not empty.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether all buckets are empty.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The sum of the counts of all buckets.
    pub fn total(&self) -> i128 {
        self.iter().map(|(_, count)| i128::from(count)).sum()
    }

    /// What `percent` of 100 took at most; nothing of none. Negative counts are none.
    pub fn quantile(&self, percent: u64) -> Option<u64> {
        quantile_of(self.iter().map(|(bucket, count)| (bucket, u64::try_from(count).unwrap_or(0))), percent)
    }

    /// The bytes in which a log keeps them, see the layout above. At most 12 for each bucket.
    pub(crate) fn packed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(3 * self.counts.len());
        let mut before = 0;
        for (bucket, count) in self.iter() {
            put(&mut bytes, u64::from(bucket - before));
            put(&mut bytes, (count.cast_unsigned() << 1) ^ (count >> 63).cast_unsigned());
            before = bucket;
        }
        bytes
    }

    /// What [`Self::packed`] made of them; `None` for bytes that it does not make.
    pub(crate) fn unpacked(mut bytes: &[u8]) -> Option<Self> {
        // Most take two or three bytes each.
        let mut counts = Vec::with_capacity(bytes.len() / 2);
        let mut before = 0_u64;
        while !bytes.is_empty() {
            let bucket = before.checked_add(take(&mut bytes)?)?;
            let sign_last = take(&mut bytes)?;
            let count = (sign_last >> 1).cast_signed() ^ -((sign_last & 1).cast_signed());
            let known = u32::try_from(bucket).ok().filter(|bucket| *bucket < BUCKETS_MAX)?;
            let rises = counts.is_empty() || bucket > before;
            if !rises || count == 0 || !(-SUM_MAX..=SUM_MAX).contains(&count) {
                return None;
            }
            counts.push((known, count));
            before = bucket;
        }
        Some(Self { counts })
    }
}

/// Writes a number in 7 bits a byte, the lowest first; all bytes but the last have their highest bit set.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Reads such a number from the front; `None` if it does not end or has more than 64 bits.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
