//! Tests of exactly-once (I10).

use super::*;

fn claim(name: &str, epoch: u64, seq: u64) -> Claim {
    Claim { publisher: PublisherId::new(name), epoch, seq }
}

#[test]
fn i10_a_frame_is_taken_once_in_order_and_in_the_newest_life() {
    let mut publishers = Publishers::default();
    assert_eq!(publishers.judge(&claim("a", 1, 2)), Verdict::Gap { expected: 1 });
    assert_eq!(publishers.judge(&claim("a", 1, 1)), Verdict::New);
    publishers.take(&claim("a", 1, 1));
    assert_eq!(publishers.judge(&claim("a", 1, 1)), Verdict::Duplicate);
    assert_eq!(publishers.judge(&claim("a", 1, 3)), Verdict::Gap { expected: 2 });
    assert_eq!(publishers.judge(&claim("a", 2, 2)), Verdict::Gap { expected: 1 });
    publishers.take(&claim("a", 2, 1));
    assert_eq!(publishers.judge(&claim("a", 1, 2)), Verdict::Fenced);
    assert_eq!(publishers.judge(&claim("b", 0, 1)), Verdict::New);
}

#[test]
fn a_publisher_that_does_not_count_is_fenced_only() {
    let mut publishers = Publishers::default();
    publishers.take(&claim("a", 2, 0));
    assert_eq!(publishers.judge(&claim("a", 2, 0)), Verdict::New);
    assert_eq!(publishers.judge(&claim("a", 1, 0)), Verdict::Fenced);
}

#[test]
fn i7_the_one_silent_for_longest_is_forgotten() {
    let mut publishers = Publishers::default();
    for number in 0..PUBLISHERS_PER_CONVERSATION_MAX {
        publishers.take(&claim(&number.to_string(), 0, 1));
    }
    publishers.take(&claim("0", 0, 2));
    publishers.take(&claim("new", 0, 1));
    assert_eq!(publishers.last.len(), PUBLISHERS_PER_CONVERSATION_MAX);
    assert_eq!(publishers.judge(&claim("0", 0, 3)), Verdict::New);
    assert_eq!(publishers.judge(&claim("1", 0, 2)), Verdict::Gap { expected: 1 });
}
