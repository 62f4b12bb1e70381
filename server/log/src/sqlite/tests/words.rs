//! Words are added to the index after the rows; searches find the same whatever happens in between.

use super::finding::{document, query};
use super::*;
use crate::{QueryCancel, SearchDocumentKind};

/// Appends one event with one text.
fn say(log: &SqliteLog, name: &str, after: Seq, item: &str, text: &str) -> Ticket {
    let documents = vec![document(SearchDocumentKind::Text, item, after + 1, text)];
    append_with(log, name, after, &events(after + 1, after + 1, 4), |append| append.documents = documents)
}

/// The conversations in which `word` is found.
fn found(log: &SqliteLog, word: &str) -> Vec<String> {
    let hits = log.search(&query(word), &QueryCancel::default()).unwrap().hits;
    hits.into_iter().map(|hit| hit.conversation.to_string()).collect()
}

/// The number of the newest document whose words are in the index, and that of the newest document.
fn indexed(disk: &Disk) -> (i64, i64) {
    let sums = "SELECT (SELECT through FROM word_index), (SELECT coalesce(max(id), 0) FROM document)";
    let connection = rusqlite::Connection::open(disk.path()).unwrap();
    connection.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// Fails unless the index has exactly the words of the documents.
fn check_index(disk: &Disk) {
    let check = "INSERT INTO word (word, rank) VALUES ('integrity-check', 1)";
    rusqlite::Connection::open(disk.path()).unwrap().execute_batch(check).unwrap();
}

#[test]
fn a_commit_leaves_the_words_of_its_texts_to_a_later_step() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    hand.write();
    assert_eq!(indexed(&disk), (0, 1));
    assert_eq!(log.figures().unindexed_bytes, 5 + 128);
    // A search does not wait for them to be due.
    assert_eq!(found(&log, "heron"), ["c"]);
    assert_eq!(indexed(&disk), (1, 1));
    assert_eq!(log.figures().unindexed_bytes, 0);
    check_index(&disk);
}

#[test]
fn words_that_a_life_has_not_added_are_found_in_the_next() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    hand.write();
    say(&log, "d", 0, "p1", "heron and egret");
    hand.write_entry();
    drop(log);
    assert_eq!(indexed(&disk), (0, 1));
    let (log, _hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    assert_eq!(log.figures().unindexed_bytes, 20 + 2 * 128);
    assert_eq!(found(&log, "heron"), ["d", "c"], "of the journal as well");
    log.close().unwrap();
    check_index(&disk);
}

#[test]
fn a_text_that_is_replaced_or_removed_before_its_words_are_added_leaves_none() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    say(&log, "c", 1, "p1", "egret");
    say(&log, "d", 0, "p1", "heron and egret");
    hand.write();
    log.remove(&id("d"));
    hand.write();
    assert_eq!((found(&log, "heron"), found(&log, "egret")), (vec![], vec![String::from("c")]));
    // And one whose words were added.
    say(&log, "c", 2, "p1", "bittern");
    hand.write();
    assert_eq!((found(&log, "egret"), found(&log, "bittern")), (vec![], vec![String::from("c")]));
    log.close().unwrap();
    check_index(&disk);
}

#[test]
fn many_texts_are_added_in_several_steps() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    let text = "heron ".repeat(40_000);
    let name = |n: usize| format!("c{n}");
    for n in 0..9 {
        say(&log, &name(n), 0, "p1", &text);
    }
    hand.write();
    let step = |connection: &mut rusqlite::Connection| {
        crate::sqlite::words::step(connection, pace::WriterPace::restless()).unwrap()
    };
    // As the writer does it, which is held back.
    let mut connection = rusqlite::Connection::open(disk.path()).unwrap();
    assert_eq!(step(&mut connection).through, 5, "1 MiB is full with five texts");
    assert_eq!(indexed(&disk), (5, 9));
    assert_eq!(step(&mut connection).through, 9);
    assert_eq!(step(&mut connection).bytes, 0);
    drop(connection);
    assert_eq!(found(&log, "heron").len(), 9);
    log.close().unwrap();
    check_index(&disk);
}

#[test]
fn a_search_does_not_wait_for_words_that_cannot_be_added() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    hand.write();
    assert_eq!(found(&log, "heron"), ["c"]);
    say(&log, "d", 0, "p1", "heron");
    hand.write();
    hand.fill_the_disk(true);
    assert_eq!(found(&log, "heron"), ["c"], "what was added is found");
    hand.fill_the_disk(false);
    // Nothing is lost by it: a step after the next commit adds them.
    say(&log, "e", 0, "p1", "egret");
    hand.write();
    let deadline = Instant::now() + Duration::from_mins(1);
    while found(&log, "heron").len() < 2 {
        assert!(Instant::now() < deadline, "the words are not added");
        std::thread::yield_now();
    }
}

