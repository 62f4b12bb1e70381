//! Tests of logs that no hub has open.

use model::event::{Kind, Message};
use model::fold::fold;
use model::{Epoch, Event, MessageId, Position, RunId};

use super::*;
use crate::{Append, SearchDocument, SearchDocumentKind, SearchDocumentPlace};

struct Censor;

impl Rewrite for Censor {
    fn events(&mut self, events: &mut [Envelope]) {
        for envelope in events {
            if let Kind::Message(message) = &mut envelope.event.kind {
                message.text = message.text.replace("hunter2", "*******");
            }
        }
    }

    fn view(&mut self, view: &mut View) {
        for message in view.messages.values_mut() {
            if message.text.contains("hunter2") {
                message.text = model::view::Streamed::whole(&message.text.replace("hunter2", "*******")).text;
            }
        }
    }

    fn text(&mut self, text: &str) -> Option<String> {
        text.contains("hunter2").then(|| text.replace("hunter2", "*******"))
    }

    fn json(&mut self, json: &str) -> Option<String> {
        self.text(json)
    }
}

fn log(path: &Path) -> ConversationId {
    let id = ConversationId::parse("c").unwrap();
    let log = SqliteLog::open(path, &SqliteOptions::default()).unwrap();
    let text = String::from("the password is hunter2, really");
    let message =
        Message { message: MessageId::new("m"), role: "user".into(), text: text.clone(), files: Vec::new() };
    let event = Event::new(&RunId::none(), Kind::Message(message));
    let envelope = Envelope { event, seq: 1, at: 7, producer_at: None, publisher: None, by_hub: false };
    let mut view = View::default();
    fold(&mut view, &envelope, &mut |_| {});
    let place = Position { epoch: Epoch::new("epoch-of-c"), seq: 0 };
    let envelopes = [Arc::new(envelope)];
    let document = SearchDocument {
        run: RunId::none(),
        kind: SearchDocumentKind::Message,
        place: SearchDocumentPlace::Message(MessageId::new("m")),
        name: "user".into(),
        seq: 1,
        at: 7,
        text: text.into(),
    };
    let documents = vec![document];
    log.append(Append { documents, ..Append::of(&id, &place, &envelopes) }).unwrap();
    log.close().unwrap();
    id
}

fn files(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap();
    files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn what_is_rewritten_is_in_no_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fanlight.db");
    let id = log(&path);
    assert!(holds(&files(folder.path()), "hunter2"));
    let mut closed = ClosedSqliteLog::open(&path).unwrap();
    assert!(closed.rewrite(&id, &mut Censor).unwrap());
    assert!(!closed.rewrite(&id, &mut Censor).unwrap());
    closed.purge().unwrap();
    let mut unpacked = Vec::new();
    closed.unpacked(&mut |bytes| unpacked.extend_from_slice(bytes)).unwrap();
    assert!(!holds(&unpacked, "hunter2") && holds(&unpacked, "*******"));
    drop(closed);
    assert!(!holds(&files(folder.path()), "hunter2"));
    let log = SqliteLog::open(&path, &SqliteOptions::default()).unwrap();
    assert_eq!(log.load(&id).unwrap().unwrap().position.seq, 1);
}

#[test]
fn a_conversation_that_is_removed_is_in_no_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fanlight.db");
    let id = log(&path);
    let mut closed = ClosedSqliteLog::open(&path).unwrap();
    let epoch = closed.epoch(&id).unwrap();
    closed.remove(&id).unwrap();
    closed.purge().unwrap();
    assert!(matches!(closed.remove(&id), Err(LogError::Unknown)));
    assert_eq!(closed.conversations().unwrap(), []);
    drop(closed);
    let bytes = files(folder.path());
    assert!(!holds(&bytes, "hunter2") && !holds(&bytes, epoch.as_str()));
}

#[test]
fn a_log_in_use_and_one_that_is_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fanlight.db");
    assert!(matches!(ClosedSqliteLog::open(&path), Err(SqliteError::File { .. })));
    log(&path);
    let open = SqliteLog::open(&path, &SqliteOptions::default()).unwrap();
    assert!(matches!(ClosedSqliteLog::open(&path), Err(SqliteError::InUse { .. })));
    drop(open);
}
