//! Tests of what is remembered of callers.

use super::*;
use crate::spoken::Spoken;

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
    let mut memory = Continuations::default();
    for number in 0..=THREADS_REMEMBERED_MAX as u64 {
        memory.take(known(number, "c"));
    }
    assert_eq!((memory.order.len(), memory.asked.len()), (THREADS_REMEMBERED_MAX, THREADS_REMEMBERED_MAX));
    assert!(!memory.asked.contains_key(&0) && memory.asked.contains_key(&1));
}

#[test]
fn of_those_who_asked_the_same_so_many_are_remembered() {
    let mut memory = Continuations::default();
    for number in 0..THREADS_ALIKE_MAX + 3 {
        memory.take(known(7, &format!("c{number}")));
    }
    let alike = memory.asked.get(&7).unwrap();
    assert_eq!((alike.len(), alike.front().unwrap().conversation.as_str()), (THREADS_ALIKE_MAX, "c3"));
}

/// What `helper` is asked by a caller whom it answered in each of these conversations, at those times.
fn asked(at: &[(&str, u64)]) -> (Continuations, Clue) {
    let said = |role: &str, text: &str| Spoken { role: role.into(), ..Spoken::user(text) };
    let messages = [said("user", "How?"), said("assistant", "Well."), said("user", "Why?")];
    let (mut memory, caller) = (Continuations::default(), Caller::new("openai"));
    for (name, at) in at {
        let id = ConversationId::parse(name).unwrap();
        let trace = Trace::of_history(("helper", &caller), &messages[..1], &id, 1);
        memory.remember(trace, &RunId::new("r"), *at);
    }
    let clue = clues("helper", &messages).pop().unwrap();
    (memory, clue)
}

fn names(known: &[Known]) -> Vec<&str> {
    known.iter().map(|known| known.conversation().as_str()).collect()
}

#[test]
fn what_was_left_alone_for_long_comes_last_and_of_that_the_newest_first() {
    let now = 2 * ALIKE_AT_ONCE_MS;
    let (memory, clue) = asked(&[("a", 0), ("b", 0), ("c", now), ("d", now)]);
    assert_eq!(names(&memory.open(&clue, now)), ["c", "d", "b", "a"]);
    assert_eq!(names(&memory.changed(&clue)), ["d", "c", "b", "a"], "the newest goes on another way");
}

#[test]
fn each_candidate_is_gone_on_with_once() {
    let (mut memory, clue) = asked(&[("a", 1), ("b", 1)]);
    let found = memory.open(&clue, 1);
    assert!(memory.go_on(&found[0], &clue));
    assert!(!memory.go_on(&found[0], &clue), "somebody else went on meanwhile");
    assert_eq!(names(&memory.open(&clue, 1)), ["b"]);
}

#[test]
fn a_thread_goes_on_in_its_newest_fork() {
    let id = |name: &str| ConversationId::parse(name).unwrap();
    let mut memory = Continuations::default();
    for fork in ["f1", "f2"] {
        memory.remember(Trace::goes_on_in(&id("t"), &id(fork)), &RunId::none(), 1);
    }
    assert_eq!(memory.current(&id("t")).as_str(), "f2");
    assert_eq!(memory.family(&id("t")), [id("f2"), id("f1"), id("t")]);
    assert!(memory.is_fork(&id("f1")) && !memory.is_fork(&id("t")));
}
