//! Tests of what the writer takes next.

use std::sync::Arc;

use model::frame::Durability;
use model::{Epoch, Position, SharedText};

use super::*;
use crate::ops::{Op, QueuedEvents};
use crate::{Append, ImportId, SearchDocument, SearchDocumentKind};

/// Queues an event of the conversation "c".
fn append(queue: &Queue, after: Seq) -> Ticket {
    let conversation = ConversationId::parse("c").unwrap();
    let after = Position { epoch: Epoch::new("e1"), seq: after };
    queue.append(Append::of(&conversation, &after, &[])).unwrap()
}

/// The tickets that the writer takes.
fn taken(queue: &Queue) -> Vec<u64> {
    queue.take_now().iter().map(|queued| queued.ticket).collect()
}

#[test]
fn with_a_journal_the_writer_takes_what_is_stored_and_leaves_the_rest_to_the_journal() {
    let queue = Queue::new(1 << 20, None);
    queue.state.lock().has_journal = true;
    append(&queue, 0);
    let entry = queue.next_entry().unwrap();
    queue.journaled(&entry);
    append(&queue, 0);
    assert_eq!(taken(&queue), [1]);
    assert_eq!(taken(&queue), [0; 0], "the journal comes first");
    assert_eq!(queue.next_entry().unwrap().last, 2);
}

#[test]
fn without_a_journal_what_only_saves_time_is_taken_with_what_waits_behind_it() {
    let queue = Queue::new(1 << 20, None);
    queue.go_without_journal();
    queue.put(Op::Rows(Vec::new()));
    let ticket = append(&queue, 0);
    assert!(!queue.progress().borrow().has(ticket));
    assert_eq!(taken(&queue), [1, 2]);
}

#[test]
fn i9_what_a_writer_without_room_takes_is_not_stored() {
    let queue = Queue::new(1 << 20, None);
    assert!(queue.take_if_removals_wait().is_empty());
    let ticket = append(&queue, 0);
    assert!(queue.take_if_removals_wait().is_empty(), "nothing of it makes room");
    queue.put(Op::Remove(ConversationId::parse("d").unwrap()));
    assert_eq!(queue.take_if_removals_wait().len(), 2);
    queue.put(Op::Rows(Vec::new()));
    assert!(!queue.progress().borrow().has(ticket));
    queue.wrote(2, 0, Durability::Stored);
    assert!(queue.progress().borrow().has(ticket));
}

/// Queues an event of the conversation "c" with `text`, which others may share.
fn append_text(queue: &Queue, text: &SharedText) -> Ticket {
    let conversation = ConversationId::parse("c").unwrap();
    let after = Position { epoch: Epoch::new("e1"), seq: 0 };
    let document = crate::conformance::document(SearchDocumentKind::Text, "p1", 1, "");
    let documents = vec![SearchDocument { text: text.clone(), ..document }];
    queue.append(Append { documents, ..Append::of(&conversation, &after, &[]) }).unwrap()
}

#[test]
fn i7_texts_that_are_shared_have_a_bound_of_their_own_and_count_like_all_else_beyond_it() {
    let text = SharedText::from("x".repeat(256 << 10));
    let queue = Queue::new(1 << 20, None);
    let fitting = LOG_SHARED_BYTES_MAX / text.len();
    for _ in 0..fitting {
        assert_ne!(append_text(&queue, &text), Ticket::NEVER);
    }
    assert!(queue.figures().queue_bytes < 1 << 20);
    // Of a text that only the queue has, and of a shared one beyond the bound, as many fit as of anything else.
    let more = (0..9).filter(|_| append_text(&queue, &text) != Ticket::NEVER).count();
    assert!((1..4).contains(&more), "{more}");
    queue.go_without_journal();
    while !queue.take_now().is_empty() {}
    assert_eq!(queue.state.lock().shared_bytes, 0);
}

#[test]
fn i7_texts_of_a_bounded_file_and_of_imports_count_in_full() {
    let text = SharedText::from("x".repeat(256 << 10));
    let queue = Queue::new(64 << 20, Some(1 << 40));
    append_text(&queue, &text);
    assert!(queue.figures().queue_bytes > 256 << 10);
    let conversation = ConversationId::parse("c").unwrap();
    let after = Position { epoch: Epoch::new("e1"), seq: 0 };
    let document = crate::conformance::document(SearchDocumentKind::Text, "p1", 1, "");
    let documents = vec![SearchDocument { text: text.clone(), ..document }];
    let piece = QueuedEvents::of(Append { documents, ..Append::of(&conversation, &after, &[]) });
    assert!(text.is_shared());
    assert!(Op::Stage(ImportId(1), Arc::new(piece)).bytes() > 256 << 10);
}
