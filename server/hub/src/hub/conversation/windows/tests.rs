//! Newcomers to a long conversation, without sockets.

use std::sync::Arc;

use event_log::MemoryLog;
use model::event::{Kind, Message, RunStart};
use model::{Envelope, Epoch, Event, MessageId, RunId};

use super::*;
use crate::hub::Publication;

const NEWEST: u64 = 64 << 10;

/// A conversation with that many messages of about 200 bytes.
fn long(messages: usize) -> (Conversation, MemoryLog) {
    let conversation = Conversation::new("c".parse().unwrap(), Epoch::new("e"));
    let log = MemoryLog::default();
    say(&conversation, &log, 0, messages);
    (conversation, log)
}

fn append(conversation: &Conversation, log: &MemoryLog, events: Vec<Event>) {
    let bare = |event| Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
    let mut publication = Publication::of(events.into_iter().map(bare).collect());
    conversation.append(&mut publication, 1, log, None).unwrap();
}

fn say(conversation: &Conversation, log: &MemoryLog, first: usize, count: usize) {
    let message = |number| {
        let (message, text) = (MessageId::new(&format!("m{number}")), "word ".repeat(40));
        Event::new(
            &RunId::none(),
            Kind::Message(Message { message, role: "user".into(), text, files: Vec::new() }),
        )
    };
    append(conversation, log, (first..first + count).map(message).collect());
}

fn wish(newest: u64) -> SubscriptionOptions {
    SubscriptionOptions { newest, ..SubscriptionOptions::default() }
}

fn window_of(conversation: &Conversation, newest: u64) -> Option<Arc<Window>> {
    conversation.lens_for(&wish(newest), None, None).lens.window
}

#[test]
fn newcomers_share_a_window_and_its_snapshot_until_it_has_grown() {
    let (conversation, log) = long(2_000);
    let window = window_of(&conversation, NEWEST).unwrap();
    let lens = Lens::default().with_window(Some(Arc::clone(&window)));
    let frame_cache = conversation.frame_caches.of(&lens, None);
    let snapshot = frame_cache.snapshot(&conversation);
    say(&conversation, &log, 2_000, 10);
    assert!(Arc::ptr_eq(&window, &window_of(&conversation, NEWEST + 1).unwrap()));
    let again = conversation.frame_caches.of(&lens, None).snapshot(&conversation);
    assert!(Arc::ptr_eq(&snapshot.pieces, &again.pieces), "it is encoded once");
    say(&conversation, &log, 2_010, 200);
    assert_ne!(window.name(), window_of(&conversation, NEWEST).unwrap().name());
}

#[test]
fn i7_a_snapshot_for_newcomers_has_at_most_what_they_asked_for_whenever_they_come() {
    let (conversation, log) = long(1);
    for round in 0..300 {
        say(&conversation, &log, 1 + round * 7, 7);
        let lens = conversation.lens_for(&wish(NEWEST), None, None).lens;
        let pieces = conversation.frame_caches.of(&lens, None).newest(&conversation).pieces;
        let bytes: usize = pieces.iter().map(bytes::Bytes::len).sum();
        assert!(bytes as u64 <= NEWEST, "{bytes} in round {round}");
    }
    assert!(window_of(&conversation, NEWEST).is_some());
}

#[test]
fn i7_few_windows_are_known_however_many_there_were() {
    let (conversation, log) = long(2_000);
    for round in 0..80 {
        say(&conversation, &log, 2_000 + round * 100, 100);
        assert!(window_of(&conversation, 16 << 10).is_some());
    }
    let windows = conversation.windows.lock();
    assert_eq!(windows.known.len(), WINDOWS_KNOWN_MAX);
    assert_eq!(windows.chosen.len(), 1);
}

#[test]
fn who_comes_back_goes_on_with_what_it_has_if_the_hub_knows_it() {
    let (conversation, log) = long(2_000);
    let window = window_of(&conversation, NEWEST).unwrap();
    let have = Position { epoch: Epoch::new("e"), seq: 2_000 };
    say(&conversation, &log, 2_000, 100);
    let back = |name: Option<&str>, newest| {
        let wish = SubscriptionOptions { window: name.map(Into::into), ..wish(newest) };
        conversation.lens_for(&wish, Some(&have), None)
    };
    let kept = back(Some(window.name()), NEWEST);
    assert!(kept.keeps && kept.lens.window.as_ref() == Some(&window));
    let whole = back(None, NEWEST);
    assert!(whole.keeps && whole.lens.is_clear(), "it had all of the conversation");
    assert!(!back(Some("0123456789abcdef"), NEWEST).keeps, "nobody knows that window");
    assert!(!back(Some(window.name()), 0).keeps, "it wants more than it has");
    // Now the events would be more than the window.
    say(&conversation, &log, 2_100, 2_000);
    assert!(!back(Some(window.name()), NEWEST).keeps);
    assert!(!back(None, NEWEST).keeps);
}

#[test]
fn newcomers_get_another_window_where_an_old_run_goes_on() {
    let (conversation, log) = long(1);
    let begin = |run| vec![Event::new(&RunId::new(run), Kind::RunStart(RunStart::default()))];
    let end = r#"{"k":"run.end","run":"old","status":"complete"}"#;
    append(&conversation, &log, begin("old"));
    append(&conversation, &log, model::testkit::events(end));
    append(&conversation, &log, begin("new"));
    say(&conversation, &log, 1, 2_000);
    let window = window_of(&conversation, NEWEST).unwrap();
    append(&conversation, &log, begin("old"));
    let lens = Lens::default().with_window(Some(Arc::clone(&window)));
    let frame_cache = conversation.frame_caches.of(&lens, None);
    assert!(frame_cache.hides_running(&conversation));
    let other = window_of(&conversation, NEWEST).unwrap();
    assert_ne!(other.name(), window.name());
    assert!(conversation.read_view(|view| !other.hides_running(view)));
}
