//! Figures of calls: how many, how many failed, how long they took. A latency counts in one of a few hundred buckets
//! whose width grows with it, so that quantiles come within 1/32 of the truth, however many calls there were.

use std::collections::BTreeMap;

use compact_str::CompactString;
use model::limits::ID_BYTES_MAX;

use crate::Call;

/// The name under which tools beyond the limit are counted.
pub(crate) const OTHERS: &str = "(others)";

/// The number of buckets for each doubling of the latency, as a power of two.
const STEP_BITS: u32 = 5;

/// The calls of one commit, counted by tool.
#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    pub(crate) tools: BTreeMap<CompactString, Counts>,
}

/// The calls of one tool.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: i64,
    pub(crate) failed: i64,
    /// How many calls by bucket of latency.
    pub(crate) buckets: BTreeMap<u32, i64>,
}

impl CallCounts {
    /// Adds calls that have ended.
    pub(crate) fn add(&mut self, calls: &[Call]) {
        for call in calls {
            let end = call.name.floor_char_boundary(ID_BYTES_MAX);
            let name = CompactString::from(call.name.get(..end).unwrap_or_default());
            let counts = self.tools.entry(name).or_default();
            counts.calls += 1;
            counts.failed += i64::from(call.failed);
            if let Some(latency_ms) = call.latency_ms {
                *counts.buckets.entry(bucket(latency_ms)).or_default() += 1;
            }
        }
    }
}

/// The bucket of a latency in milliseconds.
fn bucket(latency_ms: u64) -> u32 {
    let bits = u64::BITS - latency_ms.leading_zeros();
    // Small latencies have a bucket each; of larger ones the highest bits count.
    let shift = bits.saturating_sub(STEP_BITS + 1);
    let step = u32::try_from(latency_ms >> shift).unwrap_or(u32::MAX);
    (shift << STEP_BITS) + step
}

/// The longest latency of a bucket, in milliseconds.
fn longest(bucket: u32) -> u64 {
    let shift = (bucket >> STEP_BITS).saturating_sub(1);
    let step = u64::from(bucket - (shift << STEP_BITS));
    // A damaged file may name a bucket that no latency has.
    let end = u128::from(step + 1).checked_shl(shift).unwrap_or(u128::MAX);
    u64::try_from(end.saturating_sub(1)).unwrap_or(u64::MAX)
}

/// The latency that `percent` of 100 calls did not exceed; `None` without calls.
pub(crate) fn quantile(buckets: &[(u32, u64)], percent: u64) -> Option<u64> {
    let all: u128 = buckets.iter().map(|(_, calls)| u128::from(*calls)).sum();
    let rank = (all * u128::from(percent)).div_ceil(100).max(1);
    let mut below = 0;
    let found = buckets.iter().find(|(_, calls)| {
        below += u128::from(*calls);
        below >= rank
    });
    found.map(|(bucket, _)| longest(*bucket))
}

#[cfg(test)]
mod tests;
