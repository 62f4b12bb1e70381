//! Sums of measurements in a file of an earlier version.

use super::*;
use crate::measure::DAY_MS;
use crate::{Dimension, MeasureQuery, Measurement, Metric};

const NOON: u64 = 1_795_262_400_000;

fn measurement(metric: Metric, at: u64, agent: &str, tool: &str, amount: i64) -> Measurement {
    let (agent, tool) = (agent.into(), tool.into());
    Measurement { metric, at, agent, model: "m".into(), tool, detail: "".into(), amount }
}

fn query(from: u64, to: u64, step_ms: u64, by: &[Dimension]) -> MeasureQuery {
    MeasureQuery { metrics: Metric::ALL.to_vec(), from, to, step_ms, by: by.iter().copied().collect() }
}

fn measure(log: &dyn EventLog, conversation: &str, seq: Seq, measurements: Vec<Measurement>) -> Ticket {
    let (id, after, envelopes) = (id(conversation), at(seq - 1), events(seq, seq, 4));
    log.append(Append { measurements, ..Append::of(&id, &after, &envelopes) }).unwrap()
}

/// A new file with the tables of the schema `version`, from 1 to 6.
fn file_of_version(disk: &Disk, version: usize) -> rusqlite::Connection {
    let migrations = [
        include_str!("../schema/1.sql"),
        include_str!("../schema/2.sql"),
        include_str!("../schema/3.sql"),
        include_str!("../schema/4.sql"),
        include_str!("../schema/5.sql"),
        include_str!("../schema/6.sql"),
    ];
    let file = rusqlite::Connection::open(disk.path()).unwrap();
    for migration in &migrations[..version] {
        file.execute_batch(migration).unwrap();
    }
    file.pragma_update(None, "application_id", 0x4661_6e6c).unwrap();
    file.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
    file
}

#[test]
fn a_file_of_the_version_before_counts_from_now_on() {
    let disk = Disk::new();
    {
        let old = file_of_version(&disk, 3);
        let insert = "INSERT INTO conversation (id, epoch, head, at, life) VALUES ('old', 'e1', 0, 1, 0)";
        old.execute(insert, []).unwrap();
    }
    let before = clock::now_ms();
    let log = disk.open();
    stored(&log, measure(&log, "c", 1, vec![measurement(Metric::Runs, NOON, "a", "", 1)]));
    let asked = query(0, NOON + DAY_MS, NOON + DAY_MS, &[]);
    let found = log.measured(&asked, &QueryCancel::default()).unwrap();
    assert_eq!(found.sums.len(), 1);
    assert!(found.since + 2_000 >= before && found.since <= clock::now_ms(), "{}", found.since);
    assert_eq!(log.count(), 2, "what was there is there");
    // A new file has all.
    assert_eq!(Disk::new().open().measured(&asked, &QueryCancel::default()).unwrap().since, 0);
}

/// Makes a file of the fifth schema of one of today without latencies.
const UNDO_6: &str = "DROP TABLE word_index; DROP TABLE latency; DELETE FROM measure WHERE metric > 100; PRAGMA user_version = 5;";

/// Makes a file of the seventh schema of one of today.
const UNDO_8: &str = "DROP TABLE word_index; DELETE FROM measure WHERE metric > 500 OR (metric > 100 AND metric % 100 NOT IN (5, 6)); PRAGMA user_version = 7;";

#[test]
fn counts_of_a_file_of_the_seventh_schema_are_summed_up() {
    let disk = Disk::new();
    let counts = [Metric::Runs, Metric::Ended, Metric::Money, Metric::Calls, Metric::CallsFailed];
    let sums = |log: &SqliteLog| {
        let by = [&[][..], &[Dimension::Agent, Dimension::Model]];
        let asked = by.map(|by| MeasureQuery {
            metrics: counts.to_vec(),
            ..query(NOON, NOON + 3 * DAY_MS, crate::measure::HOUR_MS, by)
        });
        asked.map(|asked| {
            let mut sums = log.measured(&asked, &QueryCancel::default()).unwrap().sums;
            sums.sort_by_key(|sum| format!("{sum:?}"));
            sums
        })
    };
    let before = {
        let log = disk.open();
        let all: Vec<_> = (0..60_usize)
            .map(|n| {
                let (metric, agent) = (counts[n % 5], format!("agent {}", n % 3));
                let detail = match metric {
                    Metric::Ended => ["complete", "quota"][n % 2],
                    Metric::Money => "USD",
                    _ => "",
                };
                let it =
                    measurement(metric, NOON + n as u64 * 100_000, &agent, "", 1 + i64::from(n % 2 == 0));
                Measurement { detail: detail.into(), ..it }
            })
            .collect();
        stored(&log, measure(&log, "c", 1, all));
        let sums = sums(&log);
        log.close().unwrap();
        sums
    };
    let old = rusqlite::Connection::open(disk.path()).unwrap();
    assert!(old.execute("DELETE FROM measure WHERE metric IN (101, 505)", []).unwrap() > 1, "they are kept");
    old.execute_batch(UNDO_8).unwrap();
    drop(old);
    let after = sums(&disk.open());
    assert_eq!(after, before);
    let [totals, by_both] = after;
    assert!(totals.iter().any(|sum| sum.detail == "quota") && by_both.len() > totals.len());
}

