//! Cases of appends, conflicts and pages.

use std::sync::Arc;

use model::event::{Kind, RunStart};
use model::limits::CONVERSATION_ID_BYTES_MAX;
use model::{Envelope, Epoch, Event, Position, RunId, testkit};

use super::material::{
    append, append_with, at, checkpoint, events, id, mark, read, settle, sized, status, try_append,
};
use super::{LogUnderTest, cases};
use crate::{Append, EventPage, LogError, Ticket};

cases! {
    Passing:
        appended_events_are_read_back_whole,
        many_small_appends_read_as_one_history,
        a_page_begins_after_any_seq,
        a_page_has_at_most_its_limit,
        a_page_after_the_head_is_empty,
        a_page_of_no_events_is_empty,
        an_unknown_conversation_cannot_be_read,
        an_append_behind_the_head_is_a_conflict,
        an_append_ahead_of_the_head_is_a_conflict,
        a_conflict_changes_nothing,
        whether_an_append_continues_is_said_before,
        a_new_conversation_takes_what_comes,
        conversations_do_not_mix,
        names_that_look_alike_are_different,
        the_longest_name_is_a_name,
        an_append_of_no_events_moves_nothing,
        a_state_makes_a_conversation_that_goes_on_behind_it,
        conversations_are_counted,
        an_event_keeps_all_that_is_said_of_it,
        any_text_comes_back_as_it_was,
        large_events_come_back_as_they_were,
        deltas_keep_their_numbers_times_and_cuts,
        a_new_epoch_goes_on_with_the_events_of_the_old;
    Lasting:
        tickets_rise,
        hundreds_of_conversations_in_one_go,
        a_page_is_bounded_in_bytes_and_goes_on;
}

fn appended_events_are_read_back_whole(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 100));
    assert_eq!(trial.log().read(&id("c"), 0, 1_000), Ok(EventPage { envelopes: events(1, 100), head: 100 }));
}

fn many_small_appends_read_as_one_history(trial: &mut LogUnderTest<'_>) {
    let history = events(1, 500);
    for piece in history.chunks(7) {
        let after = piece.first().map_or(0, |first| first.seq - 1);
        append(trial.log(), "c", after, piece);
    }
    assert_eq!(read(trial.log(), "c", 0), history);
}

fn a_page_begins_after_any_seq(trial: &mut LogUnderTest<'_>) {
    for seq in 0..60 {
        append(trial.log(), "c", seq, &events(seq + 1, seq + 1));
    }
    for after in [0, 1, 6, 7, 31, 58, 59] {
        assert_eq!(read(trial.log(), "c", after), events(after + 1, 60));
    }
}

fn a_page_has_at_most_its_limit(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 50));
    for limit in [1, 2, 49, 50, 51] {
        let page = trial.log().read(&id("c"), 10, limit).expect("a page");
        assert_eq!((page.envelopes, page.head), (events(11, (10 + limit as u64).min(50)), 50));
    }
}

fn a_page_after_the_head_is_empty(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 5));
    for after in [5, 6, 1_000] {
        assert_eq!(trial.log().read(&id("c"), after, 10), Ok(EventPage { envelopes: Vec::new(), head: 5 }));
    }
}

fn a_page_of_no_events_is_empty(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 5));
    assert_eq!(trial.log().read(&id("c"), 2, 0), Ok(EventPage { envelopes: Vec::new(), head: 5 }));
}

fn an_unknown_conversation_cannot_be_read(trial: &mut LogUnderTest<'_>) {
    assert_eq!(trial.log().read(&id("c"), 0, 10), Err(LogError::Unknown));
    append(trial.log(), "c", 0, &events(1, 5));
    assert_eq!(trial.log().read(&id("d"), 0, 10), Err(LogError::Unknown));
}

fn an_append_behind_the_head_is_a_conflict(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    assert_eq!(try_append(trial.log(), 2, &events(3, 4)), Err(LogError::Conflict { found: 3, expected: 2 }));
}

fn an_append_ahead_of_the_head_is_a_conflict(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    assert_eq!(try_append(trial.log(), 4, &events(5, 6)), Err(LogError::Conflict { found: 3, expected: 4 }));
}

