//! Tests of the counting.

use super::*;

#[test]
fn every_viewer_is_counted_once_until_it_is_gone() {
    let ladder = Ladder::default();
    let (one, other) = (ladder.enter(), ladder.enter());
    ladder.step(&one, Rung::Merged);
    ladder.step(&one, Rung::Merged);
    assert_eq!(ladder.viewers(), RungCounts { immediate: 1, merged: 1, snapshot: 0 });
    ladder.step(&one, Rung::Snapshot);
    ladder.step(&other, Rung::Immediate);
    assert_eq!(ladder.viewers(), RungCounts { immediate: 1, merged: 0, snapshot: 1 });
    for standing in [&one, &other, &one] {
        ladder.leave(standing);
    }
    ladder.step(&one, Rung::Merged);
    assert_eq!(ladder.viewers(), RungCounts::default());
}
