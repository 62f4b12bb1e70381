//! Cases of reopened logs: what they have, and in which epoch conversations continue (invariants I9, I10).

use model::event::{Kind, Message};
use model::limits::PUBLISHERS_PER_CONVERSATION_MAX;
use model::{Epoch, Event, MessageId, Position, RunId, testkit};

use super::material::{
    BEGIN, append, append_with, at, checkpoint, events, everything, id, items, mark, names, query, read,
    settle, stored,
};
use super::{LogUnderTest, cases};
use crate::{Append, Attachment, EndedToolCall, PublisherMark, SearchDocumentKind, StoredConversation};

cases! {
    Lasting:
        a_state_is_folded_from_the_events,
        an_unknown_conversation_is_not_loaded,
        a_kept_state_and_the_events_after_it_make_one,
        an_older_state_does_not_replace_a_newer,
        a_state_alone_is_a_conversation,
        loading_twice_gives_the_same,
        a_large_state_is_loaded,
        i10_marks_are_kept_the_silent_ones_first,
        i10_a_mark_without_events_is_kept,
        i10_a_publisher_with_any_name_and_numbers_is_kept,
        i10_the_marks_of_a_state_count_where_it_heals,
        i10_only_so_many_marks_are_kept,
        i9_after_a_close_the_epoch_goes_on,
        i9_after_a_crash_history_goes_on_in_a_new_epoch,
        i9_the_new_epoch_is_given_once,
        i9_the_new_epoch_goes_on_after_a_close,
        i9_a_crash_counts_for_what_was_not_written_in_that_life_too,
        i9_what_was_stored_is_there_after_a_crash,
        what_waited_is_written_when_the_log_is_closed,
        a_restart_keeps_everything,
        what_was_removed_stays_away,
        an_append_after_a_restart_needs_no_load;
}

fn load(trial: &LogUnderTest<'_>, name: &str) -> StoredConversation {
    trial.log().load(&id(name)).expect("readable").expect("it is there")
}

fn a_state_is_folded_from_the_events(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    let stored = load(trial, "c");
    assert_eq!((stored.position, stored.at), (at(10), BEGIN + 10));
    assert_eq!(stored.view, testkit::folded(&events(1, 10)));
}

fn an_unknown_conversation_is_not_loaded(trial: &mut LogUnderTest<'_>) {
    assert!(trial.log().load(&id("c")).expect("readable").is_none());
}

fn a_kept_state_and_the_events_after_it_make_one(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    trial.log().keep(checkpoint("c", &events(1, 10), 3));
    append(trial.log(), "c", 10, &events(11, 14));
    settle(trial.log());
    assert_eq!(load(trial, "c").view, testkit::folded(&events(1, 14)));
    trial.restart();
    assert_eq!(load(trial, "c").view, testkit::folded(&events(1, 14)));
}

fn an_older_state_does_not_replace_a_newer(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    trial.log().keep(checkpoint("c", &events(1, 10), 0));
    trial.log().keep(checkpoint("c", &events(1, 4), 0));
    settle(trial.log());
    trial.restart();
    let stored = load(trial, "c");
    assert_eq!((stored.position, stored.view), (at(10), testkit::folded(&events(1, 10))));
}

fn a_state_alone_is_a_conversation(trial: &mut LogUnderTest<'_>) {
    trial.log().keep(checkpoint("c", &events(1, 10), 2));
    settle(trial.log());
    trial.restart();
    let stored = load(trial, "c");
    assert_eq!((stored.position, stored.view), (at(10), testkit::folded(&events(1, 10))));
    assert_eq!(read(trial.log(), "c", 8), events(9, 10));
    assert_eq!(trial.log().count(), 1);
}

fn loading_twice_gives_the_same(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    let (first, second) = (load(trial, "c"), load(trial, "c"));
    assert_eq!((first.position, first.view), (second.position, second.view));
}

fn a_large_state_is_loaded(trial: &mut LogUnderTest<'_>) {
    let message = |n: u32| Message {
        message: MessageId::new(&format!("m{n}")),
        role: "user".into(),
        text: format!("{n} {}", "word \u{1f600} \"quoted\" \n".repeat(20_000)).as_str().into(),
        files: Vec::new(),
    };
    let facts = (0..6).map(|n| Event::new(&RunId::none(), Kind::Message(message(n)))).collect();
    let history = testkit::logged(facts);
    append(trial.log(), "c", 0, &history);
    trial.log().keep(checkpoint("c", &history, 0));
    settle(trial.log());
    trial.restart();
    assert_eq!(load(trial, "c").view, testkit::folded(&history));
}

