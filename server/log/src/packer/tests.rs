//! Tests of the choice of what is packed together, and of when joining ends.

use super::*;
use crate::queue::WriterStep;
use model::frame::Durability;
use model::{Event, Kind, RunId, testkit};

/// Rows that stay whatever is written, as those of a removed conversation do until they are deleted.
struct RowsThatStay;

impl BlockSource for RowsThatStay {
    fn newest_first(&mut self, _key: i64, _limit: usize) -> Result<Vec<Loose>, LogError> {
        Ok(rows(&[10, 10, 10]))
    }

    fn events(&mut self, _key: i64, _rows: &[Loose]) -> Result<Vec<Envelope>, LogError> {
        let texts = (0..3)
            .map(|number| Event::new(&RunId::new("r1"), Kind::Status { text: format!("word {number}") }));
        Ok(testkit::logged(texts.collect()).into_iter().map(Arc::unwrap_or_clone).collect())
    }
}

#[test]
fn joining_ends_though_the_rows_stay() {
    let queue = Arc::new(Queue::new(1 << 20, None));
    let packer = Packer::default();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut joins = 0;
            while let WriterStep::Write(group) = queue.next() {
                joins += group.len();
                let ticket = group.last().map_or(0, |queued| queued.ticket);
                queue.wrote(ticket, group.iter().map(|queued| queued.bytes).sum(), Durability::Stored);
            }
            joins
        });
        packer.join_blocks(&mut RowsThatStay, &queue, &ConversationId::parse("c").unwrap(), 1).unwrap();
        queue.end(crate::queue::LogLifecycle::Closing);
        assert_eq!(writer.join().unwrap(), 1);
    });
}

#[test]
fn joining_ends_with_the_log() {
    let queue = Arc::new(Queue::new(1 << 20, None));
    let packer = Packer::default();
    packer.end();
    packer.join_blocks(&mut RowsThatStay, &queue, &ConversationId::parse("c").unwrap(), 1).unwrap();
    assert!(queue.take_now().is_empty());
}

/// Rows without a hole, the newest first, with these bytes.
fn rows(raw: &[u64]) -> Vec<Loose> {
    let row = |(place, raw): (usize, &u64)| {
        let seq = 1000 - place as u64;
        Loose { id: i64::try_from(seq).unwrap(), raw: *raw, bytes: *raw, first: seq, last: seq }
    };
    raw.iter().enumerate().map(row).collect()
}

fn chosen(raw: &[u64]) -> Vec<u64> {
    choose(&rows(raw)).iter().map(|row| row.raw).collect()
}

#[test]
fn small_neighbours_are_packed_and_a_large_one_before_them_stays() {
    assert_eq!(chosen(&[10, 12, 9, 400]), [10, 12, 9]);
    assert_eq!(chosen(&[10, 12, 9, 60]), [10, 12, 9, 60]);
}

#[test]
fn small_ones_before_a_full_one_are_found() {
    let full = BLOCK_BYTES as u64;
    assert_eq!(chosen(&[full, 10, 12, full]), [10, 12]);
    assert_eq!(chosen(&[full, full]).len(), 1);
    assert_eq!(chosen(&[full]).len(), 1);
    assert!(chosen(&[]).is_empty());
}

#[test]
fn nothing_is_packed_across_a_hole() {
    let mut rows = rows(&[10, 10, 10, 10]);
    rows[0].first += 1;
    rows[0].last += 1;
    assert_eq!(choose(&rows).iter().map(|row| row.id).collect::<Vec<_>>(), [999, 998, 997]);
}

#[test]
fn sizes_of_a_damaged_file_choose_nothing_and_are_no_panic() {
    let most = i64::MAX.unsigned_abs();
    assert_eq!(chosen(&[most, most, most]).len(), 1);
    let mut rows = rows(&[10, 10]);
    (rows[1].first, rows[1].last) = (u64::MAX, u64::MAX);
    assert_eq!(choose(&rows).len(), 1);
}
