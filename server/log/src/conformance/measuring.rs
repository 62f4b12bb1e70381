//! Cases of measurements and their sums.

use std::collections::BTreeMap;

use model::limits::{MEASURE_HOURS_KEPT, MEASURES_PER_SPAN_MAX};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::material::{append_with, at, checkpoint, events, id, settle, stored};
use super::{LogUnderTest, cases};
use crate::measure::{DAY_MS, HOUR_MS, OTHERS};
use crate::{
    Append, Dimension, EventLog, ImportId, LogError, MeasureQuery, Measured, Measurement, Metric,
    QueryCancel, Ticket,
};

cases! {
    Passing:
        sums_are_those_of_the_single_measurements_for_all_steps,
        nothing_measured_has_no_sums,
        any_name_can_be_measured,
        what_is_taken_back_is_no_sum,
        what_a_removed_conversation_took_stays_counted,
        latencies_by_several_names_are_refused,
        a_latency_without_a_bucket_is_not_counted,
        a_query_that_is_stopped_is_refused_or_answered;
    Lasting:
        i10_what_is_measured_counts_once_over_a_death,
        what_was_staged_counts_with_the_import_and_not_before,
        what_was_staged_and_abandoned_counts_for_nothing,
        i7_a_span_has_so_many_rows_and_the_rest_counts_together,
        i7_a_span_is_filled_step_by_step_and_the_rest_counts_together,
        i7_hours_go_after_a_while_and_days_stay,
        sums_that_overflow_stay_where_they_are;
}

/// An hour in the time of the cases that is no midnight.
const NOON: u64 = 1_795_262_400_000;

fn measurement(metric: Metric, at: u64, agent: &str, tool: &str, amount: i64) -> Measurement {
    let (agent, tool) = (agent.into(), tool.into());
    Measurement { metric, at, agent, model: "m".into(), tool, detail: "".into(), amount }
}

/// How long the questions of random histories are, which last 100 hours: no whole number of days.
const LENGTH_MS: u64 = 13 * DAY_MS + 17 * HOUR_MS;

/// A query for all counts.
fn query(from: u64, to: u64, step_ms: u64, by: &[Dimension]) -> MeasureQuery {
    let metrics = Metric::ALL.into_iter().filter(|metric| !LATENCIES.contains(metric));
    MeasureQuery { metrics: metrics.collect(), from, to, step_ms, by: by.iter().copied().collect() }
}

/// The metrics that are told apart by one name at a time.
const LATENCIES: [Metric; 3] = [Metric::RunMs, Metric::FirstMs, Metric::CallMs];

fn measured(log: &dyn EventLog, query: &MeasureQuery) -> Measured {
    log.measured(query, &QueryCancel::default()).expect("it can be added up")
}

type ByNames = BTreeMap<(Metric, u64, String, String), i128>;

fn sums(log: &dyn EventLog, query: &MeasureQuery) -> ByNames {
    let key = |sum: &crate::MeasureSum| (sum.metric, sum.start, sum.agent.to_string(), sum.tool.to_string());
    let sums = measured(log, query).sums;
    sums.iter().filter(|sum| sum.amount != 0).map(|sum| (key(sum), sum.amount)).collect()
}

fn total(log: &dyn EventLog) -> i128 {
    sums(log, &query(0, NOON + DAY_MS, NOON + DAY_MS, &[])).into_values().sum()
}

/// Appends the event `seq` with measurements.
fn measure(log: &dyn EventLog, name: &str, seq: u64, measurements: Vec<Measurement>) -> Ticket {
    append_with(log, name, seq - 1, &events(seq, seq), |append| append.measurements = measurements)
}

fn any_measurement() -> impl Strategy<Value = Measurement> {
    let metric = proptest::sample::select(Metric::ALL.to_vec());
    let name = proptest::sample::select(vec!["", "a", "b", "größe"]);
    let bucket = proptest::sample::select(vec!["0", "7", "63", "130", "1919"]);
    (metric, 0_u64..200, name.clone(), name, -5_i64..1_000, bucket).prop_map(
        |(metric, half_hours, agent, tool, amount, bucket)| {
            let at = NOON + half_hours * HOUR_MS / 2;
            let detail = if LATENCIES.contains(&metric) { bucket.into() } else { "".into() };
            Measurement { detail, ..measurement(metric, at, agent, tool, amount) }
        },
    )
}

/// How many of which latency took how long, by bucket.
type ByBucket = BTreeMap<(Metric, u64, String, String, u32), i64>;

