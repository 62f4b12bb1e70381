//! What the database refuses: it is left out alone, kept aside and named, and nobody else notices. What a log that ends
//! could not write is said.

use super::*;

/// Past the largest seq that the database can tell from its neighbours: the second block there has the place of the first.
const FAR: Seq = i64::MAX as u64;

/// Lets "bad" stand at [`FAR`], with one event behind it: every further one is refused.
fn spoil(log: &SqliteLog, hand: &WriteControl) {
    let mut far = checkpoint("bad", &events(1, 1, 4), 0);
    far.view.seq = FAR;
    log.keep(far);
    hand.write();
    append(log, "bad", FAR, &events(FAR + 1, FAR + 1, 4));
    hand.write();
}

/// The lines of what was set aside.
fn aside(disk: &Disk) -> Vec<serde_json::Value> {
    let text =
        std::fs::read_to_string(disk.directory.path().join("fanlight.db.aside.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn i8_an_append_that_the_database_refuses_fails_alone() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    spoil(&log, &hand);
    // All in one group, the bad one in the middle.
    let before = append(&log, "good", 0, &events(1, 3, 4));
    let bad = append(&log, "bad", FAR + 1, &events(FAR + 2, FAR + 2, 4));
    let after = append(&log, "good", 3, &events(4, 6, 4));
    let other = append(&log, "other", 0, &events(1, 1, 4));
    hand.write();
    for ticket in [before, after, other] {
        stored(&log, ticket);
    }
    assert_eq!(wait(&log, bad, Durability::Stored), Err(LogError::SetAside));
    assert!(!log.progress().borrow().has(bad));
    assert_eq!(log.read(&id("good"), 0, 10).unwrap().envelopes, events(1, 6, 4));
    assert_eq!(log.progress().borrow().health, Health::Well);
    // It is not gone: it is in the file beside the database, as well as named.
    let aside = aside(&disk);
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!((aside[0]["what"].as_str(), aside[0]["conversation"].as_str()), (Some("events"), Some("bad")));
    assert_eq!(
        (aside[0]["after"]["seq"].as_u64(), aside[0]["events"][0]["seq"].as_u64()),
        (Some(FAR + 1), Some(FAR + 2))
    );
    assert!(aside[0]["error"].is_string(), "{aside:?}");
    // What is missing is asked for, and written as a state.
    assert_eq!(log.awaiting_checkpoint(), [id("bad")]);
    let figures = log.figures();
    assert_eq!((figures.holed, figures.left_out, figures.set_aside), (1, 1, 1));
}

#[test]
fn i9_appends_that_wait_behind_a_refused_one_are_set_aside_too() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    spoil(&log, &hand);
    let bad: Vec<_> =
        (0..3).map(|n| append(&log, "bad", FAR + 1 + n, &events(FAR + 2 + n, FAR + 2 + n, 4))).collect();
    let good = append(&log, "good", 0, &events(1, 3, 4));
    hand.write();
    stored(&log, good);
    for ticket in bad {
        assert_eq!(wait(&log, ticket, Durability::Stored), Err(LogError::SetAside));
    }
    let seqs: Vec<_> = aside(&disk).iter().map(|line| line["events"][0]["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, [FAR + 2, FAR + 3, FAR + 4]);
    assert_eq!((log.figures().left_out, log.figures().set_aside), (3, 3));
}

#[test]
fn i9_what_a_state_has_yet_to_fill_counts_as_missing_until_the_state_is_written() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    append(&log, "c", 0, &events(1, 10, 4));
    hand.write();
    let huge = events(11, 11, LOG_QUEUE_BYTES_MAX + 1);
    assert_eq!(append(&log, "c", 10, &huge), Ticket::NEVER);
    let mut history = events(1, 11, 4);
    history[10] = events(11, 11, 30).remove(0);
    log.keep(checkpoint("c", &history, 0));
    // It waits: the death of the hub would lose what it has.
    assert_eq!((log.figures().holed, log.figures().left_out), (1, 1));
    hand.fill_the_disk(true);
    let unwritten = log.close().unwrap_err();
    assert_eq!((unwritten.events, unwritten.conversations.first()), (1, Some(&id("c"))));
}

#[test]
fn i7_a_database_that_refuses_everything_is_a_broken_one_and_not_everything_is_set_aside() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 1, 4)));
    let meddler = rusqlite::Connection::open(disk.path()).unwrap();
    meddler.execute_batch("DROP TABLE event").unwrap();
    // What is only to be stored is in the journal; these are to be rows.
    let synced = |append: &mut Append<'_>| append.level = Durability::Synced;
    let tickets: Vec<_> =
        (0..100).map(|n| append_with(&log, &format!("c{n}"), 0, &events(1, 1, 4), synced)).collect();
    let failed = tickets.iter().map(|ticket| wait(&log, *ticket, Durability::Synced));
    let failed: Vec<_> = failed.map(Result::unwrap_err).collect();
    assert!(matches!(failed.last(), Some(LogError::Failing(_))), "{failed:?}");
    assert!((1..=64).contains(&aside(&disk).len()), "{}", aside(&disk).len());
    let unwritten = log.close().unwrap_err();
    assert!(unwritten.events >= 30 && unwritten.conversations.contains(&id("c99")), "{unwritten}");
}

#[test]
fn i9_a_log_that_is_closed_on_a_full_disk_says_what_it_did_not_write() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    append(&log, "c", 0, &events(1, 3, 4));
    hand.write();
    hand.fill_the_disk(true);
    append(&log, "c", 3, &events(4, 6, 4));
    append(&log, "d", 0, &events(1, 2, 4));
    let unwritten = log.close().unwrap_err();
    assert_eq!((unwritten.events, unwritten.conversations.len()), (5, 2));
    let said = unwritten.to_string();
    assert!(
        said.contains("5 events of 2 conversations were not written (c, d)") && said.contains("full"),
        "{said}"
    );
    // And only that: what was stored is there.
    assert_eq!(disk.open().read(&id("c"), 0, 10).unwrap().envelopes, events(1, 3, 4));
}
