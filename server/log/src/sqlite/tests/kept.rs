//! A data folder of each earlier schema, as a hub of that time left it when it was killed: it opens with all that is in it.
//!
//! A folder is never changed. It was made by a hub of that version: two conversations and one that was deleted, and the last two events of
//! one conversation only in the journal, less than a second old.

use super::*;

/// A copy of the folder of a schema, since opening it changes it.
fn folder(schema: &str) -> Disk {
    let disk = Disk::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(schema);
    for file in std::fs::read_dir(kept).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), disk.directory.path().join(file.file_name())).unwrap();
    }
    disk
}

/// The text of the part `part`.
fn text(log: &SqliteLog, name: &str, part: &str) -> String {
    let events = log.read(&id(name), 0, 99).unwrap().envelopes;
    let delta = |kind: &Kind| match kind {
        Kind::PartDelta { part: of, text, .. } if of.as_str() == part => Some(text.to_string()),
        _ => None,
    };
    events.iter().filter_map(|envelope| delta(&envelope.event.kind)).collect()
}

#[test]
fn i9_a_folder_of_the_eighth_schema_opens_with_all_that_was_acked() {
    let disk = folder("schema-8");
    let log = disk.open();
    assert_eq!((log.missing(), log.count()), (None, 2));
    assert_eq!(log.read(&id("harbour"), 0, 99).unwrap().envelopes.len(), 17);
    assert_eq!(text(&log, "harbour", "p1"), "The Petrel and the Gannet leave at twenty hours.");
    assert_eq!(log.read(&id("lighthouse"), 0, 99).unwrap().envelopes.len(), 15);
    assert_eq!(text(&log, "lighthouse", "p1"), "The lamp is lit and the keeper sleeps.");
    assert!(log.load(&id("gone")).unwrap().is_none());
    // The hub was killed, so both go on in a new epoch, with what their publisher had said.
    let lighthouse = log.load(&id("lighthouse")).unwrap().unwrap();
    assert_eq!(lighthouse.position.seq, 15);
    assert_ne!(lighthouse.position.epoch, Epoch::new("tftc85y0w1s63"));
    assert_eq!(lighthouse.marks, [PublisherMark { publisher: "p".into(), epoch: 1, seq: 2 }]);
    let rows = log.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap();
    let names: Vec<_> = rows.iter().map(|row| (row.conversation.as_str(), row.state)).collect();
    assert_eq!(names, [("lighthouse", Some(RunStatus::Running)), ("harbour", Some(RunStatus::Complete))]);
    let tools = log.tools().unwrap();
    assert_eq!(tools.iter().map(|it| (it.name.as_str(), it.calls)).collect::<Vec<_>>(), [("berths", 3)]);
    let found = |word: &str| log.search(&finding::query(word), &QueryCancel::default()).unwrap().hits.len();
    assert_eq!((found("gannet"), found("nobody")), (3, 0), "one answer and two results of calls");
    // It goes on.
    let after = lighthouse.position;
    let more = events(16, 16, 20);
    stored(&log, log.append(Append::of(&id("lighthouse"), &after, &more)).unwrap());
    drop(log);
    assert_eq!(disk.open().read(&id("lighthouse"), 0, 99).unwrap().envelopes.len(), 16);
}