fn a_conflict_changes_nothing(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    for after in [0, 1, 2, 4, 9] {
        try_append(trial.log(), after, &sized(after + 1, after + 2, 99)).expect_err("it does not continue");
    }
    append(trial.log(), "c", 3, &events(4, 5));
    assert_eq!(read(trial.log(), "c", 0), events(1, 5));
}

fn whether_an_append_continues_is_said_before(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    assert_eq!(trial.log().continues(&id("c"), 3), Ok(()));
    for expected in [0, 2, 4] {
        let refused = Err(LogError::Conflict { found: 3, expected });
        assert_eq!(trial.log().continues(&id("c"), expected), refused);
    }
}

fn a_new_conversation_takes_what_comes(trial: &mut LogUnderTest<'_>) {
    assert_eq!(trial.log().continues(&id("c"), 0), Ok(()));
    append(trial.log(), "c", 0, &events(1, 1));
    assert_eq!(trial.log().continues(&id("d"), 0), Ok(()));
}

fn conversations_do_not_mix(trial: &mut LogUnderTest<'_>) {
    for seq in 0..20 {
        append(trial.log(), "c", seq, &events(seq + 1, seq + 1));
        append(trial.log(), "d", seq, &sized(seq + 1, seq + 1, 7));
    }
    assert_eq!(read(trial.log(), "c", 0), events(1, 20));
    assert_eq!(read(trial.log(), "d", 0), sized(1, 20, 7));
}

fn names_that_look_alike_are_different(trial: &mut LogUnderTest<'_>) {
    let alike = ["a", "A", "a ", " a", "ä", "a\u{308}", "a%", "a_", "a'", "a\"", "ａ", "漢字"];
    for (bytes, name) in (1..).zip(alike) {
        append(trial.log(), name, 0, &sized(1, 1, bytes));
    }
    settle(trial.log());
    for (bytes, name) in (1..).zip(alike) {
        assert_eq!(read(trial.log(), name, 0), sized(1, 1, bytes), "{name:?}");
    }
    assert_eq!(trial.log().count(), alike.len() as u64);
}

fn the_longest_name_is_a_name(trial: &mut LogUnderTest<'_>) {
    let name = "n".repeat(CONVERSATION_ID_BYTES_MAX);
    append(trial.log(), &name, 0, &events(1, 2));
    assert_eq!(read(trial.log(), &name, 0), events(1, 2));
}

fn an_append_of_no_events_moves_nothing(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 2));
    append_with(trial.log(), "c", 2, &[], |append| append.mark = Some(mark("p", 1, 1)));
    assert_eq!(trial.log().continues(&id("c"), 2), Ok(()));
    append(trial.log(), "c", 2, &events(3, 3));
    assert_eq!(read(trial.log(), "c", 0), events(1, 3));
}

fn a_state_makes_a_conversation_that_goes_on_behind_it(trial: &mut LogUnderTest<'_>) {
    trial.log().keep(checkpoint("c", &events(1, 10), 0));
    append(trial.log(), "c", 10, &events(11, 12));
    assert_eq!(read(trial.log(), "c", 10), events(11, 12));
    assert_eq!(trial.log().read(&id("c"), 3, 9), Err(LogError::Gone { begins_after: 10 }));
}

fn conversations_are_counted(trial: &mut LogUnderTest<'_>) {
    assert_eq!(trial.log().count(), 0);
    for name in ["a", "b", "c", "a"] {
        let after = if trial.log().read(&id(name), 0, 1).is_ok() { 2 } else { 0 };
        append(trial.log(), name, after, &events(after + 1, after + 2));
    }
    settle(trial.log());
    assert_eq!(trial.log().count(), 3);
}

fn an_event_keeps_all_that_is_said_of_it(trial: &mut LogUnderTest<'_>) {
    let mut envelope = Envelope::clone(&status(1, String::from("x")));
    envelope.producer_at = Some(17);
    envelope.publisher = Some("someone".into());
    envelope.by_hub = true;
    envelope.event.agent = Some("agent".into());
    let history = [Arc::new(envelope)];
    append(trial.log(), "c", 0, &history);
    assert_eq!(read(trial.log(), "c", 0), history);
}

