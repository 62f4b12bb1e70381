//! Leaving memory and coming back, with a log on disk.

use std::sync::mpsc;

use event_log::{EventLog, SqliteLog, SqliteOptions, WriteControl};
use model::code::ErrorCode;
use model::event::{Kind, PartKind, RunEnd, RunStart, RunStatus};
use model::{ConversationId, Envelope, Event, PartId, RunId, snapshot};

use super::*;
use crate::hub::Publication;
use model::limits::MEMORY_BYTES_TARGET;

const LONG: Duration = Duration::from_mins(10);

fn hub(directory: &tempfile::TempDir) -> (Hub, WriteControl) {
    let (log, hand) =
        SqliteLog::by_hand(&directory.path().join("log.db"), &SqliteOptions::default()).unwrap();
    let log: Arc<dyn EventLog> = Arc::new(log);
    (Hub::new(log), hand)
}

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn says(hub: &Hub, name: &str, kinds: Vec<Kind>) {
    hub.publish(&id(name), Publication::of(kinds.into_iter().map(envelope).collect())).unwrap();
}

fn envelope(kind: Kind) -> Envelope {
    let event = Event::new(&RunId::new("r"), kind);
    Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false }
}

fn start() -> Kind {
    Kind::RunStart(RunStart::default())
}

fn end() -> Kind {
    Kind::RunEnd(RunEnd { status: RunStatus::Complete, finish_reason: None, usage: None, lost: false })
}

/// Two rounds, with everything written in between: the state goes to the log, then the conversation leaves.
fn rounds(hub: &Hub, hand: &WriteControl, now: u64, bounds: MemoryBounds) {
    for _ in 0..2 {
        hub.keep_up(now, bounds);
        hand.write();
    }
    hub.keep_up(now, bounds);
}

#[test]
fn i7_what_nobody_uses_leaves_memory_and_comes_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    let now = 1_800_000_000_000;
    crate::clock::travel(now);
    says(&hub, "over", vec![start(), end()]);
    says(&hub, "watched", vec![start(), end()]);
    says(&hub, "running", vec![start()]);
    let viewer = hub.enter(&id("watched")).unwrap();
    let before = snapshot::hash(&hub.find(&id("over")).unwrap().unwrap().view());
    rounds(&hub, &hand, now + 599_000, MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET));
    assert_eq!(hub.conversations.len(), 3, "not idle for long enough");
    rounds(&hub, &hand, now + 600_000, MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET));
    assert_eq!(hub.conversations.len(), 2, "one is watched, one runs");
    assert!(!hub.conversations.contains_key(&id("over")));
    let back = hub.find(&id("over")).unwrap().expect("the log has it");
    assert_eq!((snapshot::hash(&back.view()), back.head()), (before, 2));
    says(&hub, "over", vec![start()]);
    assert_eq!(back.head(), 3, "it goes on");
    hub.leave(&viewer);
    let rows = hub.list(&event_log::ListQuery { limit: 10, ..Default::default() }).unwrap().rows;
    assert_eq!(rows.len(), 3);
}

#[test]
fn i7_small_conversations_leave_a_thousand_in_a_round_and_large_ones_by_their_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    let now = 1_800_000_000_000;
    crate::clock::travel(now);
    (0..=KEPT_AT_ONCE).for_each(|number| says(&hub, &format!("small{number}"), vec![start(), end()]));
    hand.write();
    let bounds = MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET);
    rounds(&hub, &hand, now + 600_000, bounds);
    assert_eq!(
        hub.conversations.len(),
        0,
        "the log has one of them after the second round, and all others after the first"
    );
    let part = PartId::new("p");
    let said = |bytes: usize| Kind::PartDelta {
        part: part.clone(),
        off: None,
        text: "x".repeat(bytes).as_str().into(),
    };
    let opens = || Kind::PartStart { part: part.clone(), kind: PartKind::Text };
    let large = usize::try_from(KEPT_BYTES_AT_ONCE / 4).unwrap();
    for number in 0..8 {
        says(&hub, &format!("large{number}"), vec![start(), opens(), said(large), end()]);
    }
    hand.write();
    hub.keep_up(now + 600_000, bounds);
    hand.write();
    hub.keep_up(now + 600_000, bounds);
    let left = hub.conversations.len();
    assert!(
        (1..8).contains(&left),
        "the first round gave the log some of them, by their bytes: {left} are left"
    );
    rounds(&hub, &hand, now + 600_000, bounds);
    rounds(&hub, &hand, now + 600_000, bounds);
    assert_eq!(hub.conversations.len(), 0);
}