#[test]
fn a_search_in_a_hurry_finds_what_is_indexed_and_says_that_the_newest_is_missing() {
    let disk = Disk::new();
    let log = disk.open();
    say(&log, "c", 0, "p1", "heron");
    assert_eq!(found(&log, "heron"), ["c"]);
    // The writer is busy for longer than anybody waits, as while it writes the file anew.
    let database = rusqlite::Connection::open(disk.path()).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    say(&log, "d", 0, "p1", "heron");
    let stop = QueryCancel::default();
    let results = std::thread::scope(|scope| {
        let search = scope.spawn(|| log.search(&query("heron"), &stop).unwrap());
        stop.hurry();
        search.join().unwrap()
    });
    assert_eq!((results.hits.len(), results.stopped_at, results.lacks_newest), (1, None, true));
    database.execute_batch("COMMIT").unwrap();
    let results = log.search(&query("heron"), &QueryCancel::default()).unwrap();
    assert_eq!((results.hits.len(), results.lacks_newest), (2, false));
}

#[test]
fn figures_that_are_stopped_while_they_wait_are_refused() {
    let disk = Disk::new();
    let log = disk.open();
    let stop = QueryCancel::default();
    stop.cancel();
    let query = MeasureQuery {
        metrics: vec![crate::Metric::Ended],
        from: 0,
        to: 1,
        step_ms: 3_600_000,
        by: std::collections::BTreeSet::new(),
    };
    assert!(log.measured(&query, &QueryCancel::default()).is_ok());
    assert!(log.measured(&query, &stop).is_err());
}

#[test]
fn many_small_texts_are_added_soon() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    let empty = (0..9_000).map(|n| document(SearchDocumentKind::Message, &format!("m{n}"), 1, "")).collect();
    append_with(&log, "c", 0, &events(1, 1, 4), |append| append.documents = empty);
    hand.write();
    assert_eq!(log.figures().unindexed_bytes, 9_000 * 128);
    let mut connection = rusqlite::Connection::open(disk.path()).unwrap();
    let stepped = crate::sqlite::words::step(&mut connection, pace::WriterPace::restless()).unwrap();
    assert_eq!(stepped.through, 8_192, "as many as weigh 1 MiB");
}

#[test]
fn a_search_that_is_stopped_while_it_waits_says_how_far_it_came() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    hand.write();
    let stop = QueryCancel::default();
    stop.cancel();
    let results = log.search(&query("heron"), &stop).unwrap();
    let before_all = Some(::model::limits::NUMBER_MAX);
    assert_eq!((results.hits.len(), results.stopped_at), (0, before_all));
    // Whoever goes on from there gets what has come since.
    let next = SearchQuery { before: results.stopped_at, ..query("heron") };
    assert_eq!(log.search(&next, &QueryCancel::default()).unwrap().hits.len(), 1);
}

#[test]
fn a_search_that_is_stopped_does_not_wait_for_rows() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "b", 0, &events(1, 1, 4)));
    // The writer is busy for longer than anybody waits, as while it writes the file anew.
    let database = rusqlite::Connection::open(disk.path()).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    say(&log, "c", 0, "p1", "heron");
    let stop = QueryCancel::default();
    let found = std::thread::scope(|scope| {
        let search = scope.spawn(|| log.search(&query("heron"), &stop).unwrap());
        stop.cancel();
        search.join().unwrap()
    });
    assert_eq!(found.hits.len(), 0);
    database.execute_batch("COMMIT").unwrap();
    assert_eq!(log.search(&query("heron"), &QueryCancel::default()).unwrap().hits.len(), 1);
}

#[test]
fn an_index_that_is_made_anew_has_the_words_of_all_texts() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    say(&log, "c", 0, "p1", "heron");
    hand.write();
    log.close().unwrap();
    assert_eq!(indexed(&disk), (0, 1));
    let mut closed = ClosedSqliteLog::open(&disk.path()).unwrap();
    crate::ClosedLog::purge(&mut closed).unwrap();
    drop(closed);
    assert_eq!(indexed(&disk), (1, 1));
    assert_eq!(found(&disk.open(), "heron"), ["c"]);
    check_index(&disk);
}
