//! Tests of logs in PostgreSQL that no hub has open. What the commands make of them is in `tests/it/postgres_erased.rs`.

use model::event::Kind;
use model::{Event, Position, RunId};

use super::*;
use crate::Append;
use crate::postgres::{PostgresPlace, TestPostgresServer};

/// A log with one event of the conversation `c`, which no hub has open.
fn log(place: &PostgresPlace) -> ConversationId {
    let id = ConversationId::parse("c").unwrap();
    let log = PostgresLog::open(&place.url().parse().unwrap(), &PostgresOptions::default()).unwrap();
    let event = Event::new(&RunId::none(), Kind::Status { text: String::from("hunter2") });
    let envelope = Envelope { event, seq: 1, at: 7, producer_at: None, publisher: None, by_hub: false };
    let begin = Position { epoch: Epoch::new("epoch-of-c"), seq: 0 };
    log.append(Append::of(&id, &begin, &[Arc::new(envelope)])).unwrap();
    log.close().unwrap();
    id
}

#[test]
fn nothing_is_changed_once_a_hub_has_taken_over() {
    let server = TestPostgresServer::shared();
    let place = server.place();
    let id = log(&place);
    let schema = place.url().rsplit_once("%3D").unwrap().1;
    let mut closed = ClosedPostgresLog::open(&place.url().parse().unwrap()).unwrap();
    assert!(server.sql(&format!("UPDATE \"{schema}\".life SET over = true")));
    let refused = closed.remove(&id).unwrap_err().to_string();
    assert!(refused.contains("a hub has begun"), "{refused}");
    assert_eq!(closed.events(&id).unwrap().len(), 1, "all of it is there");
}

#[test]
fn a_log_that_is_looked_at_keeps_its_epochs_and_takes_no_hub_meanwhile() {
    let place = TestPostgresServer::shared().place();
    let id = log(&place);
    let url: PostgresUrl = place.url().parse().unwrap();
    let closed = ClosedPostgresLog::open(&url).unwrap();
    assert_eq!(closed.epoch(&id).unwrap(), Epoch::new("epoch-of-c"));
    let second = PostgresLog::open(&url, &PostgresOptions::default());
    assert!(matches!(second, Err(PostgresError::InUse)), "{second:?}");
    drop(closed);
    let log = PostgresLog::open(&url, &PostgresOptions::default()).unwrap();
    assert_eq!(log.load(&id).unwrap().unwrap().position.epoch, Epoch::new("epoch-of-c"));
}

#[test]
fn a_database_without_a_log_stays_without() {
    let place = TestPostgresServer::shared().place();
    let url: PostgresUrl = place.url().parse().unwrap();
    assert!(matches!(ClosedPostgresLog::open(&url), Err(PostgresError::Url(_))));
    assert!(
        matches!(ClosedPostgresLog::open(&url), Err(PostgresError::Url(_))),
        "the first look made nothing"
    );
}
