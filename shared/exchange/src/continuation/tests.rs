//! Tests of what is remembered of callers.

use super::*;
use crate::spoken::Spoken;

/// Something that was asked in a conversation of this name.
fn known(asked: u64, name: &str) -> AskedQuestion {
    let history = History { asked: hex(asked), before: String::new(), salt: hex(1), caller: hex(2) };
    AskedQuestion {
        conversation: ConversationId::parse(name).unwrap(),
        run: RunId::new("r"),
        history,
        at: 0,
        heard: ReceivedAnswer::All,
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

fn names(known: &[AskedQuestion]) -> Vec<&str> {
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

#[test]
fn what_is_read_back_again_is_remembered_once_and_threads_go_on_where_they_last_did() {
    let (mut memory, clue) = asked(&[]);
    let id = |name: &str| ConversationId::parse(name).unwrap();
    let messages = [Spoken { role: "user".into(), ..Spoken::user("How?") }];
    let trace = Trace::of_history(("helper", &Caller::new("openai")), &messages, &id("c"), 1);
    let found = |trace: Trace, at: u64| Found {
        trace,
        run: RunId::new("r"),
        at,
        heard: ReceivedAnswer::All,
        is_running: false,
    };
    let fork = |name: &str, at: u64| found(Trace::goes_on_in(&id("t"), &id(name)), at);
    memory.read_back(vec![found(trace.clone(), 1), fork("t-1", 2)]);
    assert_eq!(memory.current(&id("t")), id("t-1"));
    // Another hub has served them meanwhile.
    memory.read_back(vec![found(trace, 1), fork("t-1", 2), fork("t-2", 3)]);
    assert_eq!(names(&memory.open(&clue, 4)), ["c"]);
    assert_eq!(memory.current(&id("t")), id("t-2"));
    assert_eq!(memory.family(&id("t")), [id("t-2"), id("t-1"), id("t")]);
}

#[test]
fn what_is_read_back_again_changes_nothing_that_this_hub_knows_better() {
    let (mut memory, clue) = asked(&[]);
    let id = |name: &str| ConversationId::parse(name).unwrap();
    let run = RunId::new("r");
    let messages = [Spoken { role: "user".into(), ..Spoken::user("How?") }];
    let trace = Trace::of_history(("helper", &Caller::new("openai")), &messages, &id("c"), 1);
    let fork = Trace::goes_on_in(&id("t"), &id("t-1"));
    memory.remember(trace.clone(), &run, 1);
    memory.remember(fork.clone(), &run, 2);
    // A change of the thread's state, which no run notes.
    memory.remember(Trace::goes_on_in(&id("t"), &id("t-2")), &RunId::none(), 3);
    let of = |trace, at, is_running| Found {
        trace,
        run: run.clone(),
        at,
        heard: ReceivedAnswer::Part,
        is_running,
    };
    memory.read_back(vec![of(trace.clone(), 1, true), of(fork, 2, false)]);
    let known = memory.open(&clue, 4);
    assert_eq!(known.first().map(|known| known.heard), Some(ReceivedAnswer::All), "the run goes on here");
    assert_eq!(memory.current(&id("t")), id("t-2"), "the fork is older");
    // Its hub broke off.
    memory.read_back(vec![of(trace, 1, false)]);
    assert_eq!(memory.open(&clue, 4).first().map(|known| known.heard), Some(ReceivedAnswer::Part));
}
