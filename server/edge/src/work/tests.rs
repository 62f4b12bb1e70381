//! Tests of turns.

use futures_util::{FutureExt as _, StreamExt as _};

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
    let open = |guest| std::iter::from_fn(|| work.open(guest).ok()).collect::<Vec<_>>();
    let (streams, transfers) = (open(OpenKind::Stream), open(OpenKind::Transfer));
    assert_eq!((streams.len(), transfers.len()), (STREAMS_OPEN_MAX, TRANSFERS_OPEN_MAX));
    assert_eq!(open(OpenKind::Request).len(), REQUESTS_WAITING_MAX);
    drop(streams);
    assert!(work.open(OpenKind::Stream).is_ok());
    assert_eq!(work.open(OpenKind::Transfer).err(), Some(OpenRefusal::All));
}

/// Does `work` for the principal `name`.
async fn of<T>(name: &str, work: impl Future<Output = T>) -> T {
    callers::on_behalf(Some(name.into()), work).await
}

#[tokio::test]
async fn i7_a_principal_has_a_share_of_the_places_and_others_have_the_rest() {
    for (guest, share) in [
        (OpenKind::Request, REQUESTS_WAITING_PER_PRINCIPAL_MAX),
        (OpenKind::Transfer, TRANSFERS_OPEN_PER_PRINCIPAL_MAX),
        (OpenKind::Stream, STREAMS_OPEN_PER_PRINCIPAL_MAX),
    ] {
        let work = Work::default();
        let open = async || work.open(guest);
        let mut greedy = Vec::new();
        while let Ok(place) = of("greedy", open()).await {
            greedy.push(place);
        }
        assert_eq!(greedy.len(), share as usize, "{guest:?}");
        assert_eq!(of("greedy", open()).await.err(), Some(OpenRefusal::Share));
        let other = of("other", open()).await;
        assert!(other.is_ok(), "{guest:?}");
        // A place that is given back may be taken again; what nobody does has no share.
        greedy.pop();
        assert!(of("greedy", open()).await.is_ok());
        assert!(work.open(guest).is_ok());
    }
}

#[tokio::test]
async fn i8_turns_go_round_the_principals_that_wait() {
    for task in [Task::Search, Task::Large, Task::Piece, Task::Small] {
        let work = Work::default();
        let mut held = of("greedy", async { all_turns(&work, task) }).await;
        // Alone it has all of them. Ten more of its requests wait, then one of somebody else.
        let turn = |name: &'static str| {
            let work = &work;
            async move { (name, of(name, work.turn(task)).await) }
        };
        let mut waiting: futures_util::stream::FuturesUnordered<_> =
            (0..10).map(|_| turn("greedy")).collect();
        assert!(waiting.next().now_or_never().is_none());
        waiting.push(turn("other"));
        assert!(waiting.next().now_or_never().is_none());
        let mut served = Vec::new();
        while let Some(place) = held.pop() {
            drop(place);
            let (name, turn) = waiting.next().await.unwrap();
            served.push(name);
            if served.len() == 2 {
                drop(turn);
                break;
            }
            held.push(turn);
        }
        assert!(served.contains(&"other"), "{task:?}: {served:?}");
        drop((held, waiting));
        assert_eq!(work.callers.count(), 0, "nobody waits any more");
    }
}
