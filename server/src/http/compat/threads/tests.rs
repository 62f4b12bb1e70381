//! Tests of what is remembered of callers.

use super::*;

/// Something that was asked in a conversation of this name.
fn known(asked: u64, name: &str) -> Known {
    let history = History { asked: hex(asked), before: String::new(), salt: hex(1), caller: hex(2) };
    Known {
        conversation: ConversationId::parse(name).unwrap(),
        run: RunId::new("r"),
        history,
        at: 0,
        heard: Heard::All,
        has_gone_on: false,
        answer: None,
    }
}

#[test]
fn of_all_that_was_asked_the_oldest_is_forgotten() {
    let mut memory = Memory::default();
    for number in 0..=THREADS_REMEMBERED_MAX as u64 {
        memory.take(known(number, "c"));
    }
    assert_eq!((memory.order.len(), memory.asked.len()), (THREADS_REMEMBERED_MAX, THREADS_REMEMBERED_MAX));
    assert!(!memory.asked.contains_key(&0) && memory.asked.contains_key(&1));
}

#[test]
fn of_those_who_asked_the_same_so_many_are_remembered() {
    let mut memory = Memory::default();
    for number in 0..THREADS_ALIKE_MAX + 3 {
        memory.take(known(7, &format!("c{number}")));
    }
    let alike = memory.asked.get(&7).unwrap();
    assert_eq!((alike.len(), alike.front().unwrap().conversation.as_str()), (THREADS_ALIKE_MAX, "c3"));
}
