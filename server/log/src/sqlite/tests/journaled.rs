//! What is in the journal and not rows yet: it survives a death, is read again once and whole, and is asked for like all else.

use super::*;

/// A copy of the files of `disk`, as a death leaves them.
fn copied(disk: &Disk) -> Disk {
    let copy = Disk::new();
    for suffix in ["", "-wal", ".mark", ".journal.1", ".journal.2"] {
        let name = format!("fanlight.db{suffix}");
        std::fs::copy(disk.directory.path().join(&name), copy.directory.path().join(&name)).unwrap();
    }
    copy
}

fn journals(disk: &Disk) -> [PathBuf; 2] {
    [".journal.1", ".journal.2"].map(|suffix| disk.directory.path().join(format!("fanlight.db{suffix}")))
}

fn journal_bytes(disk: &Disk) -> u64 {
    journals(disk).iter().map(|path| std::fs::metadata(path).unwrap().len()).sum()
}

/// A log whose conversation "c" has its first event as a row and the others up to `last` in the journal, one entry each.
fn half_written(disk: &Disk, last: Seq) -> (SqliteLog, WriteControl) {
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    append(&log, "c", 0, &events(1, 1, 20));
    hand.write();
    for seq in 2..=last {
        let ticket = append(&log, "c", seq - 1, &events(seq, seq, 20));
        hand.write_entry();
        assert!(log.progress().borrow().has(ticket));
    }
    assert!(log.progress().borrow().indexed < log.progress().borrow().stored);
    (log, hand)
}

#[test]
fn i9_what_the_journal_has_is_there_after_a_death_and_goes_on_under_a_new_name() {
    let disk = Disk::new();
    drop(half_written(&disk, 20));
    assert!(journal_bytes(&disk) > 0);
    let log = disk.open();
    assert_eq!(log.missing(), None);
    assert_eq!(log.read(&id("c"), 0, 100).unwrap().envelopes, events(1, 20, 20));
    assert_ne!(log.load(&id("c")).unwrap().unwrap().position.epoch, Epoch::new("e1"));
    assert_eq!(journal_bytes(&disk), 0, "it is emptied once it is rows");
}

