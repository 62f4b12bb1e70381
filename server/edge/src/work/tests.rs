//! Tests of turns.

use futures_util::FutureExt as _;

use super::*;

/// As many turns at `task` as are given at once.
fn all_turns(work: &Work, task: Task) -> Vec<Turn> {
    std::iter::from_fn(|| work.turn(task).now_or_never()).collect()
}

#[test]
fn i8_heavy_work_of_all_kinds_leaves_turns_for_small_work() {
    let work = Work::default();
    let heavy: Vec<Vec<Turn>> =
        [Task::Search, Task::Large, Task::Piece].map(|task| all_turns(&work, task)).into();
    let counts: Vec<usize> = heavy.iter().map(Vec::len).collect();
    assert_eq!(counts, [SEARCHES_AT_ONCE_MAX, LARGE_ANSWERS_AT_ONCE_MAX, PIECES_AT_ONCE_MAX]);
    let small = all_turns(&work, Task::Small);
    assert_eq!(small.len(), WORK_AT_ONCE_MAX - counts.iter().sum::<usize>());
    assert!(small.len() >= WORK_AT_ONCE_MAX / 2);
    // All turns are taken. One that is given back goes to whoever waits.
    drop(heavy);
    assert_eq!(all_turns(&work, Task::Large).len(), LARGE_ANSWERS_AT_ONCE_MAX);
}

#[test]
fn i7_all_work_together_has_one_bound() {
    let work = Work::default();
    let small = all_turns(&work, Task::Small);
    assert_eq!(small.len(), WORK_AT_ONCE_MAX);
    for task in [Task::Search, Task::Large, Task::Piece, Task::Small] {
        assert!(work.turn(task).now_or_never().is_none(), "{task:?}");
    }
    drop(small);
    assert_eq!(all_turns(&work, Task::Small).len(), WORK_AT_ONCE_MAX);
}

#[test]
fn i7_so_many_are_open_and_none_takes_the_place_of_another_kind() {
    let work = Work::default();
    let open = |guest| std::iter::from_fn(|| work.open(guest)).collect::<Vec<_>>();
    let (streams, transfers) = (open(OpenKind::Stream), open(OpenKind::Transfer));
    assert_eq!((streams.len(), transfers.len()), (STREAMS_OPEN_MAX, TRANSFERS_OPEN_MAX));
    assert_eq!(open(OpenKind::Request).len(), REQUESTS_WAITING_MAX);
    drop(streams);
    assert!(work.open(OpenKind::Stream).is_some() && work.open(OpenKind::Transfer).is_none());
}
