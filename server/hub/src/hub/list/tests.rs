//! The list in the order of the newest activity, page by page.

use event_log::{MemoryLog, SqliteLog, SqliteOptions};
use model::event::Kind;
use model::{Envelope, Event, RunId};

use super::*;
use crate::hub::Publication;

#[test]
fn pages_join_to_the_whole_list_without_doubles() {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    for number in 0..25 {
        let id = ConversationId::parse(&format!("c{number:02}")).unwrap();
        let event = Event::new(&RunId::new("r"), Kind::Status { text: String::new() });
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        hub.publish(&id, Publication::of(vec![said])).unwrap();
    }
    let all = hub.list(&ListQuery { limit: 100, ..ListQuery::default() }).unwrap();
    assert_eq!((all.rows.len(), all.more, hub.total()), (25, false, 25));
    assert!(all.rows.windows(2).all(|pair| { place(&pair[0]) < place(&pair[1]) }));
    let mut query = ListQuery { limit: 7, ..ListQuery::default() };
    let mut joined = Vec::new();
    loop {
        let page = hub.list(&query).unwrap();
        let last = page.rows.last().unwrap();
        query.after = Some((last.at, last.conversation.clone()));
        joined.extend(page.rows.clone());
        if !page.more {
            break;
        }
        assert_eq!(page.rows.len(), 7);
    }
    assert_eq!(joined, all.rows);
}

#[test]
fn pages_of_what_is_in_memory_and_of_what_is_only_in_the_log_join_to_one_list() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let log = SqliteLog::open(&directory.path().join("log.db"), &SqliteOptions::default()).unwrap();
        Hub::new(Arc::new(log))
    };
    let say = |hub: &Hub, number: u64, now: u64| {
        crate::clock::travel(1_800_000_000_000 + now);
        let event = Event::new(&RunId::new("r"), Kind::Status { text: String::new() });
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        let id = ConversationId::parse(&format!("c{number:02}")).unwrap();
        hub.publish(&id, Publication::of(vec![said])).unwrap();
    };
    let before = open();
    (0..20).for_each(|number| say(&before, number, number));
    before.tell_rows();
    before.log().close().unwrap();
    drop(before);
    let hub = open();
    (20..30).for_each(|number| say(&hub, number, number));
    // One comes back to the front, another only into memory.
    say(&hub, 3, 40);
    hub.find(&ConversationId::parse("c07").unwrap()).unwrap().unwrap();
    let mut query = ListQuery { limit: 4, ..ListQuery::default() };
    let mut joined = Vec::new();
    loop {
        let page = hub.list(&query).unwrap();
        let last = page.rows.last().unwrap();
        query.after = Some((last.at, last.conversation.clone()));
        joined.extend(page.rows.iter().map(|row| row.conversation.to_string()));
        if !page.more {
            break;
        }
    }
    let newest = (0..30).rev().filter(|number| *number != 3).map(|number| format!("c{number:02}"));
    assert_eq!(joined, std::iter::once(String::from("c03")).chain(newest).collect::<Vec<_>>());
}

#[test]
fn what_is_only_looked_at_is_not_counted_and_what_was_just_said_is() {
    let directory = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(&directory.path().join("log.db"), &SqliteOptions::default()).unwrap();
    let hub = Hub::new(Arc::new(log));
    let id = |name: &str| ConversationId::parse(name).unwrap();
    let say = |name: &str| {
        let event = Event::new(&RunId::new("r"), Kind::Status { text: String::new() });
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        hub.publish(&id(name), Publication::of(vec![said])).unwrap();
    };
    for name in ["a", "b", "c"] {
        hub.open(&id(name)).unwrap();
    }
    assert_eq!(hub.total(), 0);
    // Before the log has it as a row.
    say("d");
    assert_eq!(hub.total(), 1);
    assert!(hub.delete(&id("d")).unwrap().is_some());
    hub.log().settle(&id("d")).unwrap();
    assert_eq!(hub.total(), 0);
}