fn i10_marks_are_kept_the_silent_ones_first(trial: &mut LogUnderTest<'_>) {
    let said = [mark("a", 1, 1), mark("b", 1, 9), mark("c", 1, 1), mark("a", 1, 2)];
    for (head, mark) in (0..).zip(said) {
        append_with(trial.log(), "c", head, &events(head + 1, head + 1), |append| append.mark = Some(mark));
    }
    settle(trial.log());
    trial.crash();
    assert_eq!(load(trial, "c").marks, [mark("b", 1, 9), mark("c", 1, 1), mark("a", 1, 2)]);
    // In a later life too.
    let position = load(trial, "c").position;
    let id = id("c");
    let said = Append { mark: Some(mark("b", 1, 10)), ..Append::of(&id, &position, &[]) };
    stored(trial.log(), trial.log().append(said).expect("it continues"));
    assert_eq!(load(trial, "c").marks, [mark("c", 1, 1), mark("a", 1, 2), mark("b", 1, 10)]);
}

fn i10_a_mark_without_events_is_kept(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 1));
    append_with(trial.log(), "c", 1, &[], |append| append.mark = Some(mark("p", 3, 4)));
    settle(trial.log());
    trial.restart();
    assert_eq!(load(trial, "c").marks, [mark("p", 3, 4)]);
}

fn i10_a_publisher_with_any_name_and_numbers_is_kept(trial: &mut LogUnderTest<'_>) {
    let long = "x".repeat(200);
    let marks: Vec<PublisherMark> = [
        ("", 0, 0),
        ("\0", u64::MAX, u64::MAX),
        ("a\u{1}b\0", 1, u64::MAX),
        ("漢字", u64::MAX, 0),
        (long.as_str(), 1, 1),
    ]
    .map(|(name, epoch, seq)| mark(name, epoch, seq))
    .into();
    for (head, mark) in (0..).zip(&marks) {
        append_with(trial.log(), "c", head, &events(head + 1, head + 1), |append| {
            append.mark = Some(mark.clone());
        });
    }
    settle(trial.log());
    assert_eq!(load(trial, "c").marks, marks);
}

fn i10_the_marks_of_a_state_count_where_it_heals(trial: &mut LogUnderTest<'_>) {
    append_with(trial.log(), "c", 0, &events(1, 1), |append| append.mark = Some(mark("old", 1, 1)));
    let mut newer = checkpoint("c", &events(1, 5), 4);
    newer.marks = vec![mark("b", 1, 7), mark("a", 2, 3)];
    trial.log().keep(newer.clone());
    settle(trial.log());
    assert_eq!(load(trial, "c").marks, newer.marks);
    // If a state heals nothing, the log's own marks are newer.
    let mut same = checkpoint("c", &events(1, 5), 0);
    same.marks = vec![mark("z", 1, 1)];
    trial.log().keep(same);
    settle(trial.log());
    assert_eq!(load(trial, "c").marks, newer.marks);
}

fn i10_only_so_many_marks_are_kept(trial: &mut LogUnderTest<'_>) {
    let most = PUBLISHERS_PER_CONVERSATION_MAX as u64;
    for n in 0..most + 5 {
        append_with(trial.log(), "c", n, &events(n + 1, n + 1), |append| {
            append.mark = Some(mark(&format!("p{n}"), 1, n));
        });
    }
    settle(trial.log());
    trial.log().keep(checkpoint("c", &events(1, most + 5), 0));
    settle(trial.log());
    let marks = load(trial, "c").marks;
    assert_eq!(marks.len() as u64, most);
    assert_eq!(
        (marks.first(), marks.last()),
        (Some(&mark("p5", 1, 5)), Some(&mark(&format!("p{}", most + 4), 1, most + 4)))
    );
}

fn i9_after_a_close_the_epoch_goes_on(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    trial.restart();
    assert_eq!(load(trial, "c").position, at(10));
}