fn buckets(log: &dyn EventLog, query: &MeasureQuery) -> ByBucket {
    let mut all = ByBucket::new();
    for sum in measured(log, query).sums {
        for (bucket, count) in sum.latencies.iter() {
            let names = (sum.agent.to_string(), sum.tool.to_string());
            let before = all.insert((sum.metric, sum.start, names.0, names.1, bucket), count);
            assert_eq!(before, None, "what belongs together is one sum");
        }
    }
    all
}

/// What [`buckets`] are of `all`.
fn true_buckets(all: &[Measurement], query: &MeasureQuery) -> ByBucket {
    let details: std::collections::BTreeSet<_> = all.iter().map(|it| it.detail.clone()).collect();
    let mut truths = ByBucket::new();
    for detail in details.iter().filter(|detail| !detail.is_empty()) {
        let some: Vec<_> = all.iter().filter(|it| it.detail == *detail).cloned().collect();
        let bucket: u32 = detail.parse().expect("a bucket");
        let of = truth(&some, query).into_iter();
        truths.extend(of.map(|((metric, start, agent, tool), amount)| {
            ((metric, start, agent, tool, bucket), i64::try_from(amount).expect("few"))
        }));
    }
    truths
}

/// What the sums of `all` are for `query`.
fn truth(all: &[Measurement], query: &MeasureQuery) -> ByNames {
    let (from, step) = (query.from, query.step_ms);
    let mut truth = ByNames::new();
    for it in all.iter().filter(|it| query.metrics.contains(&it.metric)) {
        let hour = it.at / HOUR_MS * HOUR_MS;
        let start = from + hour.saturating_sub(from) / step * step;
        let named = |dimension: Dimension, name: &str| {
            // What runs took is kept without tools.
            let is_kept =
                dimension != Dimension::Tool || !matches!(it.metric, Metric::RunMs | Metric::FirstMs);
            String::from(if query.by.contains(&dimension) && is_kept { name } else { "" })
        };
        let names = (named(Dimension::Agent, &it.agent), named(Dimension::Tool, &it.tool));
        let key = (it.metric, start, names.0, names.1);
        *truth.entry(key).or_default() += i128::from(it.amount);
    }
    truth.retain(|_, amount| *amount != 0);
    truth
}

fn sums_are_those_of_the_single_measurements_for_all_steps(trial: &mut LogUnderTest<'_>) {
    // Each history has a year of its own, so that one log serves them all.
    let year = std::cell::Cell::new(0);
    let all = proptest::collection::vec(any_measurement(), 1..80);
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    let log = trial.log();
    let held = runner.run(&(all, 1_usize..9), |(mut all, chunk)| {
        let begin = year.get() * 366 * DAY_MS;
        year.set(year.get() + 1);
        for it in &mut all {
            it.at += begin;
        }
        let name = format!("c{begin}");
        for (n, some) in all.chunks(chunk).enumerate() {
            measure(log, &name, n as u64 + 1, some.to_vec());
        }
        settle(log);
        let midnight = NOON - NOON % DAY_MS;
        for (from, step) in
            // The last three are read in parts: days, and hours around them.
            [
                (NOON, HOUR_MS),
                (midnight, DAY_MS),
                (NOON, 7 * HOUR_MS),
                (NOON + 60_000, HOUR_MS),
                (NOON, 14 * DAY_MS),
                (midnight + HOUR_MS, 20 * DAY_MS),
                (midnight - 3 * DAY_MS, 3 * DAY_MS),
            ]
        {
            let from = from + begin;
            let asked = query(from, from + LENGTH_MS, step, &[Dimension::Agent, Dimension::Tool]);
            prop_assert_eq!(sums(log, &asked), truth(&all, &asked));
            // What is not told apart is added up.
            let counts = Metric::ALL.into_iter().filter(|metric| !LATENCIES.contains(metric)).collect();
            let counts = MeasureQuery { metrics: counts, ..query(from, from + LENGTH_MS, step, &[]) };
            prop_assert_eq!(sums(log, &counts), truth(&all, &counts));
            let by = [Dimension::Agent, Dimension::Model].into();
            let by_both = MeasureQuery { by, ..counts.clone() };
            prop_assert_eq!(sums(log, &by_both), truth(&all, &by_both));
            for by in [&[][..], &[Dimension::Agent], &[Dimension::Tool]] {
                let counts = MeasureQuery { by: by.iter().copied().collect(), ..counts.clone() };
                prop_assert_eq!(sums(log, &counts), truth(&all, &counts));
                let asked =
                    MeasureQuery { metrics: LATENCIES.to_vec(), ..query(from, from + LENGTH_MS, step, by) };
                prop_assert_eq!(sums(log, &asked), truth(&all, &asked));
                prop_assert_eq!(buckets(log, &asked), true_buckets(&all, &asked));
            }
        }
        Ok(())
    });
    held.unwrap_or_else(|why| panic!("{why}"));
}