#[test]
fn i10_all_that_comes_with_events_comes_back_from_the_journal_once() {
    let disk = Disk::new();
    let (log, hand) = SqliteLog::by_hand(&disk.path(), &SqliteOptions::default()).unwrap();
    append(&log, "c", 0, &events(1, 1, 20));
    hand.write();
    let mark = PublisherMark { publisher: "p".into(), epoch: u64::MAX, seq: u64::MAX };
    let call = EndedToolCall { name: "sql".into(), failed: true, latency_ms: Some(7) };
    let document =
        finding::document(crate::SearchDocumentKind::Text, "p1", 2, "needle \u{1f600} \n in \"it\"");
    let attachment = Attachment { hash: "00ff".into(), json: Arc::from(r#"{"rows":[1,2]}"#) };
    let ticket = append_with(&log, "c", 1, &events(2, 3, 20), |append| {
        append.mark = Some(mark.clone());
        append.calls = vec![call];
        append.documents = vec![document];
        append.attachments = vec![attachment];
    });
    hand.write_entry();
    assert!(log.progress().borrow().has(ticket));
    let twice = copied(&disk);
    drop((log, hand));
    disk.open().close().unwrap();
    // A death between the rows and the end of the journal: it is read again, and adds nothing.
    for journal in 0..2 {
        std::fs::copy(&journals(&twice)[journal], &journals(&disk)[journal]).unwrap();
    }
    let log = disk.open();
    assert_eq!(log.load(&id("c")).unwrap().unwrap().marks, [mark]);
    assert_eq!(log.read(&id("c"), 0, 9).unwrap().envelopes, events(1, 3, 20));
    assert_eq!(log.attachment(&id("c"), "00ff").unwrap().as_deref(), Some(r#"{"rows":[1,2]}"#));
    let tools = log.tools().unwrap();
    assert_eq!((tools.len(), tools[0].calls, tools[0].failed), (1, 1, 1));
    let query = finding::query("needle");
    assert_eq!(log.search(&query, &QueryCancel::default()).unwrap().hits.len(), 1);
}

#[test]
fn i9_a_journal_that_is_cut_at_any_byte_gives_its_whole_entries_and_the_loss_is_noticed() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 4);
    let whole = copied(&disk);
    drop((log, hand));
    let path = journals(&whole).into_iter().find(|path| std::fs::metadata(path).unwrap().len() > 0).unwrap();
    let bytes = std::fs::read(path).unwrap();
    for length in (0..=bytes.len()).step_by(7).chain([bytes.len()]) {
        let cut = copied(&whole);
        std::fs::write(&journals(&cut)[0], &bytes[..length]).unwrap();
        std::fs::write(&journals(&cut)[1], b"").unwrap();
        let log = cut.open();
        let found = log.read(&id("c"), 0, 100).unwrap().envelopes;
        assert_eq!(found, events(1, found.len() as u64, 20), "cut at {length}");
        assert_eq!(log.missing().is_some(), found.len() < 4, "cut at {length}: {:?}", log.missing());
    }
}

#[test]
fn i9_a_journal_with_a_wrong_byte_anywhere_gives_nothing_wrong() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 4);
    let whole = copied(&disk);
    drop((log, hand));
    let path = journals(&whole).into_iter().find(|path| std::fs::metadata(path).unwrap().len() > 0).unwrap();
    let bytes = std::fs::read(path).unwrap();
    for at in (0..bytes.len()).step_by(11) {
        let spoilt = copied(&whole);
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&journals(&spoilt)[0], &bytes).unwrap();
        std::fs::write(&journals(&spoilt)[1], b"").unwrap();
        let log = spoilt.open();
        let found = log.read(&id("c"), 0, 100).unwrap().envelopes;
        assert_eq!(found, events(1, found.len() as u64, 20), "at {at}");
        assert!(log.missing().is_some(), "at {at}");
    }
}

#[test]
fn what_is_only_in_the_journal_is_read_listed_and_found_at_once() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 1, 20)));
    let document = finding::document(crate::SearchDocumentKind::Text, "p1", 2, "needle");
    let ticket = append_with(&log, "c", 1, &events(2, 2, 20), |append| append.documents = vec![document]);
    stored(&log, ticket);
    let query = finding::query("needle");
    assert_eq!(log.search(&query, &QueryCancel::default()).unwrap().hits.len(), 1);
    stored(&log, append(&log, "c", 2, &events(3, 3, 20)));
    assert_eq!(log.read(&id("c"), 0, 9).unwrap().envelopes, events(1, 3, 20));
}

#[test]
fn i9_a_conversation_that_went_does_not_come_back_out_of_the_journal() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 9);
    log.remove(&id("c"));
    hand.write();
    let after = copied(&disk);
    drop((log, hand));
    assert!(after.open().load(&id("c")).unwrap().is_none());
}

#[test]
fn i9_a_new_conversation_and_a_removal_are_stored_once_the_journal_has_them() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 3);
    let first = append(&log, "new", 0, &events(1, 2, 20));
    let removal = log.remove(&id("c"));
    let again = append(&log, "c", 0, &events(1, 1, 40));
    hand.write_entry();
    for ticket in [first, removal, again] {
        assert!(log.progress().borrow().has(ticket));
    }
    assert!(log.progress().borrow().indexed < first, "nothing of it is rows");
    let after = copied(&disk);
    drop((log, hand));
    let log = after.open();
    assert_eq!(log.missing(), None);
    assert_eq!(log.read(&id("new"), 0, 9).unwrap().envelopes, events(1, 2, 20));
    assert_eq!(log.read(&id("c"), 0, 9).unwrap().envelopes, events(1, 1, 40), "what came after the removal");
    assert_eq!(log.count(), 2);
}

