//! A followed conversation beside the events that another hub has.

use model::lens::{Lens, Level};
use model::{Position, snapshot, testkit};
use proptest::prelude::*;

use super::*;
use crate::hub::frame_cache::SnapshotNeed;
use crate::hub::{Cursor, Publication};

fn followed() -> Conversation {
    Conversation::followed("c".parse().unwrap(), Epoch::new("e"), View::default())
}

fn between(history: &[Arc<Envelope>], from: usize, to: usize) -> Vec<Envelope> {
    history[from..to].iter().map(|envelope| Envelope::clone(envelope)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the events come in pieces, again, or with a state in between: the view is that of the hub that has it, and whoever reads
    /// here gets each event.
    #[test]
    fn i2_i4_what_is_followed_is_what_the_other_hub_has(
        history in testkit::history(1..60),
        cuts in proptest::collection::vec(1..12_usize, 1..20),
        skip_at in 0..20_usize,
    ) {
        let conversation = followed();
        let (mut at, mut reader) = (0, Some(Cursor::default()));
        for (round, len) in cuts.iter().cycle().take(60).enumerate() {
            let to = (at + len).min(history.len());
            if round == skip_at {
                let mut view = testkit::folded(&history[..to]);
                view.seq = to as Seq;
                conversation.skip_to(view);
                reader = None;
            } else {
                // One more than is new: what is there already is left out.
                let from = at.saturating_sub(1);
                let seqs = (from as Seq + 1, to as Seq);
                conversation.take_followed(seqs, between(&history, from, to)).unwrap();
            }
            at = to;
            if let Some(cursor) = reader {
                let slice = conversation.next(cursor, 1 << 30).unwrap();
                let seqs: Vec<Seq> = slice.events.iter().map(|envelope| envelope.seq).collect();
                prop_assert_eq!(seqs, (cursor.seq + 1..=at as Seq).collect::<Vec<_>>());
                reader = Some(slice.cursor);
            }
        }
        let mut whole = testkit::folded(&history);
        whole.seq = history.len() as Seq;
        prop_assert_eq!(snapshot::encode(&conversation.view()), snapshot::encode(&whole));
    }
}

#[test]
fn i2_events_that_do_not_follow_are_refused_and_named() {
    let history = testkit::logged(testkit::events(
        r#"{"k":"run.start","run":"r"}
{"k":"status","text":"one","run":"r"}
{"k":"status","text":"two","run":"r"}"#,
    ));
    let conversation = followed();
    conversation.take_followed((1, 1), between(&history, 0, 1)).unwrap();
    let refused = conversation.take_followed((3, 3), between(&history, 2, 3));
    assert_eq!(refused, Err(Discontinuity { expected: 1, from: 3 }));
    let refused = conversation.take_followed((2, 3), between(&history, 1, 2));
    assert_eq!(refused, Err(Discontinuity { expected: 2, from: 3 }), "the frame covers more than it brings");
    assert_eq!(conversation.head(), 2);
    let conversation = followed();
    let with_gap = [between(&history, 0, 1), between(&history, 2, 3)].concat();
    let refused = conversation.take_followed((1, 3), with_gap);
    assert_eq!(refused, Err(Discontinuity { expected: 1, from: 3 }), "one is missing within the frame");
    assert_eq!(conversation.head(), 1, "what fitted is there, and the head says so");
}

#[test]
fn what_is_followed_is_written_to_by_nobody_here_until_it_is_promoted() {
    let history = testkit::logged(testkit::events(
        r#"{"k":"run.start","run":"r"}
{"k":"status","text":"one","run":"r"}"#,
    ));
    let (conversation, log) = (followed(), event_log::MemoryLog::default());
    conversation.take_followed((1, 1), between(&history, 0, 1)).unwrap();
    let publish = || {
        let envelope = Envelope::received(r#"{"k":"status","text":"x","run":"r"}"#).unwrap();
        conversation.append(&mut Publication::of(vec![envelope]), 1, &log, None)
    };
    assert_eq!(publish(), Err(crate::hub::AppendError::Elsewhere));
    assert!(
        !conversation.promote(3, between(&history, 1, 2), Vec::new()),
        "the log has more than what is read"
    );
    assert!(conversation.is_followed());
    assert!(conversation.promote(2, Vec::new(), Vec::new()));
    assert!(!conversation.is_followed() && !conversation.is_over());
    assert!(matches!(
        conversation.take_followed((3, 3), Vec::new()),
        Err(Discontinuity { expected: 2, from: 3 })
    ));
}

#[test]
fn what_was_claimed_waits_for_no_transaction_of_the_time_before() {
    let history = testkit::logged(testkit::events(r#"{"k":"run.start","run":"r"}"#));
    let conversation = followed();
    conversation.take_followed((1, 1), between(&history, 0, 1)).unwrap();
    // That of giving it up, which the database set aside.
    conversation.state.lock().ticket = Ticket(7);
    assert!(conversation.promote(1, Vec::new(), Vec::new()));
    assert_eq!(conversation.ticket(), Ticket::default(), "what is said again is acked by this ticket");
}

/// A history and the state after `at` of its events.
fn history_and_state(at: usize) -> (Vec<Arc<Envelope>>, View) {
    let history = testkit::logged(testkit::events(
        r#"{"k":"run.start","run":"r"}
{"k":"part.start","run":"r","part":"p","kind":"text"}
{"k":"part.delta","run":"r","part":"p","text":"one "}
{"k":"part.delta","run":"r","part":"p","text":"two "}
{"k":"status","text":"three","run":"r"}"#,
    ));
    let mut view = testkit::folded(&history[..at]);
    view.seq = at as Seq;
    (history, view)
}

fn position(epoch: &str, seq: Seq) -> Position {
    Position { epoch: Epoch::new(epoch), seq }
}

fn seqs_after(conversation: &Conversation, seq: Seq) -> Option<Vec<Seq>> {
    let slice = conversation.next(Cursor { seq, tick: 0 }, 1 << 20)?;
    Some(slice.events.iter().map(|envelope| envelope.seq).collect())
}

#[test]
fn a_viewer_that_comes_back_goes_on_with_earlier_events_once_they_are_there() {
    let (history, view) = history_and_state(4);
    let conversation = Conversation::followed("c".parse().unwrap(), Epoch::new("e"), view);
    assert!(conversation.lacks(&position("e", 1)));
    assert!(!conversation.lacks(&position("e", 4)), "it has everything");
    assert!(!conversation.lacks(&position("other", 1)), "it gets the state");
    assert_eq!(seqs_after(&conversation, 1), None);
    assert!(conversation.take_earlier(&Epoch::new("e"), between(&history, 1, 4)) > 0);
    assert!(!conversation.lacks(&position("e", 1)) && conversation.lacks(&position("e", 0)));
    assert_eq!(seqs_after(&conversation, 1), Some(vec![2, 3, 4]));
    conversation.take_followed((5, 5), between(&history, 4, 5)).unwrap();
    assert_eq!(seqs_after(&conversation, 1), Some(vec![2, 3, 4, 5]));
    let mut whole = testkit::folded(&history);
    whole.seq = 5;
    assert_eq!(snapshot::encode(&conversation.view()), snapshot::encode(&whole), "nothing is folded twice");
}

#[test]
fn earlier_events_that_do_not_fit_change_nothing() {
    let (history, view) = history_and_state(4);
    let conversation = Conversation::followed("c".parse().unwrap(), Epoch::new("e"), view);
    let with_gap = [between(&history, 0, 1), between(&history, 2, 4)].concat();
    for (epoch, events) in [
        ("other", between(&history, 1, 4)),
        ("e", between(&history, 1, 3)),
        ("e", between(&history, 1, 5)),
        ("e", with_gap),
        ("e", Vec::new()),
    ] {
        assert_eq!(conversation.take_earlier(&Epoch::new(epoch), events), 0, "{epoch}");
        assert_eq!(seqs_after(&conversation, 1), None);
    }
    assert!(conversation.promote(4, Vec::new(), Vec::new()));
    assert_eq!(conversation.take_earlier(&Epoch::new("e"), between(&history, 1, 4)), 0, "it is this hub's");
}

#[test]
fn whoever_does_not_see_everything_gets_the_state_in_the_place_of_earlier_events() {
    let (history, view) = history_and_state(4);
    let conversation = Conversation::followed("c".parse().unwrap(), Epoch::new("e"), view);
    conversation.take_earlier(&Epoch::new("e"), between(&history, 1, 4));
    let need = |level: Level, seq: Seq| {
        let lens = Lens { level, ..Lens::default() };
        let frame_cache = conversation.frame_caches.of(&lens, None);
        let slice = conversation.next(Cursor { seq, tick: 0 }, 1 << 20).unwrap();
        (frame_cache.snapshot_need(&conversation, seq), frame_cache.visible(&conversation, slice).is_some())
    };
    assert_eq!(need(Level::default(), 1), (SnapshotNeed::No, true));
    assert_eq!(need(Level::Critical, 1), (SnapshotNeed::OutOfReach, false));
    assert_eq!(need(Level::Critical, 4), (SnapshotNeed::No, true));
}