fn i9_after_a_crash_history_goes_on_in_a_new_epoch(trial: &mut LogUnderTest<'_>) {
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 10)));
    trial.crash();
    let found = load(trial, "c").position;
    assert_eq!(found.seq, 10);
    assert_ne!(found.epoch, Epoch::new("e1"));
}

fn i9_the_new_epoch_is_given_once(trial: &mut LogUnderTest<'_>) {
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 10)));
    trial.crash();
    assert_eq!(load(trial, "c").position, load(trial, "c").position);
}

fn i9_the_new_epoch_goes_on_after_a_close(trial: &mut LogUnderTest<'_>) {
    stored(trial.log(), append(trial.log(), "c", 0, &events(1, 10)));
    trial.crash();
    let found = load(trial, "c").position;
    trial.log().append(Append::of(&id("c"), &found, &events(11, 12))).expect("it continues");
    trial.restart();
    assert_eq!(load(trial, "c").position, Position { epoch: found.epoch, seq: 12 });
    assert_eq!(read(trial.log(), "c", 0), events(1, 12));
}

fn i9_a_crash_counts_for_what_was_not_written_in_that_life_too(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 10));
    trial.restart();
    trial.crash();
    trial.restart();
    assert_ne!(load(trial, "c").position.epoch, Epoch::new("e1"));
}

fn i9_what_was_stored_is_there_after_a_crash(trial: &mut LogUnderTest<'_>) {
    for seq in 0..30 {
        append(trial.log(), "c", seq, &events(seq + 1, seq + 1));
    }
    let ticket = append(trial.log(), "c", 30, &events(31, 31));
    stored(trial.log(), ticket);
    append(trial.log(), "c", 31, &events(32, 40));
    trial.crash();
    let head = load(trial, "c").position.seq;
    assert!((31..=40).contains(&head), "{head}");
    assert_eq!(read(trial.log(), "c", 0), events(1, head));
}

fn what_waited_is_written_when_the_log_is_closed(trial: &mut LogUnderTest<'_>) {
    for seq in 0..1_000 {
        append(trial.log(), "c", seq, &events(seq + 1, seq + 1));
    }
    trial.restart();
    assert_eq!(read(trial.log(), "c", 0), events(1, 1_000));
    assert_eq!(load(trial, "c").position, at(1_000));
}

fn a_restart_keeps_everything(trial: &mut LogUnderTest<'_>) {
    append_with(trial.log(), "c", 0, &events(1, 3), |append| {
        append.documents =
            vec![super::material::document(SearchDocumentKind::Text, "p1", 1, "needle in the hay")];
        append.calls = vec![EndedToolCall { name: "run_sql".into(), failed: true, latency_ms: Some(7) }];
        append.attachments = vec![Attachment { hash: "00ff".into(), json: "[1]".into() }];
    });
    let mut row = super::material::row("c", &testkit::folded(&events(1, 3)), 1);
    row.title = Some(String::from("Quarterly report"));
    trial.log().put_rows(vec![row]);
    trial.restart();
    assert_eq!(names(trial.log(), &everything()), ["c"]);
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.first().and_then(|row| row.title.as_deref()), Some("Quarterly report"));
    assert_eq!(items(trial.log(), &query("needle")), ["p1"]);
    let tools = trial.log().tools().expect("figures");
    assert_eq!(tools.first().map(|tool| (tool.calls, tool.failed)), Some((1, 1)));
    assert_eq!(trial.log().attachment(&id("c"), "00ff").expect("readable").as_deref(), Some("[1]"));
    assert_eq!(trial.log().count(), 1);
}

fn what_was_removed_stays_away(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    append(trial.log(), "d", 0, &events(1, 3));
    stored(trial.log(), trial.log().remove(&id("c")));
    trial.crash();
    assert!(trial.log().load(&id("c")).expect("readable").is_none());
    assert_eq!((trial.log().count(), names(trial.log(), &everything())), (1, vec![String::from("d")]));
}

fn an_append_after_a_restart_needs_no_load(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    trial.restart();
    assert_eq!(trial.log().continues(&id("c"), 3), Ok(()));
    stored(trial.log(), append(trial.log(), "c", 3, &events(4, 5)));
    assert_eq!(read(trial.log(), "c", 0), events(1, 5));
}