#[test]
fn i7_over_the_bounds_the_longest_idle_leave_first() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    for number in 0..10_u64 {
        crate::clock::travel(1_800_000_000_000 + number);
        says(&hub, &format!("c{number}"), vec![start(), end()]);
    }
    let bounds = MemoryBounds { conversations: 4, ..MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET) };
    rounds(&hub, &hand, 1_800_000_000_100, bounds);
    let mut left: Vec<_> = hub.conversations.iter().map(|found| found.id().to_string()).collect();
    left.sort();
    assert_eq!(left, ["c6", "c7", "c8", "c9"]);
    assert_eq!(hub.count.load(Ordering::Relaxed), 4);
    rounds(
        &hub,
        &hand,
        1_800_000_000_100,
        MemoryBounds { bytes: 1, ..MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET) },
    );
    assert!(hub.conversations.is_empty(), "the bound is in bytes too");
    assert_eq!(hub.total(), 10);
}

#[test]
fn i7_what_somebody_reads_is_not_read_back_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    says(&hub, "c", vec![start(), end()]);
    let read = hub.find(&id("c")).unwrap().unwrap();
    rounds(
        &hub,
        &hand,
        1_800_000_000_000,
        MemoryBounds { bytes: 1, ..MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET) },
    );
    let again = hub.find(&id("c")).unwrap().unwrap();
    assert!(Arc::ptr_eq(&read, &again), "there would be two of it in memory");
    drop((read, again));
    rounds(
        &hub,
        &hand,
        1_800_000_000_000,
        MemoryBounds { bytes: 1, ..MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET) },
    );
    assert!(hub.conversations.is_empty());
}

#[test]
fn i7_states_count_as_memory_also_when_they_are_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    let (part, text) = (PartId::new("p"), "word ".repeat(100_000));
    let begins = Kind::PartStart { part: part.clone(), kind: PartKind::Text };
    says(
        &hub,
        "c",
        vec![start(), begins, Kind::PartDelta { part, off: None, text: text.as_str().into() }, end()],
    );
    let held = hub.in_use().bytes;
    assert!(held > 2 * text.len() as u64, "the view has the text, and so have the newest events: {held}");
    rounds(
        &hub,
        &hand,
        1_800_000_000_000,
        MemoryBounds { bytes: held - 1, ..MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET) },
    );
    assert_eq!((hub.conversations.len(), hub.in_use().bytes), (0, 0));
    hub.find(&id("c")).unwrap().expect("the log has it");
    let again = hub.in_use().bytes;
    assert!(again > text.len() as u64 && again < held, "the view alone: {again}");
}

#[tokio::test]
async fn i7_a_round_is_due_at_once_when_memory_fills() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, _hand) = hub(&directory);
    hub.grew(MEMORY_BYTES_TARGET / HELD_FOR_EACH_BYTE - 1);
    let crowded = hub.crowded();
    tokio::pin!(crowded);
    assert!(futures_util::poll!(&mut crowded).is_pending());
    hub.grew(1);
    assert!(futures_util::poll!(&mut crowded).is_ready());
}

#[test]
fn what_is_gone_from_the_log_is_told_to_no_list_any_more() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    let now = 1_800_000_000_000;
    crate::clock::travel(now);
    hub.watch(true);
    says(&hub, "first", vec![start(), end()]);
    rounds(&hub, &hand, now + 600_000, MemoryBounds::idle_after(LONG, MEMORY_BYTES_TARGET));
    crate::clock::travel(now + 600_000);
    says(&hub, "second", vec![start(), end()]);
    hand.write();
    let rule = event_log::Retention { age_ms: None, bytes: None, conversations: Some(1) };
    assert_eq!(hub.retain(&rule, now + 600_000).unwrap().0, 1);
    let told: Vec<String> = hub.take_changed().iter().map(|row| row.conversation.to_string()).collect();
    assert_eq!(told, ["second"]);
    says(&hub, "first", vec![start()]);
    assert_eq!(hub.take_changed().len(), 1, "one of that name that begins anew is told");
}

/// While conversations that cannot leave hold too much memory, a large one takes only what ends something; a small one goes on, and when
/// there is room the large one goes on too.
#[test]
fn i7_where_memory_is_short_large_conversations_wait_and_small_ones_go_on() {
    const TARGET: u64 = 14 << 20;
    let directory = tempfile::tempdir().unwrap();
    let (hub, hand) = hub(&directory);
    let hub = hub.with_memory_target(TARGET);
    let bounds = MemoryBounds::idle_after(LONG, TARGET);
    let part = PartId::new("p");
    let text = |bytes: usize| Kind::PartDelta {
        part: part.clone(),
        off: None,
        text: "x".repeat(bytes).as_str().into(),
    };
    for (name, mib) in [("large", 9), ("other", 4), ("small", 1)] {
        let begins = Kind::PartStart { part: part.clone(), kind: PartKind::Text };
        says(&hub, name, vec![start(), begins, text(mib << 20)]);
    }
    let more = |name: &str, kind: Kind| {
        let said = Publication::of(vec![envelope(kind)]);
        hub.publish(&id(name), said).map(|taken| taken.events).map_err(|error| error.code())
    };
    hub.keep_up(0, bounds);
    assert_eq!(more("large", text(1)), Err(ErrorCode::TooMany));
    assert_eq!(more("small", text(1)), Ok(1));
    assert_eq!(more("other", end()), Ok(1));
    rounds(&hub, &hand, 0, bounds);
    assert!(!hub.conversations.contains_key(&id("other")), "it is over, and makes room");
    assert_eq!(more("large", text(1)), Ok(1));
    assert_eq!(more("large", end()), Ok(1));
}

