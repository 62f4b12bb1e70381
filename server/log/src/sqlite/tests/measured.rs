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
    let found = log.measured(&asked, &QueryCancel::default()).unwrap();
    assert_eq!(found.sums.len(), 1);
    assert!(found.since + 2_000 >= before && found.since <= clock::now_ms(), "{}", found.since);
    assert_eq!(log.count(), 2, "what was there is there");
    // A new file has all.
    assert_eq!(Disk::new().open().measured(&asked, &QueryCancel::default()).unwrap().since, 0);
}
