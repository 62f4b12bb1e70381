//! Tests of counts by bucket and of their bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[test]
fn i7_the_longest_latency_has_the_last_bucket() {
    assert_eq!(bucket(u64::MAX) + 1, BUCKETS_MAX);
    assert_eq!((parse("1919"), parse("1920"), parse(""), parse("-1")), (Some(1_919), None, None, None));
    let mut counts = LatencyCounts::of(BUCKETS_MAX, 7);
    assert!(counts.is_empty(), "a bucket that there is not has no count");
    for bucket in 0..BUCKETS_MAX {
        counts.add(bucket, -SUM_MAX);
    }
    assert!(counts.packed().len() <= 12 * usize::try_from(BUCKETS_MAX).unwrap());
    assert_eq!(LatencyCounts::unpacked(&counts.packed()), Some(counts));
}

#[test]
fn quantiles_of_counts_are_those_of_the_single_latencies() {
    let mut counts = LatencyCounts::default();
    for ms in 1..=60 {
        counts.add(bucket(ms), 1);
    }
    assert_eq!([50, 95, 100].map(|percent| counts.quantile(percent)), [Some(30), Some(57), Some(60)]);
    assert_eq!(LatencyCounts::default().quantile(50), None);
    assert_eq!(LatencyCounts::of(3, -1).quantile(50), None, "what is taken back took no time");
}

proptest! {
    #[test]
    fn counts_add_up_in_any_order_and_survive_their_bytes(
        all in proptest::collection::vec((0..BUCKETS_MAX, -3_i64..400), 0..200), cut in 0_usize..200,
    ) {
        let mut truth = BTreeMap::<u32, i64>::new();
        for (bucket, count) in &all {
            *truth.entry(*bucket).or_default() += count;
        }
        truth.retain(|_, count| *count != 0);
        let of = |some: &[(u32, i64)]| {
            let mut counts = LatencyCounts::default();
            for (bucket, count) in some {
                counts.add(*bucket, *count);
            }
            counts
        };
        let (left, right) = all.split_at(cut.min(all.len()));
        let (mut sum, right) = (of(left), of(right));
        sum.plus(&right);
        prop_assert_eq!(sum.iter().collect::<BTreeMap<_, _>>(), truth);
        prop_assert_eq!(LatencyCounts::unpacked(&sum.packed()), Some(sum));
    }

    #[test]
    fn damaged_bytes_are_no_counts_or_counts_within_the_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Some(counts) = LatencyCounts::unpacked(&bytes) {
            prop_assert!(counts.iter().all(|(bucket, _)| bucket < BUCKETS_MAX));
            prop_assert_eq!(LatencyCounts::unpacked(&counts.packed()), Some(counts));
        }
    }
}