fn nothing_measured_has_no_sums(trial: &mut LogUnderTest<'_>) {
    append_with(trial.log(), "c", 0, &events(1, 3), |_| {});
    settle(trial.log());
    let found = measured(trial.log(), &query(0, NOON + DAY_MS, DAY_MS, &[]));
    assert_eq!(found, Measured::default(), "all is counted from the beginning");
}

fn any_name_can_be_measured(trial: &mut LogUnderTest<'_>) {
    let names = ["a'; DROP TABLE measure --", "\0\u{1}0", "漢字 \\ \"", "{a,b}", "NULL", " "];
    let all: Vec<_> = names.iter().map(|name| measurement(Metric::Calls, NOON, name, name, 1)).collect();
    measure(trial.log(), "c", 1, all.clone());
    settle(trial.log());
    let asked = query(NOON, NOON + HOUR_MS, HOUR_MS, &[Dimension::Agent, Dimension::Tool]);
    assert_eq!(sums(trial.log(), &asked), truth(&all, &asked));
}

fn what_is_taken_back_is_no_sum(trial: &mut LogUnderTest<'_>) {
    measure(trial.log(), "c", 1, vec![measurement(Metric::Runs, NOON, "", "", 1)]);
    measure(
        trial.log(),
        "c",
        2,
        vec![measurement(Metric::Runs, NOON, "", "", -1), measurement(Metric::Runs, NOON, "a", "", 1)],
    );
    settle(trial.log());
    let found = sums(trial.log(), &query(NOON, NOON + HOUR_MS, HOUR_MS, &[Dimension::Agent]));
    assert_eq!(found, [((Metric::Runs, NOON, "a".to_owned(), String::new()), 1)].into());
}

fn what_a_removed_conversation_took_stays_counted(trial: &mut LogUnderTest<'_>) {
    measure(trial.log(), "c", 1, vec![measurement(Metric::Calls, NOON, "a", "sql", 2)]);
    trial.log().remove(&id("c"));
    settle(trial.log());
    assert_eq!(total(trial.log()), 2);
}

fn latencies_by_several_names_are_refused(trial: &mut LogUnderTest<'_>) {
    let by = [Dimension::Agent, Dimension::Tool];
    let asked = MeasureQuery { metrics: vec![Metric::CallMs], ..query(NOON, NOON + HOUR_MS, HOUR_MS, &by) };
    let refused = trial.log().measured(&asked, &QueryCancel::default()).expect_err("they are not kept");
    assert!(refused.to_string().contains("one name"), "{refused}");
}

fn a_latency_without_a_bucket_is_not_counted(trial: &mut LogUnderTest<'_>) {
    let took = |bucket: &str| Measurement {
        detail: bucket.into(),
        ..measurement(Metric::CallMs, NOON, "a", "sql", 1)
    };
    measure(trial.log(), "c", 1, ["", "fast", "-1", "1920", "99999999999", "12"].map(took).to_vec());
    settle(trial.log());
    let asked = MeasureQuery { metrics: vec![Metric::CallMs], ..query(NOON, NOON + HOUR_MS, HOUR_MS, &[]) };
    let key = (Metric::CallMs, NOON, String::new(), String::new(), 12);
    assert_eq!(buckets(trial.log(), &asked), [(key, 1)].into());
}

