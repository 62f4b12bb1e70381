//! A disk that is full: nobody is stopped, everybody is told, nothing is doubled, and a checkpoint fills the hole.

use ::model::limits::LOG_QUEUE_BYTES_MAX;

use super::*;
use crate::SearchDocumentKind;

/// Appends to `name` until the disk is full; where it stands then.
fn fill(log: &SqliteLog, name: &str) -> Seq {
    let mut head = 0;
    loop {
        let more = events(head + 1, head + 50, 2_000);
        let ticket = append(log, name, head, &more);
        head += 50;
        if wait(log, ticket, Durability::Stored).is_err() {
            return head;
        }
    }
}

#[test]
fn a_full_disk_is_told_and_what_waited_is_written_once_there_is_room() {
    let disk = Disk::new();
    let log = disk.bounded(2 << 20);
    let words = (1..=100)
        .map(|n| finding::document(SearchDocumentKind::Text, &format!("p{n}"), 1, &format!("word{n}")));
    let old =
        append_with(&log, "old", 0, &events(1, 300, 2_000), |append| append.documents = words.collect());
    stored(&log, old);
    let head = fill(&log, "c");
    let progress = log.progress().borrow().clone();
    let Health::Failing(fault) = &progress.health else { panic!("{progress:?}") };
    assert_eq!(fault.code, "disk_full");
    assert!(fault.since > 0);
    // What is written can be read meanwhile, and what comes is taken.
    assert_eq!(log.read(&id("old"), 0, 1_000).unwrap().envelopes, events(1, 300, 2_000));
    append(&log, "c", head, &events(head + 1, head + 1, 10));
    assert!(log.awaiting_checkpoint().is_empty());

    let removed = log.remove(&id("old"));
    until(&log, |progress| progress.health == Health::Well && progress.stored >= removed);
    let history = log.read(&id("c"), 0, 100_000).unwrap();
    assert_eq!(history.head, head + 1);
    assert_eq!(history.envelopes[..history.envelopes.len() - 1], events(1, head, 2_000));
    assert!(log.read(&id("old"), 0, 1).is_err());
}

/// Waits for a state of the log.
fn until(log: &SqliteLog, wanted: impl Fn(&Progress) -> bool) {
    let mut progress = log.progress();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let reached = progress.wait_for(wanted);
        tokio::time::timeout(Duration::from_mins(1), reached).await.unwrap().unwrap();
    });
}

#[test]
fn i7_what_the_queue_does_not_hold_leaves_a_hole_that_a_checkpoint_fills() {
    let disk = Disk::new();
    let log = disk.bounded(4 << 20);
    stored(&log, append(&log, "old", 0, &events(1, 500, 2_000)));
    let begin = fill(&log, "c");
    let mut head = begin;
    loop {
        let more = events(head + 1, head + 20, 100_000);
        let ticket = append(&log, "c", head, &more);
        head += 20;
        if ticket == Ticket::NEVER {
            break;
        }
        assert!(head - begin < 2 * LOG_QUEUE_BYTES_MAX as u64 / 100_000, "the queue has no bound");
    }
    assert!(!log.progress().borrow().full, "who waits now stops what viewers see");
    assert_eq!(append(&log, "c", head, &events(head + 1, head + 1, 10)), Ticket::NEVER);
    let never = wait(&log, Ticket::NEVER, Durability::Stored);
    assert!(matches!(never, Err(LogError::Failing(_))));
    head += 1;

    // Most of what waits goes with its conversation.
    let also = log.remove(&id("c"));
    let removed = log.remove(&id("old"));
    until(&log, |progress| progress.health == Health::Well && progress.stored >= removed.max(also));
    assert_eq!(log.count(), 0);
    // It was removed, so nothing of it is missing.
    assert!(log.awaiting_checkpoint().is_empty());
    assert!(head > 0);
}

