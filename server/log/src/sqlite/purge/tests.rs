//! Tests of purges, with real files: what was removed is in none of them.

use std::path::Path;
use std::sync::Arc;

use model::event::{Kind, Message};
use model::frame::Durability;
use model::{ConversationId, Envelope, Epoch, Event, MessageId, Position, RunId, Seq};

use crate::sqlite::{SqliteLog, SqliteOptions};
use crate::{
    Append, Attachment, EventLog, QueryCancel, SearchDocument, SearchDocumentKind, SearchDocumentPlace,
    SearchQuery, purged, reached,
};

/// A word that no other text has. Words of the index are in lower case.
const SECRET: &str = "zanzibarquux";

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn message(seq: Seq, text: &str) -> Arc<Envelope> {
    let message = Message {
        message: MessageId::new(&format!("m{seq}")),
        role: "user".into(),
        text: text.into(),
        files: Vec::new(),
    };
    let event = Event::new(&RunId::none(), Kind::Message(message));
    Arc::new(Envelope { event, seq, at: 7, producer_at: None, publisher: None, by_hub: false })
}

/// Appends one message with its text in the index, in the place of the one before, and as a result.
fn say(log: &SqliteLog, name: &str, seq: Seq, text: &str) {
    let (id, place) = (id(name), Position { epoch: Epoch::new("e"), seq: seq - 1 });
    let document = SearchDocument {
        run: RunId::none(),
        kind: SearchDocumentKind::Message,
        place: SearchDocumentPlace::Message(MessageId::new("m")),
        name: "user".into(),
        seq,
        at: 7,
        text: text.into(),
    };
    let attachment = Attachment { hash: format!("{seq:04x}").into(), json: format!("{text:?}").into() };
    let (documents, attachments) = (vec![document], vec![attachment]);
    let envelopes = [message(seq, text)];
    log.append(Append { documents, attachments, ..Append::of(&id, &place, &envelopes) }).unwrap();
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The files of `folder` in which the word is.
fn holding(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let holds = |path: &std::path::PathBuf| {
        std::fs::read(path).unwrap().windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    };
    files.filter(holds).map(|path| path.display().to_string()).collect()
}

fn found(log: &SqliteLog, text: &str) -> usize {
    let query = SearchQuery { text: text.into(), limit: 10, ..SearchQuery::default() };
    log.search(&query, &QueryCancel::default()).unwrap().hits.len()
}

#[test]
fn what_was_removed_is_in_no_file_while_the_log_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(&folder.path().join("fanlight.db"), &SqliteOptions::default()).unwrap();
    let large = format!("{SECRET} lies beside {} ", "many other words ".repeat(700));
    for seq in 1..=90 {
        // Blocks of many commits are joined, and texts take each other's place.
        say(&log, "gone", seq, if seq % 5 == 0 { &large } else { SECRET });
        say(&log, "stays", seq, &format!("shared words, number {seq}"));
        wait(reached(&log, log.sync(), Durability::Stored)).unwrap();
    }
    assert!(!holding(folder.path()).is_empty() && found(&log, SECRET) > 0);
    log.remove(&id("gone"));
    let purge = log.purge(&id("gone"));
    for seq in 91..=120 {
        say(&log, "stays", seq, "shared words, later");
    }
    wait(purged(&log, purge)).unwrap();
    assert_eq!(holding(folder.path()), Vec::<String>::new());
    assert_eq!((found(&log, SECRET), found(&log, "shared")), (0, 1));
    wait(reached(&log, log.sync(), Durability::Stored)).unwrap();
    let page = log.read(&id("stays"), 0, 1_000).unwrap();
    assert_eq!((page.envelopes.len(), page.head), (120, 120));
    assert!(log.attachment(&id("stays"), "0001").unwrap().is_some());
    log.close().unwrap();
    assert_eq!(holding(folder.path()), Vec::<String>::new());
}

#[test]
fn a_purge_that_a_life_left_is_begun_again_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fanlight.db");
    SqliteLog::open(&path, &SqliteOptions::default()).unwrap().close().unwrap();
    let connection = super::super::schema::open_writer(&path).unwrap();
    super::begin(&connection).unwrap();
    assert_eq!(super::PendingPurge::left(&connection).unwrap().until, Some(0));
    // What the next life does at its start leaves it.
    super::sweep::begin(&connection).unwrap();
    assert!(!super::sweep::is_due(&connection).unwrap());
    assert_eq!(super::PendingPurge::left(&connection).unwrap().until, Some(0));
}

#[test]
fn lines_that_were_set_aside_go_with_their_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fanlight.db");
    let aside = path.with_file_name("fanlight.db.aside.jsonl");
    let stays = "{\"at\":1,\"conversation\":\"stays\",\"error\":\"e\"}\n{\"at\":2,\"error\":\"e\"}\n";
    let gone = format!("{{\"at\":1,\"conversation\":\"gone\",\"error\":\"{SECRET}\"}}\n");
    std::fs::write(&aside, format!("{gone}{stays}")).unwrap();
    let log = SqliteLog::open(&path, &SqliteOptions::default()).unwrap();
    wait(purged(&log, log.purge(&id("gone")))).unwrap();
    assert_eq!(std::fs::read_to_string(&aside).unwrap(), stays);
}
