//! What a start finds: after an end that was told, after one that was not, and in a file that is none of ours.

use super::*;

/// Writes 10 events of "c" and lets `end` end the log.
fn wrote(disk: &Disk, end: impl FnOnce(SqliteLog)) {
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    end(log);
}

#[test]
fn i9_after_a_close_the_epoch_goes_on() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let stored = disk.open().load(&id("c")).unwrap().unwrap();
    assert_eq!(stored.position, at(10));
    assert_eq!(stored.view, testkit::folded(&events(1, 10, 20)));
    assert_eq!(stored.at, 1_795_300_000_010);
}

#[test]
fn i9_after_a_crash_history_goes_on_under_a_new_name() {
    let disk = Disk::new();
    wrote(&disk, drop);
    let log = disk.open();
    let found = log.load(&id("c")).unwrap().unwrap();
    assert_eq!(found.position.seq, 10);
    assert_ne!(found.position.epoch, Epoch::new("e1"));
    assert_eq!(log.load(&id("c")).unwrap().unwrap().position, found.position, "the name is given once");
    let more = events(11, 12, 20);
    log.append(Append::of(&id("c"), &found.position, &more)).unwrap();
    log.close().unwrap();
    let log = disk.open();
    let again = log.load(&id("c")).unwrap().unwrap();
    assert_eq!(again.position, Position { epoch: found.position.epoch, seq: 12 });
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, events(1, 12, 20));
}

#[test]
fn i9_a_crash_counts_for_what_was_not_written_in_that_life_too() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    drop(disk.open());
    disk.open().close().unwrap();
    let found = disk.open().load(&id("c")).unwrap().unwrap();
    assert_ne!(found.position.epoch, Epoch::new("e1"));
}

#[test]
fn i9_after_a_crash_packing_what_was_written_does_not_make_it_sound() {
    let disk = Disk::new();
    let log = disk.open();
    one_by_one(&log, &events(1, 40, 20));
    drop(log);
    let log = disk.open();
    // The packer needs nobody to ask for the conversation.
    until_packed(&log);
    let found = log.load(&id("c")).unwrap().unwrap();
    assert_eq!(found.position.seq, 40);
    assert_ne!(found.position.epoch, Epoch::new("e1"));
}

#[test]
fn what_waited_is_written_when_the_log_is_closed() {
    let disk = Disk::new();
    let log = disk.open();
    let history = events(1, 2_000, 200);
    for envelope in &history {
        append(&log, "c", envelope.seq - 1, std::slice::from_ref(envelope));
    }
    log.keep(checkpoint("c", &history, 0));
    log.close().unwrap();
    let log = disk.open();
    assert_eq!(log.read(&id("c"), 0, 5_000).unwrap().envelopes, history);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().position, at(2_000));
    let kept = "SELECT seq FROM checkpoint";
    let kept =
        log.readers.read(|connection| connection.query_row(kept, [], |row| row.get(0)).map_err(unreadable));
    assert_eq!(kept, Ok(2_000));
}

#[test]
fn i1_a_state_of_a_conversation_that_went_is_not_taken_for_one_of_its_name() {
    let disk = Disk::new();
    let log = disk.open();
    // As it is while a log is closed: what the packer does not take any more, the writer writes.
    log.packer.end();
    let old = events(1, 6, 20);
    append(&log, "c", 0, &old);
    log.keep(checkpoint("c", &old, 6));
    log.remove(&id("c"));
    let new = append(&log, "c", 0, &events(1, 1, 20));
    stored(&log, new);
    log.close().unwrap();
    let found = disk.open().load(&id("c")).unwrap().unwrap();
    assert_eq!(found.position.seq, 1);
    assert_eq!(found.view, testkit::folded(&events(1, 1, 20)));
}

#[test]
fn a_second_one_on_the_same_file_is_refused() {
    let disk = Disk::new();
    let log = disk.open();
    let second = SqliteLog::open(&disk.path(), &SqliteOptions::default());
    assert!(matches!(second, Err(SqliteError::InUse { .. })));
    drop(log);
    disk.open();
}