#[test]
fn i7_where_memory_is_short_conversations_in_use_keep_their_newest_events_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (hub, _hand) = hub(&directory);
    let part = PartId::new("p");
    let delta =
        || Kind::PartDelta { part: part.clone(), off: None, text: "x".repeat(64 << 10).as_str().into() };
    let begins = Kind::PartStart { part: part.clone(), kind: PartKind::Text };
    says(&hub, "c", vec![start(), begins]);
    (0..32).for_each(|_| says(&hub, "c", vec![delta()]));
    let conversation = hub.find(&id("c")).unwrap().unwrap();
    let (held, view) = (conversation.usage().bytes, snapshot::hash(&conversation.view()));
    hub.keep_up(0, MemoryBounds::idle_after(LONG, held));
    assert_eq!(conversation.begins_after(), 0, "there is room for all");
    hub.keep_up(0, MemoryBounds::idle_after(LONG, held - 1));
    let after = conversation.begins_after();
    assert!((25..34).contains(&after), "512 KiB are 7 deltas, and not {}", 34 - after);
    assert!(conversation.usage().bytes < held - (1 << 20));
    assert_eq!(snapshot::hash(&conversation.view()), view, "the state is whole");
    says(&hub, "c", vec![delta()]);
    assert_eq!(conversation.begins_after(), after, "the bound is for that moment");
}

/// Holds the lock of the conversation `name` while `others` runs, as whoever copies a large view does.
fn while_held(hub: &Hub, name: &str, others: impl FnOnce()) {
    let held = hub.find(&id(name)).unwrap().unwrap();
    let (is_held, begin) = mpsc::channel();
    let (release, is_over) = mpsc::channel::<()>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            held.read_view(|_| {
                is_held.send(()).unwrap();
                // An error says that the sender is gone, after a failed assertion too.
                let _over = is_over.recv();
            });
        });
        begin.recv().unwrap();
        others();
        drop(release);
    });
}

/// Publishes to many conversations that are new, so that each part of the map gets some.
///
/// # Panics
/// When that does not end in time.
fn others_publish(hub: &Arc<Hub>) {
    let (done, is_done) = mpsc::channel();
    let publisher = Arc::clone(hub);
    std::thread::spawn(move || {
        for number in 0..500 {
            says(&publisher, &format!("other-{number}"), vec![start()]);
        }
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("publishers of other conversations wait");
}

#[test]
fn i8_publishers_of_others_do_not_wait_while_the_order_of_the_list_waits_for_a_large_conversation() {
    let hub = Arc::new(Hub::new(Arc::new(event_log::MemoryLog::default())));
    says(&hub, "large", vec![start()]);
    while_held(&hub, "large", || {
        let lister = Arc::clone(&hub);
        std::thread::spawn(move || drop(lister.order()));
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while hub.recency.order.try_lock().is_some() {
            assert!(std::time::Instant::now() < deadline, "the order is never asked for");
            std::thread::yield_now();
        }
        others_publish(&hub);
    });
}

#[test]
fn i8_publishers_of_others_do_not_wait_while_upkeep_waits_for_a_large_conversation() {
    let hub = Arc::new(Hub::new(Arc::new(event_log::MemoryLog::default())));
    says(&hub, "large", vec![start()]);
    while_held(&hub, "large", || {
        let (begins, begun) = mpsc::channel();
        let counter = Arc::clone(&hub);
        std::thread::spawn(move || {
            begins.send(()).unwrap();
            counter.in_use()
        });
        begun.recv().unwrap();
        others_publish(&hub);
    });
}

#[test]
fn i8_a_conversation_that_is_being_read_stays_in_memory_and_upkeep_does_not_wait_for_it() {
    let hub = Arc::new(Hub::new(Arc::new(event_log::MemoryLog::default())));
    says(&hub, "read", vec![start(), end()]);
    let read = hub.find(&id("read")).unwrap().unwrap();
    let progress = hub.log().progress().borrow().clone();
    while_held(&hub, "read", || {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || done.send(read.retire_if_kept(&progress)).unwrap());
        assert_eq!(is_done.recv_timeout(Duration::from_secs(20)), Ok(false));
    });
}
