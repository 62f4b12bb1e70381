//! Cases of events that the queue did not take: the hub does not wait, and a state fills the hole.

use std::sync::Arc;

use model::limits::LOG_QUEUE_BYTES_MAX;
use model::{Envelope, Epoch, testkit};

use super::material::{append, at, checkpoint, events, id, read, settle, sized, status, stored, wait};
use super::{LogUnderTest, cases};
use crate::{Append, LogError, Ticket};

cases! {
    Lasting:
        i7_what_does_not_fit_leaves_a_hole_and_nothing_more_is_taken,
        a_hole_is_named_once,
        a_conversation_with_a_hole_takes_what_comes,
        a_state_fills_the_hole,
        inside_a_hole_reading_says_where_it_ends,
        i9_a_conversation_that_is_loaded_with_a_hole_goes_on_in_a_new_epoch,
        a_hole_goes_with_its_conversation,
        without_a_hole_there_is_no_gap;
}

/// Appends ten events of "c", and one that does not fit into the queue.
fn holed(trial: &LogUnderTest<'_>) {
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 10)));
    let huge = sized(11, 11, LOG_QUEUE_BYTES_MAX + 1);
    assert_eq!(append(trial.log(), "c", 10, &huge), Ticket::NEVER);
}

/// The history of "c" up to `to`, with the event that was not taken.
fn history(to: u64) -> Vec<Arc<Envelope>> {
    let mut history = events(1, 10);
    history.push(status(11, String::from("the one that was not taken")));
    history.extend(events(12, to));
    history
}

fn i7_what_does_not_fit_leaves_a_hole_and_nothing_more_is_taken(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    assert_eq!(append(trial.log(), "c", 11, &events(12, 20)), Ticket::NEVER);
    assert_eq!((trial.log().figures().holed, trial.log().figures().left_out), (1, 2));
    assert_eq!(read(trial.log(), "c", 0), events(1, 10));
    // Other conversations are not affected.
    stored(trial.log(), append(trial.log(), "d", 0, &events(1, 1)));
}

fn a_hole_is_named_once(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    assert_eq!(trial.log().awaiting_checkpoint(), [id("c")]);
    assert!(trial.log().awaiting_checkpoint().is_empty());
}

fn a_conversation_with_a_hole_takes_what_comes(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    for after in [10, 11, 57] {
        assert_eq!(trial.log().continues(&id("c"), after), Ok(()));
    }
}

fn a_state_fills_the_hole(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    stored(trial.log(), trial.log().keep(checkpoint("c", &history(20), 5)));
    assert_eq!((trial.log().figures().holed, trial.log().figures().left_out), (0, 0));
    stored(trial.log(), append(trial.log(), "c", 20, &events(21, 22)));
    trial.restart();
    let found = trial.log().load(&id("c")).expect("readable").expect("it is there");
    assert_eq!((found.position, found.view), (at(22), testkit::folded(&history(22))));
}

fn inside_a_hole_reading_says_where_it_ends(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    stored(trial.log(), trial.log().keep(checkpoint("c", &history(20), 5)));
    assert_eq!(trial.log().gap(&id("c")), Ok(Some((11, 15))));
    assert_eq!(read(trial.log(), "c", 0), events(1, 10));
    for after in 10..15 {
        assert_eq!(trial.log().read(&id("c"), after, 100), Err(LogError::Gone { begins_after: 15 }));
    }
    assert_eq!(read(trial.log(), "c", 15), events(16, 20));
}

fn i9_a_conversation_that_is_loaded_with_a_hole_goes_on_in_a_new_epoch(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    let found = trial.log().load(&id("c")).expect("readable").expect("it is there");
    assert_eq!(found.position.seq, 10);
    assert_ne!(found.position.epoch, Epoch::new("e1"));
    let more =
        trial.log().append(Append::of(&id("c"), &found.position, &events(11, 12))).expect("it continues");
    stored(trial.log(), more);
    assert_eq!(read(trial.log(), "c", 0), events(1, 12));
}

fn a_hole_goes_with_its_conversation(trial: &mut LogUnderTest<'_>) {
    holed(trial);
    stored(trial.log(), trial.log().remove(&id("c")));
    assert!(trial.log().awaiting_checkpoint().is_empty());
    assert_eq!(trial.log().figures().holed, 0);
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 2)));
    assert_eq!(read(trial.log(), "c", 0), events(1, 2));
}

fn without_a_hole_there_is_no_gap(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    settle(trial.log());
    assert_eq!(trial.log().gap(&id("c")), Ok(None));
    assert_eq!(trial.log().gap(&id("d")), Err(LogError::Unknown));
    assert_eq!(wait(trial.log(), trial.log().sync(), trial.log().durability()), Ok(()));
}
