//! Tests of the choice of what is packed together, and of when joining ends.

use std::time::Instant;

use super::*;
use crate::pack::pack;
use crate::queue::WriterStep;
use model::frame::Durability;
use model::{Event, Kind, RunId, testkit};

/// Rows that stay whatever is written, as those of a removed conversation do until they are deleted.
struct RowsThatStay;

impl BlockSource for RowsThatStay {
    fn newest_first(&mut self, _key: i64, _limit: usize) -> Result<Vec<Loose>, LogError> {
        Ok(rows(&[10, 10, 10]))
    }

    fn bodies(&mut self, _key: i64, _rows: &[Loose]) -> Result<Vec<Vec<u8>>, LogError> {
        let texts = (0..3)
            .map(|number| Event::new(&RunId::new("r1"), Kind::Status { text: format!("word {number}") }));
        Ok(testkit::logged(texts.collect()).chunks(1).map(pack).collect())
    }
}

/// Runs `packer` until it has nothing to do. Returns how many operations its writer got.
fn run_until_idle(packer: &Packer, queue: &Arc<Queue>) -> usize {
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
        let packing = scope.spawn(|| packer.run(Some(&mut RowsThatStay), queue));
        let is_idle = |jobs: &Jobs| jobs.ripe.is_empty() && jobs.writing.is_empty();
        let deadline = Instant::now() + Duration::from_secs(30);
        while queue.figures().taken == Ticket(0) || !is_idle(&packer.jobs.lock()) {
            assert!(Instant::now() < deadline, "the packer still works");
            std::thread::yield_now();
        }
        packer.end();
        packing.join().unwrap();
        queue.end(crate::queue::LogLifecycle::Closing);
        writer.join().unwrap()
    })
}

#[test]
fn joining_ends_though_the_rows_stay() {
    let (queue, packer) = (Arc::new(Queue::new(1 << 20, None)), Packer::default());
    packer.compact(ConversationId::parse("c").unwrap(), 1);
    assert_eq!(run_until_idle(&packer, &queue), 1);
}

#[test]
fn joining_ends_with_the_log() {
    let (queue, packer) = (Arc::new(Queue::new(1 << 20, None)), Packer::default());
    packer.compact(ConversationId::parse("c").unwrap(), 1);
    packer.end();
    packer.run(Some(&mut RowsThatStay), &queue);
    assert!(queue.take_now().is_empty());
}

#[test]
fn a_conversation_waits_until_its_last_join_is_written_and_others_do_not() {
    let id = |name: &str| ConversationId::parse(name).unwrap();
    let join = |key: i64, ticket: u64, bytes: usize| PendingJoin {
        conversation: id("c"),
        key,
        ticket,
        bytes,
        rows: Vec::new(),
    };
    let mut jobs = Jobs::default();
    jobs.writing.push_back(join(1, 7, 10));
    jobs.ripe.insert((id("c"), 1));
    jobs.ripe.insert((id("d"), 2));
    assert_eq!(jobs.take_ripe(WRITING_MAX), Some((id("d"), 2)));
    assert_eq!(jobs.take_ripe(WRITING_MAX), None);
    assert!(jobs.written(Ticket(6)).is_none());
    assert_eq!(jobs.written(Ticket(7)).map(|join| join.key), Some(1));
    assert_eq!(jobs.take_ripe(WRITING_MAX), Some((id("c"), 1)));
}

#[test]
fn joins_that_wait_to_be_written_are_bounded() {
    let id = |number: usize| ConversationId::parse(&format!("c{number}")).unwrap();
    let waiting = |count: usize, bytes: usize| {
        let mut jobs = Jobs::default();
        jobs.ripe.insert((id(0), 0));
        jobs.writing.extend((1..=count).map(|number| PendingJoin {
            conversation: id(number),
            key: i64::try_from(number).unwrap(),
            ticket: number as u64,
            bytes,
            rows: Vec::new(),
        }));
        jobs.take_ripe(WRITING_MAX).is_some()
    };
    assert!(waiting(WRITING_MAX - 1, 10));
    assert!(!waiting(WRITING_MAX, 10));
    assert!(waiting(1, WRITING_BYTES_MAX));
    assert!(!waiting(1, WRITING_BYTES_MAX + 1));
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