fn any_text_comes_back_as_it_was(trial: &mut LogUnderTest<'_>) {
    let texts = [
        "",
        "\0",
        "a\0b",
        "\u{1}",
        "\\",
        "\\0",
        "\n\r\t",
        "é 漢字 🙂",
        "\u{fdd0}",
        "\u{ffff}",
        "''\"\"",
        "{\"k\":1}",
        "[1,2]",
    ];
    let history: Vec<_> = (1..).zip(texts).map(|(seq, text)| status(seq, text.to_owned())).collect();
    append(trial.log(), "c", 0, &history);
    settle(trial.log());
    assert_eq!(read(trial.log(), "c", 0), history);
}

fn large_events_come_back_as_they_were(trial: &mut LogUnderTest<'_>) {
    let history = sized(1, 3, 900_000);
    append(trial.log(), "c", 0, &history);
    append(trial.log(), "c", 3, &sized(4, 4, 2_000_000));
    assert_eq!(read(trial.log(), "c", 3), sized(4, 4, 2_000_000));
    assert_eq!(trial.log().read(&id("c"), 0, 2).map(|page| page.envelopes), Ok(sized(1, 2, 900_000)));
}

fn deltas_keep_their_numbers_times_and_cuts(trial: &mut LogUnderTest<'_>) {
    let run = RunId::new("r1");
    let mut facts = vec![Event::new(&run, Kind::RunStart(RunStart::default()))];
    for number in 0..200 {
        let text = format!("word {number} ").into();
        facts.push(Event::new(&run, Kind::PartDelta { part: "p1".into(), off: None, text }));
    }
    let history = testkit::logged(facts);
    for piece in history.chunks(3) {
        let after = piece.first().map_or(0, |first| first.seq - 1);
        append(trial.log(), "c", after, piece);
    }
    settle(trial.log());
    assert_eq!(read(trial.log(), "c", 0), history);
    assert_eq!(
        trial.log().read(&id("c"), 100, 1).map(|page| page.envelopes).ok().as_deref(),
        history.get(100..101)
    );
}

fn a_new_epoch_goes_on_with_the_events_of_the_old(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    let later = Position { epoch: Epoch::new("e2"), seq: 3 };
    trial.log().append(Append::of(&id("c"), &later, &events(4, 5))).expect("it continues");
    assert_eq!(read(trial.log(), "c", 0), events(1, 5));
}

fn tickets_rise(trial: &mut LogUnderTest<'_>) {
    let mut newest = Ticket::default();
    for seq in 0..10 {
        let name = if seq % 2 == 0 { "c" } else { "d" };
        let ticket = append(trial.log(), name, seq / 2, &events(seq / 2 + 1, seq / 2 + 1));
        assert!(ticket > newest && ticket != Ticket::NEVER);
        newest = ticket;
    }
    assert!(trial.log().sync() > newest);
    assert!(trial.log().figures().taken > newest);
}

fn hundreds_of_conversations_in_one_go(trial: &mut LogUnderTest<'_>) {
    for n in 0..400 {
        append(trial.log(), &format!("c{n}"), 0, &events(1, 1 + n % 3));
    }
    for n in 0..400 {
        append(trial.log(), &format!("c{n}"), 1 + n % 3, &events(2 + n % 3, 2 + n % 3));
    }
    settle(trial.log());
    assert_eq!(trial.log().count(), 400);
    for n in [0, 1, 2, 77, 399] {
        assert_eq!(read(trial.log(), &format!("c{n}"), 0), events(1, 2 + n % 3));
    }
    assert_eq!(trial.log().load(&id("c399")).expect("readable").map(|found| found.position), Some(at(2)));
}

fn a_page_is_bounded_in_bytes_and_goes_on(trial: &mut LogUnderTest<'_>) {
    let history = sized(1, 40, 500_000);
    for piece in history.chunks(5) {
        let after = piece.first().map_or(0, |first| first.seq - 1);
        append(trial.log(), "c", after, piece);
    }
    let mut read = Vec::new();
    let mut pages = 0;
    while read.len() < history.len() {
        let page = trial.log().read(&id("c"), read.len() as u64, 1_000).expect("a page");
        assert!(!page.envelopes.is_empty());
        read.extend(page.envelopes);
        pages += 1;
    }
    assert_eq!(read, history);
    assert!(pages > 1, "20 MB are more than one page");
}
