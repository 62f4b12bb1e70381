//! Cases of promises: what a log offers, and how it reports that (invariant I9).

use model::frame::Durability;

use super::material::{append, append_with, events, id, read, settle, stored, wait};
use super::{LogUnderTest, cases};
use crate::{Health, LogError, Ticket, room, settled};

cases! {
    Passing:
        nothing_waits_for_memory,
        a_new_log_is_well_and_has_room,
        what_the_log_offers_it_reaches,
        events_of_every_level_are_taken;
    Lasting:
        stored_is_at_least_offered,
        a_ticket_that_was_never_given_is_never_reached,
        indexed_and_synced_are_never_ahead_of_stored,
        sync_reaches_all_that_came_before,
        an_append_that_asks_for_more_is_kept_better,
        commits_are_counted,
        what_is_stored_is_where_searches_look_once_it_is_indexed;
}

fn nothing_waits_for_memory(trial: &mut LogUnderTest<'_>) {
    let ticket = append(trial.log(), "c", 0, &events(1, 1));
    assert_eq!(wait(trial.log(), ticket, Durability::Memory), Ok(()));
    assert_eq!(wait(trial.log(), Ticket::NEVER, Durability::Memory), Ok(()));
}

fn a_new_log_is_well_and_has_room(trial: &mut LogUnderTest<'_>) {
    let progress = trial.log().progress().borrow().clone();
    assert_eq!((progress.health, progress.full), (Health::Well, false));
    assert!(trial.log().awaiting_checkpoint().is_empty());
    assert_eq!(trial.log().missing(), None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(room(trial.log()));
}

fn what_the_log_offers_it_reaches(trial: &mut LogUnderTest<'_>) {
    let level = trial.log().durability();
    let ticket = append_with(trial.log(), "c", 0, &events(1, 1), |append| append.level = level);
    assert_eq!(wait(trial.log(), ticket, level), Ok(()));
}

fn events_of_every_level_are_taken(trial: &mut LogUnderTest<'_>) {
    for (seq, level) in (0..).zip([Durability::Memory, Durability::Stored, Durability::Synced]) {
        append_with(trial.log(), "c", seq, &events(seq + 1, seq + 1), |append| append.level = level);
    }
    assert_eq!(read(trial.log(), "c", 0), events(1, 3));
}

fn stored_is_at_least_offered(trial: &mut LogUnderTest<'_>) {
    assert!(trial.log().durability() >= Durability::Stored);
    assert!(trial.log().indexes());
}

fn a_ticket_that_was_never_given_is_never_reached(trial: &mut LogUnderTest<'_>) {
    let never = wait(trial.log(), Ticket::NEVER, Durability::Stored);
    assert!(matches!(never, Err(LogError::Failing(_))), "{never:?}");
    settle(trial.log());
    let progress = trial.log().progress().borrow().clone();
    assert!(!progress.has(Ticket::NEVER) && !progress.has_indexed(Ticket::NEVER));
}

fn indexed_and_synced_are_never_ahead_of_stored(trial: &mut LogUnderTest<'_>) {
    for seq in 0..50 {
        let level = if seq % 7 == 0 { Durability::Synced } else { Durability::Stored };
        let level = level.min(trial.log().durability());
        let ticket =
            append_with(trial.log(), "c", seq, &events(seq + 1, seq + 1), |append| append.level = level);
        wait(trial.log(), ticket, level).expect("the log writes");
        let progress = trial.log().progress().borrow().clone();
        assert!(
            progress.has(ticket) && progress.indexed <= progress.stored && progress.synced <= progress.stored
        );
    }
}

fn sync_reaches_all_that_came_before(trial: &mut LogUnderTest<'_>) {
    let level = trial.log().durability();
    let first = append(trial.log(), "c", 0, &events(1, 1));
    let second = append(trial.log(), "d", 0, &events(1, 1));
    let sync = trial.log().sync();
    wait(trial.log(), sync, level).expect("the log writes");
    for ticket in [first, second, sync] {
        assert_eq!(settled(&trial.log().progress().borrow(), ticket, level), Some(Ok(())));
    }
}

fn an_append_that_asks_for_more_is_kept_better(trial: &mut LogUnderTest<'_>) {
    let level = trial.log().durability();
    let before = append(trial.log(), "c", 0, &events(1, 1));
    let ticket = append_with(trial.log(), "c", 1, &events(2, 2), |append| append.level = level);
    wait(trial.log(), ticket, level).expect("the log writes");
    assert_eq!(settled(&trial.log().progress().borrow(), before, level), Some(Ok(())));
}

fn commits_are_counted(trial: &mut LogUnderTest<'_>) {
    let before = trial.log().figures();
    settle(trial.log());
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 1)));
    settle(trial.log());
    let after = trial.log().figures();
    assert!(after.commits > before.commits && after.commit_micros > before.commit_micros);
    assert_eq!((after.holed, after.left_out, after.set_aside), (0, 0, 0));
}

fn what_is_stored_is_where_searches_look_once_it_is_indexed(trial: &mut LogUnderTest<'_>) {
    let ticket = append(trial.log(), "c", 0, &events(1, 1));
    // Reading makes it so.
    trial.log().load(&id("c")).expect("readable");
    assert!(trial.log().progress().borrow().has_indexed(ticket));
}
