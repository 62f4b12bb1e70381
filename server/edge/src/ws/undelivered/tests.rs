//! Tests of who counts as dead.

use super::*;

/// Heartbeats at which the hub stands at the first number and the client at the second; which of them find it dead.
fn dead(steps: &[(Seq, Seq)]) -> Vec<bool> {
    let mut undelivered = UndeliveredSubscriptions::default();
    let found = steps.iter().map(|(head, at)| {
        undelivered.sent([(1, *head)].into_iter());
        !undelivered.answered(&[(1, *at)].into(), |_| true).is_empty()
    });
    found.collect()
}

#[test]
fn who_stays_behind_what_it_was_told_before_is_dead() {
    assert_eq!(dead(&[(5, 5), (9, 5), (9, 5)]), [false, false, true]);
    // It moves, though it is never there: slow, not dead.
    assert_eq!(dead(&[(5, 1), (9, 3), (12, 8), (12, 9)]), [false; 4]);
    // What was appended just now may be on its way.
    assert_eq!(dead(&[(5, 5), (9, 5), (9, 9), (10, 9), (10, 10)]), [false; 5]);
    // After it was told again it gets the same time.
    assert_eq!(dead(&[(9, 5), (9, 5), (9, 5), (9, 5)]), [false, true, false, true]);
}