#[test]
fn a_file_that_is_no_log_is_refused_and_left_alone() {
    let disk = Disk::new();
    let text = "These are my notes, and I want to keep them. ".repeat(50);
    std::fs::write(disk.path(), &text).unwrap();
    let refused = SqliteLog::open(&disk.path(), &SqliteOptions::default()).unwrap_err();
    assert!(matches!(refused, SqliteError::Foreign { .. }), "{refused:?}");
    assert!(refused.to_string().contains("--log sqlite:PATH"));
    assert_eq!(std::fs::read_to_string(disk.path()).unwrap(), text);

    let disk = Disk::new();
    let other = rusqlite::Connection::open(disk.path()).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(other);
    let refused = SqliteLog::open(&disk.path(), &SqliteOptions::default());
    assert!(matches!(refused, Err(SqliteError::Foreign { .. })));
}

#[test]
fn a_file_of_a_later_version_is_refused() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let later = rusqlite::Connection::open(disk.path()).unwrap();
    later.pragma_update(None, "user_version", 99).unwrap();
    drop(later);
    let refused = SqliteLog::open(&disk.path(), &SqliteOptions::default()).unwrap_err();
    assert!(matches!(refused, SqliteError::Newer { found: 99, .. }));
    assert!(refused.to_string().contains("later version"));
}

#[test]
fn a_directory_that_cannot_be_made_is_said() {
    let disk = Disk::new();
    std::fs::write(disk.directory.path().join("file"), "x").unwrap();
    let path = disk.directory.path().join("file").join("fanlight.db");
    let refused = SqliteLog::open(&path, &SqliteOptions::default());
    assert!(matches!(refused, Err(SqliteError::File { .. })));
}

/// What the names of the files of a log end with.
const WHOLE: [&str; 5] = ["", "-wal", ".mark", ".journal.1", ".journal.2"];

/// A copy of a log as it lies on the disk while a life is on, as a loss of it at that moment leaves it.
fn copied(disk: &Disk, files: &[&str]) -> Disk {
    let copy = Disk::new();
    for suffix in files {
        let name = format!("fanlight.db{suffix}");
        std::fs::copy(disk.directory.path().join(&name), copy.directory.path().join(&name)).unwrap();
    }
    copy
}

#[test]
fn a_write_ahead_log_without_its_database_is_refused_and_left_alone() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    for what in ["is missing", "is empty"] {
        let copy = copied(&disk, &["-wal", ".mark"]);
        if what == "is empty" {
            std::fs::write(copy.path(), "").unwrap();
        }
        let wal = copy.directory.path().join("fanlight.db-wal");
        let before = std::fs::read(&wal).unwrap();
        let refused = SqliteLog::open(&copy.path(), &SqliteOptions::default()).unwrap_err();
        assert!(matches!(refused, SqliteError::Torn { .. }), "{refused:?}");
        let said = refused.to_string();
        assert!(said.contains(what) && said.contains("fanlight.db-wal"), "{said}");
        assert_eq!(std::fs::read(&wal).unwrap(), before);
    }
}

#[test]
fn i9_what_a_lost_write_ahead_log_takes_with_it_is_noticed_once_and_changes_the_epoch() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let log = disk.open();
    for seq in 11..=20 {
        stored(&log, append(&log, "c", seq - 1, &events(seq, seq, 20)));
    }
    let whole = copied(&disk, &WHOLE);
    assert_eq!(whole.open().missing(), None, "all of it is there");
    let lost = copied(&disk, &["", ".mark"]);
    let found = lost.open();
    let missing = found.missing().unwrap();
    assert!(missing.commits >= 10 && missing.to >= missing.from, "{missing:?}");
    let position = found.load(&id("c")).unwrap().unwrap().position;
    assert_eq!(position.seq, 10);
    assert_ne!(position.epoch, Epoch::new("e1"), "viewers have seen more of the old one");
    found.close().unwrap();
    assert_eq!(lost.open().missing(), None, "it is said once");
}

#[test]
fn what_a_damaged_write_ahead_log_loses_is_noticed() {
    let disk = Disk::new();
    let log = disk.open();
    for seq in 1..=20 {
        stored(&log, append(&log, "c", seq - 1, &events(seq, seq, 20)));
    }
    let copy = copied(&disk, &WHOLE);
    let wal = copy.directory.path().join("fanlight.db-wal");
    let mut bytes = std::fs::read(&wal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&wal, bytes).unwrap();
    let log = copy.open();
    assert!(log.missing().unwrap().commits >= 1, "{:?}", log.missing());
}

