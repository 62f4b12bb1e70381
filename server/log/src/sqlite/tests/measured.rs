//! Sums of measurements on disk: the same as in memory, over deaths, and bounded.

use std::collections::BTreeMap;

use ::model::limits::{MEASURE_HOURS_KEPT, MEASURES_PER_SPAN_MAX};
use proptest::prelude::*;

use super::*;
use crate::measure::{DAY_MS, HOUR_MS, OTHERS};
use crate::{Dimension, MeasureQuery, Measured, Measurement, MemoryLog, Metric};

const NOON: u64 = 1_795_262_400_000;

fn measurement(metric: Metric, at: u64, agent: &str, tool: &str, amount: i64) -> Measurement {
    let (agent, tool) = (agent.into(), tool.into());
    Measurement { metric, at, agent, model: "m".into(), tool, detail: "".into(), amount }
}

fn query(from: u64, to: u64, step_ms: u64, by: &[Dimension]) -> MeasureQuery {
    MeasureQuery { metrics: Metric::ALL.to_vec(), from, to, step_ms, by: by.iter().copied().collect() }
}

fn sums(log: &dyn EventLog, query: &MeasureQuery) -> BTreeMap<(Metric, u64, String, String), i128> {
    let Measured { sums, .. } = log.measured(query, &Stop::default()).unwrap();
    let key = |sum: &crate::MeasureSum| (sum.metric, sum.start, sum.agent.to_string(), sum.tool.to_string());
    sums.iter().map(|sum| (key(sum), sum.amount)).collect()
}

fn measure(log: &dyn EventLog, conversation: &str, seq: Seq, measurements: Vec<Measurement>) -> Ticket {
    let (id, after, envelopes) = (id(conversation), at(seq - 1), events(seq, seq, 4));
    log.append(Append { measurements, ..Append::of(&id, &after, &envelopes) }).unwrap()
}

fn any_measurement() -> impl Strategy<Value = Measurement> {
    let metric = proptest::sample::select(Metric::ALL.to_vec());
    let name = proptest::sample::select(vec!["", "a", "b", "größe"]);
    (metric, 0_u64..200, name.clone(), name, -5_i64..1_000).prop_map(
        |(metric, half_hours, agent, tool, amount)| {
            measurement(metric, NOON + half_hours * HOUR_MS / 2, agent, tool, amount)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sums_are_those_of_the_single_measurements_in_both_logs_and_for_all_steps(
        all in proptest::collection::vec(any_measurement(), 1..80),
        chunk in 1_usize..9,
    ) {
        let disk = Disk::new();
        let (log, memory) = (disk.open(), MemoryLog::default());
        for (n, some) in all.chunks(chunk).enumerate() {
            measure(&log, "c", n as u64 + 1, some.to_vec());
            measure(&memory, "c", n as u64 + 1, some.to_vec());
        }
        stored(&log, log.sync());
        let by = [Dimension::Agent, Dimension::Tool];
        for (from, step) in [(NOON, HOUR_MS), (NOON - NOON % DAY_MS, DAY_MS), (NOON, 7 * HOUR_MS)] {
            let asked = query(from, from + 14 * DAY_MS, step, &by);
            let mut truth = BTreeMap::new();
            for it in &all {
                let start = from + (it.at - from) / step * step;
                let key = (it.metric, start, it.agent.to_string(), it.tool.to_string());
                *truth.entry(key).or_default() += i128::from(it.amount);
            }
            truth.retain(|_, amount| *amount != 0);
            prop_assert_eq!(&sums(&log, &asked), &truth);
            prop_assert_eq!(&sums(&memory, &asked), &truth);
        }
    }
}

#[test]
fn i10_what_is_measured_counts_once_over_a_death_and_stays_when_the_conversation_goes() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, measure(&log, "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    stored(&log, measure(&log, "c", 2, vec![measurement(Metric::Calls, NOON, "a", "sql", 2)]));
    drop(log);
    let log = disk.open();
    let asked = query(0, NOON + DAY_MS, NOON + DAY_MS, &[]);
    let total = |log: &SqliteLog| sums(log, &asked).into_values().sum::<i128>();
    assert_eq!(total(&log), 3);
    stored(&log, log.remove(&id("c")));
    until_swept(&log);
    assert_eq!(total(&log), 3);
    log.close().unwrap();
    assert_eq!(total(&disk.open()), 3);
}

#[test]
fn what_was_staged_counts_with_the_import_and_not_before() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 3, 8);
    let (name, after, import) = (id("c"), at(0), Import(7));
    log.stage(import, Append::of(&name, &after, &history));
    let measured = vec![measurement(Metric::Runs, NOON, "a", "", 1)];
    let adopted = log.adopt(import, checkpoint("c", &history, 0), Vec::new(), measured);
    stored(&log, adopted);
    assert_eq!(sums(&log, &query(0, NOON + DAY_MS, NOON + DAY_MS, &[])).len(), 1);
}

