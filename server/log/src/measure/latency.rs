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

/// Buckets for each doubling, as a power of two.
const STEP_BITS: u32 = 5;

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

/// What `percent` of 100 took at most, of buckets that rise, each with how many are in it; nothing of none.
pub fn quantile(buckets: &[(u32, u64)], percent: u64) -> Option<u64> {
    let all: u128 = buckets.iter().map(|(_, count)| u128::from(*count)).sum();
    let rank = (all * u128::from(percent)).div_ceil(100).max(1);
    let mut below = 0;
    let found = buckets.iter().find(|(_, count)| {
        below += u128::from(*count);
        below >= rank
    });
    found.map(|(bucket, _)| longest(*bucket))
}
