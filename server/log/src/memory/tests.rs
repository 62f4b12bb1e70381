//! Tests of the log in memory.

use model::event::Kind;
use model::limits::RING_EVENTS_MAX;
use model::{Envelope, Epoch, Event, Position, RunId};

use super::*;
use crate::conformance::{self, LogKind, LogPlace};

fn events(from: Seq, to: Seq) -> Vec<Arc<Envelope>> {
    let envelope = |seq: u64| Envelope {
        event: Event::new(&RunId::new("r1"), Kind::Status { text: seq.to_string() }),
        seq,
        at: seq,
        producer_at: None,
        publisher: None,
        by_hub: false,
    };
    (from..=to).map(envelope).map(Arc::new).collect()
}

fn append(log: &MemoryLog, after: Seq, envelopes: &[Arc<Envelope>]) -> Result<Ticket, LogError> {
    let after = Position { epoch: Epoch::new("e"), seq: after };
    log.append(Append::of(&id(), &after, envelopes))
}

fn id() -> ConversationId {
    ConversationId::parse("c").unwrap()
}

/// Where a log in memory is: nowhere.
struct Nowhere;

impl LogPlace for Nowhere {
    fn open(&self) -> Box<dyn EventLog> {
        Box::new(MemoryLog::default())
    }
}

#[test]
fn the_log_in_memory_keeps_every_rule_of_logs_that_keep_nothing() {
    let cases = conformance::run(LogKind::Passing, &|| Box::new(Nowhere));
    assert!(cases >= 30, "{cases} cases");
    conformance::run_histories(LogKind::Passing, &|| Box::new(Nowhere), 64);
}

#[test]
fn an_append_that_does_not_continue_is_refused_and_changes_nothing() {
    let log = MemoryLog::default();
    assert_eq!(append(&log, 0, &events(1, 3)), Ok(Ticket(0)));
    assert_eq!(append(&log, 2, &events(3, 4)), Err(LogError::Conflict { found: 3, expected: 2 }));
    assert_eq!(log.read(&id(), 1, 10), Ok(EventPage { envelopes: events(2, 3), head: 3 }));
    assert_eq!(log.read(&id(), 0, 2), Ok(EventPage { envelopes: events(1, 2), head: 3 }));
}

#[test]
fn i7_the_oldest_go_and_reading_them_says_so() {
    let log = MemoryLog::default();
    let last = RING_EVENTS_MAX as Seq + 5;
    append(&log, 0, &events(1, last)).unwrap();
    assert_eq!(log.read(&id(), 4, 1), Err(LogError::Gone { begins_after: 5 }));
    assert_eq!(log.read(&id(), 5, 1).unwrap().envelopes, events(6, 6));
}
