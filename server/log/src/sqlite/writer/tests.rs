//! Tests of the order in which a group is tried again.

use model::{Epoch, Position};

use super::*;
use crate::Append;
use crate::sqlite::ops::{QueuedEvents, WritePath};

fn append(ticket: u64, name: &str) -> Queued {
    let (id, after) = (ConversationId::parse(name).unwrap(), Position { epoch: Epoch::new("e"), seq: 0 });
    let op = Op::Append(Arc::new(QueuedEvents::of(Append::of(&id, &after, &[]))));
    Queued { ticket, bytes: 10, shared_bytes: 0, write_path: WritePath::Database, op }
}

fn removal(ticket: u64, name: &str) -> Queued {
    let write_path = WritePath::Database;
    Queued {
        ticket,
        bytes: 1,
        shared_bytes: 0,
        write_path,
        op: Op::Remove(ConversationId::parse(name).unwrap()),
    }
}

fn order(group: &[Queued]) -> Vec<String> {
    let name = |queued: &Queued| {
        let what = if matches!(queued.op, Op::Remove(_)) { "remove" } else { "append" };
        format!("{what} {}", queued.op.conversation().unwrap())
    };
    group.iter().map(name).collect()
}

#[test]
fn removals_come_first_and_what_came_before_them_is_moot() {
    let mut group = vec![append(1, "a"), append(2, "b"), removal(3, "a"), append(4, "a"), append(5, "b")];
    removals_first(&mut group);
    assert_eq!(order(&group), ["remove a", "append b", "append a", "append b"]);
    assert_eq!(group.iter().map(|queued| queued.bytes).sum::<usize>(), 41, "all bytes count");
    assert_eq!(group.last().unwrap().ticket, 5);
    removals_first(&mut group);
    assert_eq!(order(&group), ["remove a", "append b", "append a", "append b"]);
}

#[test]
fn a_group_that_is_all_moot_counts_as_written_all_the_same() {
    let mut group = vec![
        append(1, "a"),
        append(2, "a"),
        removal(3, "a"),
        removal(4, "b"),
        append(5, "b"),
        removal(6, "b"),
    ];
    removals_first(&mut group);
    assert_eq!(order(&group), ["remove a", "remove b", "remove b"]);
    assert_eq!(group.last().unwrap().ticket, 6);
    assert_eq!(group.iter().map(|queued| queued.bytes).sum::<usize>(), 33);
}