fn a_query_that_is_stopped_is_refused_or_answered(trial: &mut LogUnderTest<'_>) {
    measure(trial.log(), "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]);
    settle(trial.log());
    let stop = QueryCancel::default();
    stop.cancel();
    match trial.log().measured(&query(NOON, NOON + HOUR_MS, HOUR_MS, &[]), &stop) {
        Ok(found) => assert_eq!(found.sums.len(), 1),
        Err(why) => assert!(matches!(&why, LogError::BadQuery(_)), "{why}"),
    }
    assert_eq!(total(trial.log()), 1, "whoever asks next is not stopped");
}

fn i10_what_is_measured_counts_once_over_a_death(trial: &mut LogUnderTest<'_>) {
    stored(trial.log(), measure(trial.log(), "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    stored(trial.log(), measure(trial.log(), "c", 2, vec![measurement(Metric::Calls, NOON, "a", "sql", 2)]));
    trial.crash();
    assert_eq!(total(trial.log()), 3);
    stored(trial.log(), trial.log().remove(&id("c")));
    assert_eq!(total(trial.log()), 3);
    trial.restart();
    assert_eq!(total(trial.log()), 3);
}

fn what_was_staged_counts_with_the_import_and_not_before(trial: &mut LogUnderTest<'_>) {
    let history = events(1, 3);
    let (name, after, import) = (id("c"), at(0), ImportId(7));
    trial.log().stage(import, Append::of(&name, &after, &history));
    settle(trial.log());
    assert_eq!(total(trial.log()), 0);
    let measured = vec![measurement(Metric::Runs, NOON, "a", "", 1)];
    stored(trial.log(), trial.log().adopt(import, checkpoint("c", &history, 0), Vec::new(), measured));
    assert_eq!(total(trial.log()), 1);
}

fn what_was_staged_and_abandoned_counts_for_nothing(trial: &mut LogUnderTest<'_>) {
    let (name, after, import) = (id("c"), at(0), ImportId(7));
    trial.log().stage(import, Append::of(&name, &after, &events(1, 3)));
    trial.log().abandon(import);
    settle(trial.log());
    assert_eq!(total(trial.log()), 0);
}

fn i7_a_span_has_so_many_rows_and_the_rest_counts_together(trial: &mut LogUnderTest<'_>) {
    let all = MEASURES_PER_SPAN_MAX + 50;
    let many = (0..all).map(|n| measurement(Metric::Calls, NOON, "a", &format!("t{n}"), 1)).collect();
    stored(trial.log(), measure(trial.log(), "c", 1, many));
    let found = sums(trial.log(), &query(NOON, NOON + HOUR_MS, HOUR_MS, &[Dimension::Tool]));
    assert_eq!(found.len(), MEASURES_PER_SPAN_MAX + 1);
    assert_eq!(found.get(&(Metric::Calls, NOON, String::new(), OTHERS.to_owned())), Some(&50));
    assert_eq!(found.values().sum::<i128>(), all as i128);
}

fn i7_a_span_is_filled_step_by_step_and_the_rest_counts_together(trial: &mut LogUnderTest<'_>) {
    let of = |names: std::ops::Range<usize>| -> Vec<_> {
        let ended = |n: usize| Measurement {
            detail: format!("reason {n}").into(),
            ..measurement(Metric::Ended, NOON, &format!("agent {n}"), "", 1)
        };
        names.map(ended).collect()
    };
    let (half, all) = (MEASURES_PER_SPAN_MAX / 2, MEASURES_PER_SPAN_MAX + 10);
    for (seq, names) in [(1, 0..half), (2, half..all), (3, all..all + 10), (4, 0..5)] {
        stored(trial.log(), measure(trial.log(), "c", seq, of(names)));
    }
    let asked = query(NOON, NOON + HOUR_MS, HOUR_MS, &[Dimension::Agent]);
    let found = measured(trial.log(), &asked).sums;
    assert_eq!(found.len(), MEASURES_PER_SPAN_MAX + 1);
    let others: Vec<_> = found.iter().filter(|sum| sum.agent == OTHERS).collect();
    let others: Vec<_> = others.iter().map(|sum| (sum.detail.as_str(), sum.amount)).collect();
    assert_eq!(others, [(OTHERS, 20)]);
    assert_eq!(found.iter().filter(|sum| sum.amount == 2).count(), 5, "rows that are there go on");
}

fn i7_hours_go_after_a_while_and_days_stay(trial: &mut LogUnderTest<'_>) {
    stored(trial.log(), measure(trial.log(), "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    let later = NOON + (MEASURE_HOURS_KEPT + 48) * HOUR_MS;
    stored(trial.log(), measure(trial.log(), "c", 2, vec![measurement(Metric::Runs, later, "a", "", 1)]));
    let hours = measured(trial.log(), &query(NOON, later + HOUR_MS, HOUR_MS, &[]));
    assert_eq!(hours.sums.len(), 1);
    assert!(hours.since > NOON, "{}", hours.since);
    let day = |at: u64| at - at % DAY_MS;
    let days = measured(trial.log(), &query(day(NOON), day(later) + DAY_MS, DAY_MS, &[]));
    assert_eq!((days.sums.len(), days.since), (2, 0));
}

fn sums_that_overflow_stay_where_they_are(trial: &mut LogUnderTest<'_>) {
    for seq in 1..=6 {
        let money = measurement(Metric::Money, NOON, "a", "", i64::MAX);
        stored(trial.log(), measure(trial.log(), "c", seq, vec![money]));
    }
    let found = sums(trial.log(), &query(NOON, NOON + HOUR_MS, HOUR_MS, &[]));
    assert_eq!(found.into_values().collect::<Vec<_>>(), [i128::from(i64::MAX / 4)]);
}