#[test]
fn calls_of_a_file_of_the_fifth_schema_are_summed_up_by_each_name() {
    let disk = Disk::new();
    let by_each = |log: &SqliteLog| {
        let by = [&[][..], &[Dimension::Agent], &[Dimension::Model], &[Dimension::Tool]];
        let steps = [(DAY_MS, NOON - NOON % DAY_MS), (crate::measure::HOUR_MS, NOON)];
        let asked = steps.iter().flat_map(|(step, from)| {
            by.map(|by| MeasureQuery {
                metrics: vec![Metric::Calls, Metric::CallsFailed],
                ..query(*from, from + 3 * DAY_MS, *step, by)
            })
        });
        let sums = asked.map(|asked| {
            let mut sums = log.measured(&asked, &QueryCancel::default()).unwrap().sums;
            sums.sort_by_key(|sum| format!("{sum:?}"));
            sums
        });
        sums.collect::<Vec<_>>()
    };
    let before = {
        let log = disk.open();
        let calls: Vec<_> = (0..40_u64)
            .flat_map(|n| {
                let (agent, tool) = (format!("agent {}", n % 3), format!("tool {}", n % 7));
                let at = NOON + n * 3_600_000;
                let failed = measurement(Metric::CallsFailed, at, &agent, &tool, i64::from(n % 5 == 0));
                [measurement(Metric::Calls, at, &agent, &tool, 1 + i64::from(n % 2 == 0)), failed]
            })
            .chain([measurement(Metric::Calls, NOON, "much", "much", i64::MAX)])
            .collect();
        stored(&log, measure(&log, "c", 1, calls));
        let sums = by_each(&log);
        log.close().unwrap();
        sums
    };
    let old = rusqlite::Connection::open(disk.path()).unwrap();
    old.execute_batch(UNDO_6).unwrap();
    drop(old);
    assert_eq!(by_each(&disk.open()), before);
    assert!(before.iter().all(|sums| !sums.is_empty()));
}

/// Rows of the sixth schema: of calls of 12 and 130 milliseconds' buckets, one of a bucket that there is not, and one of a count.
const ROWS_OF_6: &str = "INSERT INTO measure (span, metric, start, agent, model, tool, detail, amount) VALUES \
    (0, 107, ?1, '', '', '', '12', 3), (0, 107, ?1, '', '', '', '130', 2), (0, 107, ?1, '', '', '', 'fast', 9), \
    (0, 407, ?1, '', '', 'sql', '130', 2), (0, 407, ?1, '', '', 'web', '12', 3), (0, 407, ?1 + 1, '', '', 'web', '12', 1), \
    (1, 107, ?1 / 24, '', '', '', '12', 4), (1, 107, ?1 / 24, '', '', '', '130', 2), (0, 1, ?1, 'a', 'm', '', '', 5)";

#[test]
fn latencies_of_a_file_of_the_sixth_schema_are_packed_and_go_on() {
    use crate::measure::HOUR_MS;
    let disk = Disk::new();
    {
        let old = file_of_version(&disk, 6);
        let hour = i64::try_from(NOON / HOUR_MS).unwrap();
        old.execute(ROWS_OF_6, [hour]).unwrap();
        old.execute("INSERT INTO measure_span (span, start, rows) VALUES (0, ?1, 6)", [hour]).unwrap();
    }
    let counts = |log: &SqliteLog, from: u64, step: u64, by: &[Dimension]| {
        let asked = MeasureQuery { metrics: vec![Metric::CallMs], ..query(from, from + step, step, by) };
        let sums = log.measured(&asked, &QueryCancel::default()).unwrap().sums;
        let mut all: Vec<_> =
            sums.iter().map(|sum| (sum.tool.to_string(), sum.latencies.iter().collect::<Vec<_>>())).collect();
        all.sort();
        all
    };
    let none = String::new();
    let midnight = NOON - NOON % DAY_MS;
    let log = disk.open();
    assert_eq!(counts(&log, NOON, HOUR_MS, &[]), [(none.clone(), vec![(12, 3), (130, 2)])]);
    assert_eq!(counts(&log, midnight, DAY_MS, &[]), [(none.clone(), vec![(12, 4), (130, 2)])]);
    let by_tool = [(String::from("sql"), vec![(130, 2)]), (String::from("web"), vec![(12, 3)])];
    assert_eq!(counts(&log, NOON, HOUR_MS, &[Dimension::Tool]), by_tool);
    let took = Measurement { detail: "12".into(), ..measurement(Metric::CallMs, NOON, "a", "web", 1) };
    stored(&log, measure(&log, "c", 1, vec![took]));
    log.close().unwrap();
    // What comes later is added, and a start more changes nothing.
    let log = disk.open();
    assert_eq!(counts(&log, NOON, HOUR_MS, &[]), [(none, vec![(12, 4), (130, 2)])]);
    let runs = MeasureQuery { metrics: vec![Metric::Runs], ..query(NOON, NOON + HOUR_MS, HOUR_MS, &[]) };
    assert_eq!(log.measured(&runs, &QueryCancel::default()).unwrap().sums[0].amount, 5);
    log.close().unwrap();
    let rows: i64 = rusqlite::Connection::open(disk.path())
        .unwrap()
        .query_row(
            "SELECT rows FROM measure_span WHERE span = 0 AND start = ?1",
            [i64::try_from(NOON / HOUR_MS).unwrap()],
            |row| row.get(0),
        )
        .unwrap();
    // The run, the total and two tools, and two more with the call: by its agent and its model.
    assert_eq!(rows, 6);
}
