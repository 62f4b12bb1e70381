//! How far a copy has come: in which epoch of its original, also where an older version stored it.

use std::sync::Arc;

use event_log::{MemoryLog, PublisherMark, StoredConversation};
use model::event::{RunEnd, RunStart, RunStatus};
use model::{Event, RunId};

use super::*;
use crate::hub::History;

fn said(seq: Seq, kind: Kind) -> Envelope {
    let event = Event::new(&RunId::new("r"), kind);
    Envelope { event, seq, at: 1_000 + seq, producer_at: None, publisher: None, by_hub: false }
}

fn begun() -> Envelope {
    said(1, Kind::RunStart(RunStart::default()))
}

fn more(seq: Seq) -> Envelope {
    said(seq, Kind::Status { text: "x".into() })
}

fn at(epoch: &str, seq: Seq) -> Position {
    Position { epoch: Epoch::new(epoch), seq }
}

/// A hub with the copy `name`, of which a run goes on, and that copy.
async fn copied(name: &str) -> (Hub, Arc<Conversation>) {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    let id = ConversationId::frozen(name).unwrap();
    hub.import(&id, History::of_hub(vec![begun()]).frozen()).await.unwrap();
    let copy = hub.find(&id).unwrap().unwrap();
    (hub, copy)
}

/// The copy as it is read back with these marks.
fn restored(copy: &Conversation, marks: Vec<PublisherMark>) -> Conversation {
    let state = copy.state.lock();
    let position = copy.position(state.view.seq);
    let stored = StoredConversation { position, view: state.view.clone(), at: state.at, marks };
    Conversation::restored(copy.id().clone(), stored)
}

#[tokio::test]
async fn a_mark_is_of_the_epoch_that_was_copied_and_stays_with_the_log() {
    let (hub, copy) = copied("one").await;
    let id = copy.id();
    assert_eq!(copy.copied_up_to(), None);
    assert_eq!(hub.copy_on(id, vec![more(7)], at("first", 7)), Ok(true));
    let mark = copy.copied_up_to().unwrap();
    assert_eq!((mark.seq, mark.is_of_another(&Epoch::new("first"))), (7, false));
    assert!(mark.is_of_another(&Epoch::new("second")) && mark.is_of_another(&Epoch::new("")));
    // The next epoch stands at a smaller seq; it is the newest all the same.
    assert_eq!(hub.copy_on(id, vec![more(5)], at("second", 5)), Ok(true));
    let mark = copy.copied_up_to().unwrap();
    assert_eq!((mark.seq, mark.is_of_another(&Epoch::new("second"))), (5, false));
    let marks = copy.state.lock().publishers.marks();
    assert_eq!(restored(&copy, marks).copied_up_to(), Some(mark), "after a restart too");
    let end = said(6, Kind::RunEnd(RunEnd { status: RunStatus::Complete, ..RunEnd::default() }));
    assert_eq!(hub.copy_on(id, vec![end], at("second", 6)), Ok(false));
}

#[tokio::test]
async fn a_mark_of_an_older_version_has_no_epoch_and_is_read() {
    let (_hub, copy) = copied("old").await;
    let marks = vec![PublisherMark { publisher: PublisherId::new(ORIGINAL), epoch: 0, seq: 9 }];
    let mark = restored(&copy, marks).copied_up_to().unwrap();
    assert_eq!((mark.seq, mark.is_of_another(&Epoch::new("any"))), (9, false));
}
