//! Histories that are imported, and conversations that go: whole or not at all, and step by step.

use super::*;
use crate::QueryCancel;
use crate::{SearchDocumentKind, SearchQuery};
use ::model::limits::LOG_SWEEP_BYTES;

const IMPORT: ImportId = ImportId(7);

/// Stages `history` in pieces of ten.
fn stage(log: &SqliteLog, history: &[Arc<Envelope>]) {
    for piece in history.chunks(10) {
        let (id, after) = (id("c"), at(piece[0].seq - 1));
        log.stage(IMPORT, Append::of(&id, &after, piece));
    }
}

fn rows(log: &SqliteLog, table: &str) -> i64 {
    number(log, &format!("SELECT count(*) FROM {table}"))
}

fn number(log: &SqliteLog, query: &str) -> i64 {
    let one = |connection: &rusqlite::Transaction<'_>| {
        connection.query_row(query, [], |row| row.get(0)).map_err(unreadable)
    };
    log.readers.read(one).unwrap()
}

#[test]
fn an_import_is_there_as_a_whole_once_it_is_adopted() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 95, 40);
    stage(&log, &history);
    stored(&log, log.sync());
    assert!(log.load(&id("c")).unwrap().is_none(), "nobody sees a part of it");
    assert_eq!((log.count(), rows(&log, "event") > 0), (0, true));
    let adopted = log.adopt(IMPORT, checkpoint("c", &history, 0), Vec::new(), Vec::new());
    wait(&log, adopted, Durability::Synced).unwrap();
    drop(log);
    let log = disk.open();
    let found = log.load(&id("c")).unwrap().unwrap();
    assert_eq!((found.position.seq, found.view), (95, testkit::folded(&history)));
    assert_eq!(log.read(&id("c"), 0, 1_000).unwrap().envelopes, history);
    assert_eq!(log.gap(&id("c")).unwrap(), None);
    stored(&log, append(&log, "c", 95, &events(96, 97, 4)));
    assert_eq!(log.read(&id("c"), 90, 1_000).unwrap().head, 97);
}

#[test]
fn an_import_that_breaks_off_leaves_nothing() {
    let disk = Disk::new();
    let log = disk.open();
    stage(&log, &events(1, 95, 40));
    stored(&log, log.sync());
    drop(log);
    let log = disk.open();
    until_swept(&log);
    assert!(log.load(&id("c")).unwrap().is_none());
    assert_eq!((log.count(), rows(&log, "event"), rows(&log, "gone")), (0, 0, 0));
    // While the hub lives, too.
    stage(&log, &events(1, 95, 40));
    log.abandon(IMPORT);
    stored(&log, log.sync());
    until_swept(&log);
    assert_eq!((rows(&log, "event"), rows(&log, "gone")), (0, 0));
}

#[test]
fn an_import_of_which_a_piece_is_missing_is_refused() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 30, 40);
    stage(&log, &history[..10]);
    stage(&log, &history[20..]);
    let adopted = log.adopt(IMPORT, checkpoint("c", &history, 0), Vec::new(), Vec::new());
    assert_eq!(wait(&log, adopted, Durability::Stored), Err(LogError::SetAside));
    assert_eq!(log.count(), 0);
}

#[test]
fn i8_what_went_is_not_found_any_more_and_is_deleted_in_small_steps() {
    let disk = Disk::new();
    let log = disk.open();
    let texts: Vec<_> = (0..40).map(|n| format!("needle {}", "hay ".repeat(20_000 + n))).collect();
    let texts = texts.iter().enumerate();
    let documents = texts
        .map(|(n, text)| finding::document(SearchDocumentKind::Text, &format!("p{n}"), 1, text))
        .collect();
    let history = events(1, 600, 10_000);
    stored(&log, append_with(&log, "c", 0, &history, |append| append.documents = documents));
    let query = SearchQuery { text: String::from("needle"), limit: 10, ..SearchQuery::default() };
    assert_eq!(log.search(&query, &QueryCancel::default()).unwrap().hits.len(), 10);
    let before = rows(&log, "event");
    let mut meddler = schema::open_writer(&disk.path()).unwrap();
    // As the writer does it, step by step.
    let went = meddler.transaction().unwrap();
    sweep::mark_removed(&went, 1).unwrap();
    went.commit().unwrap();
    assert!(log.search(&query, &QueryCancel::default()).unwrap().hits.is_empty());
    // A step deletes a MiB, and at most what the last row has over it. How many bytes that are is not always the same: the blocks
    // are pressed, alone or many together, as the packer came to it.
    let sizes = |rows: &str, bytes: &str| number(&log, &format!("SELECT coalesce({bytes}, 0) FROM {rows}"));
    let (texts, packed) = (sizes("document", "sum(octet_length(text))"), sizes("event", "sum(length(body))"));
    let largest = sizes("document", "max(octet_length(text))").max(sizes("event", "max(length(body))"));
    let least = (texts + packed) / (i64::try_from(LOG_SWEEP_BYTES).unwrap() + largest);
    let mut steps = 0;
    let (mut texts, mut blocks) = (rows(&log, "document"), before);
    while sweep::step(&mut meddler).unwrap() {
        steps += 1;
        let (fewer_texts, fewer_blocks) = (rows(&log, "document"), rows(&log, "event"));
        assert!(texts - fewer_texts <= 15 && blocks - fewer_blocks <= 2, "a step deletes about a MiB");
        (texts, blocks) = (fewer_texts, fewer_blocks);
    }
    // The last step, which leaves nothing, is not among them.
    assert!(steps + 1 >= least && least >= 4, "{steps} steps, {least} at least");
    for table in ["event", "document", "checkpoint", "mark", "attachment", "gone", "conversation"] {
        assert_eq!(rows(&log, table), 0, "{table}");
    }
}
