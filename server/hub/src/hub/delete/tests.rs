//! Tests of deletion with a log in memory and viewers that are only counted; files and sockets are in `tests/it`.

use event_log::MemoryLog;
use model::event::{Kind, Message};
use model::{Envelope, Event, MessageId, RunId};

use super::*;
use crate::hub::Publication;

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn hub() -> Hub {
    Hub::new(Arc::new(MemoryLog::default()))
}

fn say(hub: &Hub, name: &str, text: &str) {
    let message =
        Message { message: MessageId::new("m"), role: "user".into(), text: text.into(), files: Vec::new() };
    let event = Event::new(&RunId::none(), Kind::Message(message));
    let envelope = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
    hub.publish(&id(name), Publication::of(vec![envelope])).unwrap();
}

#[test]
fn what_was_deleted_is_gone_for_those_who_hold_it_and_the_name_begins_anew() {
    let hub = hub();
    say(&hub, "c", "a word");
    say(&hub, "d", "another");
    let held = hub.enter(&id("c")).unwrap();
    assert!(hub.delete(&id("c")).unwrap().is_some());
    assert!(held.is_over() && held.read_view(|view| view.messages.is_empty()));
    assert!(hub.find(&id("c")).unwrap().is_none());
    assert!(hub.find(&id("d")).unwrap().is_some());
    say(&hub, "c", "a new word");
    let new = hub.find(&id("c")).unwrap().unwrap();
    assert!(new.epoch() != held.epoch() && new.head() == 1);
    // A viewer of the old one leaves without an effect on the new one.
    hub.leave(&held);
    assert_eq!((new.viewers(), hub.in_use().conversations), (0, 2));
}

#[test]
fn of_what_is_not_there_nothing_is_deleted() {
    let hub = hub();
    assert_eq!(hub.delete(&id("c")).unwrap(), None);
    let looked_at = hub.enter(&id("c")).unwrap();
    assert_eq!(hub.delete(&id("c")).unwrap(), None);
    assert!(!looked_at.is_over());
}

#[test]
fn lists_and_changes_do_not_name_what_was_deleted() {
    let hub = hub();
    hub.watch(true);
    say(&hub, "c", "a word");
    assert!(hub.delete(&id("c")).unwrap().is_some());
    assert!(hub.take_changed().is_empty());
    let listed = hub.list(&event_log::ListQuery { limit: 10, ..event_log::ListQuery::default() }).unwrap();
    assert!(listed.rows.is_empty() && hub.total() == 0);
}