#[test]
fn a_hole_is_named_once_healed_by_a_checkpoint_and_reading_inside_it_says_where_it_ends() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    // An append over the whole bound is what a queue that is full does not take.
    let huge = events(11, 11, LOG_QUEUE_BYTES_MAX + 1);
    assert_eq!(append(&log, "c", 10, &huge), Ticket::NEVER);
    assert_eq!(append(&log, "c", 11, &events(12, 20, 20)), Ticket::NEVER);
    assert_eq!((log.figures().holed, log.figures().left_out), (1, 2), "that all is well would be wrong");
    assert_eq!(log.awaiting_checkpoint(), [id("c")]);
    assert!(log.awaiting_checkpoint().is_empty(), "each is named once");

    let mut history = events(1, 20, 20);
    history[10] = events(11, 11, 30).remove(0);
    stored(&log, log.keep(checkpoint("c", &history, 5)));
    assert_eq!((log.figures().holed, log.figures().left_out), (0, 0));
    assert_eq!(log.gap(&id("c")).unwrap(), Some((11, 15)));
    stored(&log, append(&log, "c", 20, &events(21, 22, 20)));
    assert_eq!(log.gap(&id("c")).unwrap(), Some((11, 15)));
    history.extend(events(21, 22, 20));
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, history[..10]);
    for after in 10..15 {
        assert_eq!(log.read(&id("c"), after, 100), Err(LogError::Gone { begins_after: 15 }));
    }
    assert_eq!(log.read(&id("c"), 15, 100).unwrap().envelopes, history[15..]);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().view, testkit::folded(&history));
    log.close().unwrap();
    let found = disk.open().load(&id("c")).unwrap().unwrap();
    assert_eq!((found.position, found.view), (at(22), testkit::folded(&history)));
}

#[test]
fn a_checkpoint_with_everything_that_was_lost_leaves_no_hole() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 20, 20);
    stored(&log, append(&log, "c", 0, &history[..10]));
    assert_eq!(append(&log, "c", 10, &events(11, 11, LOG_QUEUE_BYTES_MAX + 1)), Ticket::NEVER);
    stored(&log, log.keep(checkpoint("c", &history, 15)));
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, history);
}

#[test]
fn i9_a_hole_that_nobody_filled_changes_the_epoch() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    stored(&log, append(&log, "d", 0, &events(1, 10, 20)));
    assert_eq!(append(&log, "c", 10, &events(11, 11, LOG_QUEUE_BYTES_MAX + 1)), Ticket::NEVER);
    let unwritten = log.close().unwrap_err();
    assert_eq!((unwritten.events, unwritten.conversations.first()), (1, Some(&id("c"))));
    assert!(
        unwritten.to_string().contains("1 events of 1 conversations were not written (c): "),
        "{unwritten}"
    );
    let log = disk.open();
    let found = log.load(&id("c")).unwrap().unwrap().position;
    assert_eq!(found.seq, 10);
    assert_ne!(found.epoch, Epoch::new("e1"));
    assert_eq!(log.load(&id("d")).unwrap().unwrap().position, at(10), "the others go on as they were");
}

#[test]
fn a_conversation_that_leaves_memory_with_a_hole_comes_back_under_a_new_name() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    assert_eq!(append(&log, "c", 10, &events(11, 11, LOG_QUEUE_BYTES_MAX + 1)), Ticket::NEVER);
    let found = log.load(&id("c")).unwrap().unwrap().position;
    assert_eq!(found.seq, 10);
    assert_ne!(found.epoch, Epoch::new("e1"));
    stored(&log, log.append(Append::of(&id("c"), &found, &events(11, 12, 20))).unwrap());
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, events(1, 12, 20));
}

/// Conversations c0 to c9 of about 200 KiB each, the later ones newer.
fn ten(log: &SqliteLog) {
    for n in 0..10_u64 {
        let mut history = events(1, 100, 2_000);
        for envelope in &mut history {
            let mut later = Envelope::clone(envelope);
            later.at += n * 1_000;
            *envelope = Arc::new(later);
        }
        append(log, &format!("c{n}"), 0, &history);
    }
    stored(log, log.sync());
}

