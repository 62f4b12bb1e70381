//! Tests of what the writer takes next.

use model::frame::Durability;
use model::{Epoch, Position};

use super::*;
use crate::Append;
use crate::ops::Op;

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
