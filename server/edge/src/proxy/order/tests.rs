//! Tests of the order of recordings.

use futures_util::FutureExt as _;

use super::*;
use crate::proxy::tape::{End, RequestState};

fn tape() -> Arc<Tape> {
    let tape = Tape::new(&Arc::default());
    tape.asked(RequestState::Whole);
    Arc::new(tape)
}

#[test]
fn a_call_comes_after_what_older_ones_had_said() {
    let order = Arc::<Order>::default();
    let (first, second) = (tape(), tape());
    let older = order.enter(1, &first);
    let newer = order.enter(1, &second);
    assert_eq!(newer.comes().now_or_never(), Some(()));
    first.say(b"abc");
    let mut comes = std::pin::pin!(newer.comes());
    assert_eq!(comes.as_mut().now_or_never(), None);
    // What comes later is not waited for.
    first.say(b"def");
    older.has_read(3);
    assert_eq!(comes.now_or_never(), Some(()));
    // The older one waits for nobody, though the newer one has unread words.
    second.say(b"x");
    assert_eq!(older.comes().now_or_never(), Some(()));
}

#[test]
fn the_end_of_a_recording_lets_others_come() {
    let order = Arc::<Order>::default();
    let first = tape();
    let older = order.enter(1, &first);
    first.end(End::Whole);
    let newer = order.enter(1, &tape());
    let stranger = order.enter(2, &tape());
    assert_eq!(stranger.comes().now_or_never(), Some(()));
    assert_eq!(newer.comes().now_or_never(), None);
    drop(older);
    assert_eq!(newer.comes().now_or_never(), Some(()));
    assert_eq!(order.running(), 2);
}

#[test]
fn a_request_that_is_not_whole_keeps_nobody_waiting() {
    let order = Arc::<Order>::default();
    let open = Arc::new(Tape::new(&Arc::default()));
    let _older = order.enter(1, &open);
    open.say(b"refused before all was asked");
    let newer = order.enter(1, &tape());
    assert_eq!(newer.comes().now_or_never(), Some(()));
}

#[test]
fn i7_beyond_the_limit_the_one_that_waited_longest_is_left() {
    let waiting = Waiting::<Arc<usize>>::default();
    let place = |number: usize| {
        let conversation = ConversationId::parse(&format!("c{number}")).unwrap();
        (conversation, RunId::new("r"))
    };
    let attendants: Vec<_> = (0..WAITING_MAX + 3).map(Arc::new).collect();
    let begin = |number: usize| {
        let (conversation, run) = place(number);
        waiting.begin(conversation, run, Arc::clone(&attendants[number]));
    };
    let waits = |number: usize| Arc::strong_count(&attendants[number]) == 2;
    (0..WAITING_MAX).for_each(begin);
    let (conversation, run) = place(0);
    waiting.end(&conversation, &run);
    begin(1);
    for number in WAITING_MAX..WAITING_MAX + 3 {
        begin(number);
    }
    let gone: Vec<_> = (0..WAITING_MAX + 3).filter(|number| !waits(*number)).collect();
    assert_eq!(gone, [0, 2, 3]);
    assert_eq!(waiting.0.lock().by_age.len(), WAITING_MAX);
}

#[test]
fn a_run_that_another_one_ended_waits_no_longer() {
    let waiting = Waiting::<()>::default();
    let conversation = ConversationId::parse("c").unwrap();
    let runs = ["r1", "r2", "r3"].map(RunId::new);
    for run in &runs {
        waiting.begin(conversation.clone(), run.clone(), ());
    }
    waiting.go_on(&conversation, &runs[1], Some(&runs[0]));
    let waits = waiting.0.lock();
    assert_eq!(waits.by_run.keys().collect::<Vec<_>>(), [&(conversation, runs[2].clone())]);
    assert_eq!(waits.by_age.len(), 1);
}