/// What a round drops, dropped, rows and all.
fn retain(
    log: &SqliteLog,
    rule: &Retention,
    now: u64,
    keep: &dyn Fn(&ConversationId) -> bool,
) -> Vec<ConversationId> {
    let gone = log.expired(rule, now, keep).unwrap();
    for id in &gone {
        log.remove(id);
    }
    stored(log, log.sync());
    until_swept(log);
    gone
}

fn names(gone: &[ConversationId]) -> Vec<&str> {
    gone.iter().map(ConversationId::as_str).collect()
}

#[test]
fn the_silent_ones_go_first_and_none_that_somebody_holds_on_to() {
    let disk = Disk::new();
    let log = disk.open();
    ten(&log);
    let now = 1_795_300_000_100 + 9_000;
    let nobody = |_: &ConversationId| false;
    let rule = Retention::default();
    assert!(retain(&log, &rule, now, &nobody).is_empty());
    let rule = Retention { conversations: Some(8), ..Retention::default() };
    let gone = retain(&log, &rule, now, &|held| held.as_str() == "c1");
    assert_eq!(names(&gone), ["c0", "c2"]);
    assert!(retain(&log, &rule, now, &nobody).is_empty());
    let rule = Retention { age_ms: Some(5_000), ..Retention::default() };
    assert_eq!(names(&retain(&log, &rule, now, &nobody)), ["c1", "c3"]);
    assert_eq!(log.count(), 6);
    assert_eq!(log.read(&id("c4"), 0, 1_000).unwrap().envelopes.len(), 100);
    let rule = Retention { conversations: Some(0), ..Retention::default() };
    assert_eq!(retain(&log, &rule, now, &|_| true), Vec::<ConversationId>::new());
}

#[test]
fn a_bound_on_bytes_is_reached_in_a_round_or_two_and_the_room_is_used_again() {
    let disk = Disk::new();
    let log = disk.open();
    ten(&log);
    let used = || log.readers.read(|connection| retain::used(connection).map_err(unreadable)).unwrap();
    let before = used();
    let rule = Retention { bytes: Some(before / 2), ..Retention::default() };
    let gone = retain(&log, &rule, 0, &|_| false);
    assert!((4..=6).contains(&gone.len()), "{gone:?}");
    retain(&log, &rule, 0, &|_| false);
    assert!(used() <= before / 2);
    let pages = "PRAGMA page_count";
    let pages = || -> i64 {
        log.readers.read(|it| it.query_row(pages, [], |row| row.get(0)).map_err(unreadable)).unwrap()
    };
    let file = pages();
    stored(&log, append(&log, "new", 0, &events(1, 300, 2_000)));
    assert_eq!(pages(), file, "free pages are filled before the file grows");
}

#[test]
fn i7_names_that_nobody_wrote_to_leave_nothing_behind() {
    let disk = Disk::new();
    let log = disk.open();
    for n in 0..100 {
        assert!(log.load(&id(&format!("nobody-{n}"))).unwrap().is_none());
    }
    assert_eq!(log.queue.known(), 0);
}

#[test]
fn i9_what_waits_behind_a_removal_on_a_full_disk_is_not_acked() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    append(&log, "d", 0, &events(1, 1, 20));
    append(&log, "c", 0, &events(1, 1, 20));
    hand.write();
    append(&log, "c", 1, &events(2, 2, 20));
    hand.write_entry();
    hand.fill_the_disk(true);
    hand.write();
    // The writer fails with what the journal has, and takes the removal to make room, with all that waits.
    let waiting = append(&log, "c", 2, &events(3, 3, 20));
    log.remove(&id("d"));
    hand.write();
    log.put_rows(vec![row("c", &testkit::folded(&events(1, 3, 20)), 1)]);
    assert!(!log.progress().borrow().has(waiting), "nothing has it");
    hand.fill_the_disk(false);
    hand.write();
    assert!(log.progress().borrow().has(waiting));
    assert_eq!(log.read(&id("c"), 0, 9).unwrap().envelopes, events(1, 3, 20));
    assert!(log.load(&id("d")).unwrap().is_none());
}