#[test]
fn i7_a_span_has_so_many_rows_and_the_rest_counts_together() {
    let disk = Disk::new();
    let log = disk.open();
    let all = MEASURES_PER_SPAN_MAX + 50;
    let many = (0..all).map(|n| measurement(Metric::Calls, NOON, "a", &format!("t{n}"), 1)).collect();
    stored(&log, measure(&log, "c", 1, many));
    let asked = query(NOON, NOON + HOUR_MS, HOUR_MS, &[Dimension::Tool]);
    let found = sums(&log, &asked);
    assert_eq!(found.len(), MEASURES_PER_SPAN_MAX + 1);
    assert_eq!(found[&(Metric::Calls, NOON, String::new(), OTHERS.to_owned())], 50);
    assert_eq!(found.values().sum::<i128>(), all as i128);
}

#[test]
fn i7_hours_go_after_a_while_and_days_stay() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, measure(&log, "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    let later = NOON + (MEASURE_HOURS_KEPT + 48) * HOUR_MS;
    stored(&log, measure(&log, "c", 2, vec![measurement(Metric::Runs, later, "a", "", 1)]));
    let hours = log.measured(&query(NOON, later + HOUR_MS, HOUR_MS, &[]), &Stop::default()).unwrap();
    assert_eq!(hours.sums.len(), 1);
    assert!(hours.since > NOON, "{}", hours.since);
    let day = |at: u64| at - at % DAY_MS;
    let days = log.measured(&query(day(NOON), day(later) + DAY_MS, DAY_MS, &[]), &Stop::default()).unwrap();
    assert_eq!((days.sums.len(), days.since), (2, 0));
}

#[test]
fn sums_that_overflow_stay_where_they_are() {
    let disk = Disk::new();
    let log = disk.open();
    for seq in 1..=6 {
        let money = measurement(Metric::Money, NOON, "a", "", i64::MAX);
        stored(&log, measure(&log, "c", seq, vec![money]));
    }
    let found = sums(&log, &query(NOON, NOON + HOUR_MS, HOUR_MS, &[]));
    assert_eq!(found.into_values().collect::<Vec<_>>(), [i128::from(i64::MAX / 4)]);
}

#[test]
fn a_file_of_the_version_before_counts_from_now_on() {
    let disk = Disk::new();
    {
        let old = rusqlite::Connection::open(disk.path()).unwrap();
        for migration in [
            include_str!("../schema/1.sql"),
            include_str!("../schema/2.sql"),
            include_str!("../schema/3.sql"),
        ] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "application_id", 0x4661_6e6c).unwrap();
        old.pragma_update(None, "user_version", 3).unwrap();
        let insert = "INSERT INTO conversation (id, epoch, head, at, life) VALUES ('old', 'e1', 0, 1, 0)";
        old.execute(insert, []).unwrap();
    }
    let before = clock::now_ms();
    let log = disk.open();
    stored(&log, measure(&log, "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    let asked = query(0, NOON + DAY_MS, NOON + DAY_MS, &[]);
    let found = log.measured(&asked, &Stop::default()).unwrap();
    assert_eq!(found.sums.len(), 1);
    assert!(found.since + 2_000 >= before && found.since <= clock::now_ms(), "{}", found.since);
    assert_eq!(log.count(), 2, "what was there is there");
    // A new file has all.
    assert_eq!(Disk::new().open().measured(&asked, &Stop::default()).unwrap().since, 0);
}
