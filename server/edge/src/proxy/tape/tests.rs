//! Tests of the copy of a call.

use super::*;

fn tape() -> Tape {
    Tape::new(&Arc::default())
}

#[tokio::test]
async fn what_was_said_is_read_once_and_in_order() {
    let tape = tape();
    tape.ask(b"as");
    tape.ask(b"ked");
    tape.asked(RequestState::Whole);
    let (request, asked, held) = tape.request().await;
    assert_eq!((request, asked), (b"asked".to_vec(), RequestState::Whole));
    // It is in memory for as long as it is read.
    assert_eq!(tape.budget.held(), 5);
    drop(held);
    tape.say(b"one ");
    tape.say(b"two ");
    let reading = tape.read().await;
    assert_eq!((reading.answer.join(), reading.end), (b"one two ".to_vec(), None));
    assert_eq!(tape.position(), Some(reading.position));
    tape.say(b"three");
    tape.end(End::Whole);
    tape.end(End::HungUp);
    let reading = tape.read().await;
    assert_eq!((reading.answer.join(), reading.end), (b"three".to_vec(), Some(End::Whole)));
    assert_eq!(tape.budget.held(), 0);
}

#[tokio::test]
async fn i7_a_request_over_the_limit_is_not_kept() {
    let tape = tape();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..=(PROXY_REQUEST_BYTES_MAX >> 20) {
        tape.ask(&piece);
    }
    assert_eq!(tape.budget.held(), 0);
    let (request, asked, _held) = tape.request().await;
    assert_eq!((request, asked), (Vec::new(), RequestState::TooLarge));
}

#[tokio::test]
async fn i7_what_the_recorder_does_not_take_is_lost_from_there_on() {
    let tape = tape();
    tape.asked(RequestState::Whole);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..(PROXY_LAG_BYTES_MAX >> 20) {
        tape.say(&piece);
    }
    tape.say(b"too much");
    let reading = tape.read().await;
    assert_eq!((reading.answer.len(), reading.lost), (PROXY_LAG_BYTES_MAX, 8));
    // What comes behind a hole is not of use, though there is room again.
    tape.say(b"more");
    tape.end(End::Whole);
    let reading = tape.read().await;
    assert_eq!((reading.answer.len(), reading.lost, reading.end), (0, 12, Some(End::Whole)));
}

#[test]
fn i7_all_tapes_together_are_bounded() {
    let budget = Arc::<Budget>::default();
    let piece = vec![b'x'; PROXY_LAG_BYTES_MAX];
    let tapes: Vec<_> =
        (0..=PROXY_COPIES_BYTES_MAX / PROXY_LAG_BYTES_MAX).map(|_| Tape::new(&budget)).collect();
    for tape in &tapes {
        tape.say(&piece);
    }
    assert_eq!(budget.held(), PROXY_COPIES_BYTES_MAX);
    assert_eq!(tapes.last().unwrap().reel.lock().lost, PROXY_LAG_BYTES_MAX as u64);
    drop(tapes);
    assert_eq!(budget.held(), 0);
}

#[test]
fn nothing_that_was_said_is_printed() {
    let tape = tape();
    tape.ask(b"secret");
    tape.say(b"secret");
    assert!(!format!("{tape:?}").contains(&format!("{:?}", b"secret")), "{tape:?}");
}

#[tokio::test]
async fn i7_a_request_that_is_unpacked_counts_as_what_it_is() {
    let tape = tape();
    tape.ask(b"packed");
    tape.asked(RequestState::Whole);
    let (.., mut held) = tape.request().await;
    assert!(held.resize(1_000));
    assert_eq!(tape.budget.held(), 1_000);
    assert!(!held.resize(PROXY_COPIES_BYTES_MAX + 1));
    assert_eq!(tape.budget.held(), 1_000);
    assert!(held.resize(10));
    assert_eq!(tape.budget.held(), 10);
    drop(held);
    assert_eq!(tape.budget.held(), 0);
}