#[test]
fn a_list_has_no_conversation_whose_removal_is_only_in_the_journal() {
    let disk = Disk::new();
    let log = disk.open();
    for name in ["c", "d"] {
        stored(&log, append(&log, name, 0, &events(1, 1, 20)));
    }
    stored(&log, log.sync());
    stored(&log, log.remove(&id("c")));
    let rows = log.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap();
    assert_eq!(rows.iter().map(|row| row.conversation.as_str()).collect::<Vec<_>>(), ["d"]);
    let all = Retention { conversations: Some(0), ..Retention::default() };
    assert_eq!(log.expired(&all, 0, &|_| false).unwrap(), [id("d")]);
}

#[test]
fn i8_acks_go_on_while_rows_are_waited_for() {
    let disk = Disk::new();
    let log = disk.open();
    stored(&log, append(&log, "c", 0, &events(1, 1, 20)));
    stored(&log, log.sync());
    // Another process holds the database, so nothing becomes rows.
    let holder = rusqlite::Connection::open(disk.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let removed = log.remove(&id("c"));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| log.load(&id("c")).unwrap().is_none());
        stored(&log, removed);
        for seq in 1..=40 {
            stored(&log, append(&log, "d", seq - 1, &events(seq, seq, 20)));
        }
        assert!(log.progress().borrow().indexed < removed, "it is not rows");
        assert!(!reader.is_finished(), "a reader waits for the rows");
        // A list waits for removals, but not for long.
        let rows = log.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap();
        assert_eq!(rows.iter().map(|row| row.conversation.as_str()).collect::<Vec<_>>(), ["c"]);
        holder.execute_batch("ROLLBACK").unwrap();
        assert!(reader.join().unwrap());
    });
    assert_eq!(log.read(&id("d"), 0, 99).unwrap().envelopes, events(1, 40, 20));
}

/// Whether a file of the database at `disk` has these bytes.
fn has_bytes(disk: &Disk, wanted: &[u8]) -> bool {
    ["fanlight.db", "fanlight.db-wal", "fanlight.db.journal.1", "fanlight.db.journal.2"].iter().any(|name| {
        let bytes = std::fs::read(disk.directory.path().join(name)).unwrap_or_default();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    })
}

#[test]
fn i9_a_purge_whose_removal_was_stored_is_done_after_a_death() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 3);
    let (removal, purge) = log.remove_and_purge(&id("c"));
    hand.write_entry();
    assert!(log.progress().borrow().has(removal) && log.progress().borrow().has(purge));
    let after = copied(&disk);
    drop((log, hand));
    let Kind::Status { text } = events(1, 1, 20)[0].event.kind.clone() else { panic!("a status") };
    assert!(has_bytes(&after, text.as_bytes()), "it is there to be purged");
    let log = after.open();
    let deadline = Instant::now() + Duration::from_mins(1);
    while has_bytes(&after, text.as_bytes()) {
        assert!(Instant::now() < deadline, "it is still there");
        std::thread::yield_now();
    }
    assert!(log.load(&id("c")).unwrap().is_none());
}

#[test]
fn what_only_saves_time_keeps_nobody_waiting_and_counts_as_nothing_that_may_be_lost() {
    let disk = Disk::new();
    let (log, hand) = half_written(&disk, 3);
    log.put_rows(vec![row("c", &testkit::folded(&events(1, 3, 20)), 1)]);
    let progress = log.progress().borrow().clone();
    assert_eq!(progress.stored, log.figures().taken);
    assert!(progress.indexed < progress.stored);
    let ticket = append(&log, "c", 3, &events(4, 4, 20));
    assert!(!log.progress().borrow().has(ticket));
    hand.write_entry();
    assert!(log.progress().borrow().has(ticket));
}
