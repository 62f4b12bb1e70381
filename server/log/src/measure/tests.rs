//! Tests of the sums in memory; those of the log on disk are the same, see `sqlite/tests/measured.rs`.

use std::collections::BTreeSet;

use model::limits::{MEASURE_SUMS_MAX, MEASURES_IN_MEMORY_MAX};

use super::sums::LOOK_EVERY_ROWS;
use super::*;
use crate::QueryCancel;

fn runs(at: u64, amount: i64) -> Measurement {
    let (metric, agent, model) = (Metric::Runs, "coder".into(), "m".into());
    Measurement { metric, at, agent, model, tool: "".into(), detail: "".into(), amount }
}

fn query(from: u64, to: u64, step_ms: u64) -> MeasureQuery {
    MeasureQuery { metrics: vec![Metric::Runs], from, to, step_ms, by: BTreeSet::new() }
}

#[test]
fn each_metric_has_a_number_of_its_own() {
    let numbers: BTreeSet<i64> = Metric::ALL.iter().map(|metric| metric.number()).collect();
    assert_eq!(numbers.len(), Metric::ALL.len());
}

#[test]
fn steps_begin_where_the_query_does_and_what_is_taken_back_is_no_sum() {
    let mut kept = MeasuresInMemory::default();
    kept.add(&[runs(HOUR_MS + 1, 1), runs(2 * HOUR_MS, 1), runs(3 * HOUR_MS, 1), runs(3 * HOUR_MS, -1)]);
    let found = kept.measured(&query(HOUR_MS, 9 * HOUR_MS, 2 * HOUR_MS), &QueryCancel::default()).unwrap();
    let sums: Vec<_> = found.sums.iter().map(|sum| (sum.start, sum.amount)).collect();
    assert_eq!((sums, found.since), (vec![(HOUR_MS, 2)], 0));
    let none = kept.measured(&query(4 * HOUR_MS, 9 * HOUR_MS, HOUR_MS), &QueryCancel::default()).unwrap();
    assert_eq!(none.sums, []);
}

#[test]
fn i7_memory_keeps_whole_hours_and_says_since_when() {
    let mut kept = MeasuresInMemory::default();
    let many = |hour: u64, count: usize| -> Vec<Measurement> {
        (0..count).map(|n| Measurement { tool: n.to_string().into(), ..runs(hour * HOUR_MS, 1) }).collect()
    };
    kept.add(&many(1, 10));
    kept.add(&many(2, MEASURES_IN_MEMORY_MAX - 5));
    assert_eq!(kept.rows.len(), MEASURES_IN_MEMORY_MAX - 5);
    let found = kept.measured(&query(0, 9 * HOUR_MS, 9 * HOUR_MS), &QueryCancel::default()).unwrap();
    assert_eq!(found.since, 2 * HOUR_MS);
    assert_eq!(found.sums[0].amount, (MEASURES_IN_MEMORY_MAX - 5) as i128);
}

#[test]
fn i7_more_sums_than_an_answer_has_are_refused_and_a_stopped_query_ends() {
    let stop = QueryCancel::default();
    let mut asked = query(0, DAY_MS, DAY_MS);
    asked.by.insert(Dimension::Tool);
    let mut sums = Sums::new(&asked, &stop);
    let mut add = |n: usize| {
        let (agent, model, detail) = ("", "", "");
        sums.add(&MeasureRow {
            at: 0,
            metric: Metric::Calls,
            agent,
            model,
            tool: &n.to_string(),
            detail,
            amount: 1,
        })
    };
    assert!((0..MEASURE_SUMS_MAX).all(|n| add(n).is_ok()));
    assert!(add(MEASURE_SUMS_MAX).unwrap_err().to_string().contains("shorter time"));
    let mut sums = Sums::new(&asked, &stop);
    let mut add = |n: usize| {
        let (agent, model, detail) = ("", "", "");
        sums.add(&MeasureRow {
            at: 0,
            metric: Metric::Calls,
            agent,
            model,
            tool: &n.to_string(),
            detail,
            amount: 1,
        })
    };
    stop.cancel();
    let error = (0..2 * LOOK_EVERY_ROWS).find_map(|_| add(0).err());
    assert!(error.unwrap().to_string().contains("too long"));
}

#[test]
fn latencies_of_one_name_are_one_sum_with_a_count_for_each_bucket() {
    let took = |bucket: &str, amount: i64| Measurement {
        metric: Metric::CallMs,
        tool: "sql".into(),
        detail: bucket.into(),
        ..runs(HOUR_MS, amount)
    };
    let all = [took("7", 2), took("130", 1), took("7", 1), took("9", 1), took("9", -1), took("fast", 5)];
    let mut asked = query(HOUR_MS, 2 * HOUR_MS, HOUR_MS);
    asked.metrics = vec![Metric::CallMs];
    let mut kept = MeasuresInMemory::default();
    kept.add(&all);
    let found = kept.measured(&asked, &QueryCancel::default()).unwrap().sums;
    assert_eq!((found.len(), found[0].amount, found[0].detail.as_str()), (1, 4, ""));
    assert_eq!(found[0].latencies.iter().collect::<Vec<_>>(), [(7, 3), (130, 1)]);
    let mut counts = MeasureCounts::default();
    counts.add(&all);
    let latencies = counts.latencies();
    // By hour and by day, in total, by agent, by model and by tool.
    assert_eq!(latencies.len(), 2 * 4);
    assert!(latencies.iter().all(|(_, _, counts)| counts == &found[0].latencies));
}

#[test]
fn i7_each_bucket_of_a_latency_counts_among_the_sums_of_an_answer() {
    let stop = QueryCancel::default();
    let mut asked = query(0, DAY_MS, DAY_MS);
    asked.by.insert(Dimension::Tool);
    let mut sums = Sums::new(&asked, &stop);
    let mut all = LatencyCounts::default();
    for bucket in 0..1_000 {
        all.add(bucket, 1);
    }
    let mut add = |n: usize| {
        let tool = n.to_string();
        let row = MeasureRow {
            at: 0,
            metric: Metric::CallMs,
            agent: "",
            model: "",
            tool: &tool,
            detail: "",
            amount: 0,
        };
        if n.is_multiple_of(2) { sums.push(&row, all.clone()) } else { sums.add_latencies(&row, &all) }
    };
    assert!((0..MEASURE_SUMS_MAX / 1_000).all(|n| add(n).is_ok()));
    assert!(add(MEASURE_SUMS_MAX / 1_000).unwrap_err().to_string().contains("shorter time"));
}