#[test]
fn a_database_that_was_replaced_by_an_older_one_is_noticed() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let older = copied(&disk, &[""]);
    let log = disk.open();
    stored(&log, append(&log, "c", 10, &events(11, 12, 20)));
    log.close().unwrap();
    drop(log);
    std::fs::copy(older.path(), disk.path()).unwrap();
    assert!(disk.open().missing().is_some());
}

#[test]
fn a_mark_or_a_life_with_a_number_that_nobody_reached_is_no_end_of_the_hub() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let mark = disk.directory.path().join("fanlight.db.mark");
    for life in [i64::MAX, i64::MIN] {
        let line = format!(r#"{{"life":{life},"commits":1,"synced":1,"at":1,"boot":""}}"#);
        std::fs::write(&mark, line).unwrap();
        let log = disk.open();
        assert_eq!(log.missing(), None, "it is no mark of a hub");
        assert_eq!(log.load(&id("c")).unwrap().unwrap().position, at(10));
        log.close().unwrap();
    }
    let database = rusqlite::Connection::open(disk.path()).unwrap();
    let newest = "UPDATE life SET number = 9223372036854775807 WHERE number = (SELECT max(number) FROM life)";
    assert_eq!(database.execute(newest, []).unwrap(), 1);
    drop(database);
    assert!(SqliteLog::open(&disk.path(), &SqliteOptions::default()).is_err());
}

/// Makes a file of the second schema of one of the seventh.
const UNDO_3: &str = "DROP INDEX conversation_pinned; ALTER TABLE conversation DROP COLUMN pinned; \
                      ALTER TABLE conversation DROP COLUMN archived; ALTER TABLE conversation DROP COLUMN tags; \
                      DROP TABLE word_index; DROP TABLE latency; DROP TABLE measure; DROP TABLE measure_span; DROP TABLE measured; DROP TABLE void; \
                      ALTER TABLE life DROP COLUMN applied; PRAGMA user_version = 2;";

#[test]
fn a_file_of_the_second_schema_opens_with_all_that_is_in_it() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let older = rusqlite::Connection::open(disk.path()).unwrap();
    older.execute_batch(UNDO_3).unwrap();
    drop(older);
    let log = disk.open();
    assert_eq!(log.missing(), None);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().position, at(10));
    stored(&log, append(&log, "c", 10, &events(11, 12, 20)));
    drop(log);
    assert_eq!(disk.open().read(&id("c"), 0, 100).unwrap().envelopes, events(1, 12, 20));
}

#[test]
fn a_file_of_the_first_schema_opens_with_all_that_is_in_it() {
    let disk = Disk::new();
    wrote(&disk, |log| log.close().unwrap());
    let older = rusqlite::Connection::open(disk.path()).unwrap();
    let undo = "DROP TABLE gone; ALTER TABLE life DROP COLUMN commits; ALTER TABLE life DROP COLUMN written_at; \
                PRAGMA user_version = 1;";
    older.execute_batch(UNDO_3).unwrap();
    older.execute_batch(undo).unwrap();
    drop(older);
    for suffix in [".journal.1", ".journal.2"] {
        std::fs::remove_file(disk.directory.path().join(format!("fanlight.db{suffix}"))).unwrap();
    }
    std::fs::remove_file(disk.directory.path().join("fanlight.db.mark")).unwrap();
    let log = disk.open();
    assert_eq!(log.missing(), None);
    assert_eq!(log.load(&id("c")).unwrap().unwrap().position, at(10));
}

#[cfg(unix)]
#[test]
fn nobody_but_its_owner_reads_a_log() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").join("fanlight.db");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let log = SqliteLog::open(&path, &SqliteOptions::default()).unwrap();
    stored(&log, append(&log, "c", 0, &events(1, 10, 20)));
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files = || std::fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert!(files().count() >= 4, "the database, what was not moved into it yet, the lock and the mark");
    drop(log);
    // As an earlier version left it.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    drop(SqliteLog::open(&path, &SqliteOptions::default()).unwrap());
    assert_eq!(mode(&path), 0o600);
}
