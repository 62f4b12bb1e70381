//! Tests of the figures.

use proptest::prelude::*;

use super::*;
use crate::measure::{longest, quantile};
use crate::numbers::natural;

proptest! {
    #[test]
    fn a_latency_is_in_its_bucket_and_that_is_narrow(latency_ms in prop_oneof![0_u64..5_000, any::<u64>()]) {
        let longest = longest(bucket(latency_ms));
        prop_assert!(longest >= latency_ms);
        prop_assert!(longest - latency_ms <= latency_ms / 32, "{latency_ms} became {longest}");
        prop_assert_eq!(bucket(longest), bucket(latency_ms));
        if longest < u64::MAX {
            prop_assert_eq!(bucket(longest + 1), bucket(latency_ms) + 1);
        }
    }

    #[test]
    fn quantiles_come_within_six_percent(mut latencies in proptest::collection::vec(0_u64..600_000, 1..300)) {
        let calls: Vec<EndedToolCall> = latencies
            .iter()
            .map(|ms| EndedToolCall { name: "run_sql".into(), failed: false, latency_ms: Some(*ms) })
            .collect();
        let mut counts = ToolCallCounts::default();
        counts.add(&calls);
        let buckets: Vec<(u32, u64)> =
            counts.tools["run_sql"].buckets.iter().map(|(bucket, calls)| (*bucket, natural(*calls))).collect();
        latencies.sort_unstable();
        for percent in [50, 95] {
            let rank = (latencies.len() * percent).div_ceil(100);
            let truth = latencies[rank - 1];
            let told = quantile(&buckets, percent as u64).unwrap();
            prop_assert!(told >= truth && told - truth <= truth * 6 / 100, "{truth} became {told}");
        }
    }
}

#[test]
fn of_no_call_nobody_knows_how_long_it_took() {
    assert_eq!(quantile(&[], 50), None);
}

#[test]
fn counts_of_a_damaged_file_give_some_figure_and_no_panic() {
    let most = i64::MAX.unsigned_abs();
    assert_eq!(quantile(&[(1, most), (2, most), (3, most)], 50), Some(2));
    assert_eq!(quantile(&[(u32::MAX, 1)], 95), Some(u64::MAX));
}
