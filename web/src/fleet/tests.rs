//! Tests of the order of the list.

use model::Epoch;
use model::limits::STUCK_MS;

use super::*;

fn row(name: &str, state: Option<RunStatus>, at: u64) -> ConversationRow {
    ConversationRow {
        conversation: ConversationId::parse(name).unwrap(),
        title: None,
        forked_from: None,
        state,
        stalled: false,
        activity: None,
        reason: None,
        epoch: Epoch::new("e"),
        head: 1,
        started_at: at,
        ended_at: None,
        at,
        runs: 1,
        tools: 0,
        failed: 0,
        approvals: 0,
        agents: 0,
        anomalies: 0,
        viewers: 0,
        call: None,
        more_calls: Vec::new(),
        written: 0,
        asks: None,
        model: None,
        answer: None,
        used: Vec::new(),
        pinned: false,
        archived: false,
        tags: Vec::new(),
        good: 0,
        bad: 0,
        agent: None,
        host: None,
        usage: None,
        said: None,
    }
}

/// As a reader sees it who was never here before.
fn arranged(rows: &[ConversationRow], filter: &str, now: u64, frozen: Option<&List>) -> List {
    let (filter, seen) = (Filter::parse(filter), Seen::default());
    arrange(rows.iter(), Wish { filter: &filter, now, seen: &seen }, frozen)
}

fn names(list: &List) -> Vec<&str> {
    let name = |line: &'_ Line| match line {
        Line::Head(group) => group.title(),
        Line::Row(_) => "",
    };
    let lines = list.lines.iter();
    lines.map(|line| if let Line::Row(id) = line { id.as_str() } else { name(line) }).collect()
}

#[test]
fn trouble_stands_first_then_work_then_the_rest() {
    let mut asks = row("asks", Some(RunStatus::Running), 1);
    asks.approvals = 1;
    let rows = [
        row("old", Some(RunStatus::Complete), 2),
        row("new", Some(RunStatus::Cancelled), 5),
        row("runs", Some(RunStatus::Running), 3),
        row("failed", Some(RunStatus::Error), 4),
        asks,
    ];
    let list = arranged(&rows, "", 0, None);
    assert_eq!(names(&list), ["Needs you", "failed", "asks", "Running", "runs", "Recent", "new", "old"]);
    assert_eq!(list.counts, [2, 1, 2]);
    assert_eq!(names(&arranged(&rows, " FAIL", 0, None)), ["Needs you", "failed"]);
}

#[test]
fn what_nobody_speaks_for_and_a_call_that_hangs_need_a_person() {
    let mut stalled = row("stalled", Some(RunStatus::Running), 1);
    stalled.stalled = true;
    let mut hangs = row("hangs", Some(RunStatus::Running), 2);
    hangs.call = Some(RowCall { name: "run_sql".into(), since: 1_000 });
    let rows = [stalled, hangs, row("runs", Some(RunStatus::Running), 3)];
    let at = |now| arranged(&rows, "", now, None);
    assert_eq!(names(&at(1_000)), ["Needs you", "stalled", "Running", "runs", "hangs"]);
    assert_eq!(names(&at(1_000 + STUCK_MS)), ["Needs you", "hangs", "stalled", "Running", "runs"]);
    assert_eq!(line(&rows[1], 1_000 + STUCK_MS), "run_sql has run for 5 m");
    assert_eq!(line(&rows[1], 1_000), "working");
}

#[test]
fn what_a_silent_publisher_began_lasts_at_least_until_its_last_word() {
    let mut of = row("runs", Some(RunStatus::Running), 1);
    of.at = 16_000;
    assert_eq!(lasts(&of, 1_000, 41_000, true), "0:40");
    assert_eq!(lasts(&of, 1_000, 41_000, false), "≥ 0:40");
    of.stalled = true;
    assert_eq!(lasts(&of, 1_000, 41_000, true), "≥ 0:15");
    assert_eq!(lasts(&of, 1_000, 99_000, false), "≥ 0:15");
}

#[test]
fn silence_is_a_state_and_a_long_one_needs_a_person() {
    let quiet = row("quiet", Some(RunStatus::Running), 1_000);
    let mut calls = row("calls", Some(RunStatus::Running), 1_000);
    calls.call = Some(RowCall { name: "run_sql".into(), since: 1_000 });
    let at = 1_000 + 14 * 60_000;
    assert_eq!((state(&quiet, 50_000), state(&quiet, at)), ("running", "silent"));
    assert_eq!((line(&quiet, 50_000).as_str(), line(&quiet, at).as_str()), ("working", "silent 14 m"));
    assert_eq!(state(&calls, 120_000), "running", "it waits for its call");
    let rows = [quiet, row("lost", Some(RunStatus::Interrupted), 2_000)];
    assert_eq!(names(&arranged(&rows, "", 70_000, None)), ["Needs you", "lost", "Running", "quiet"]);
    assert_eq!(names(&arranged(&rows, "", at, None)), ["Needs you", "lost", "quiet"]);
    assert_eq!(names(&arranged(&rows, "state:silent", at, None)), ["Needs you", "quiet"]);
    let mut stalled = row("stalled", Some(RunStatus::Running), 1_000);
    stalled.stalled = true;
    assert_eq!(line(&stalled, at), "stalled 14 m · no word from its publisher");
    assert_eq!(line(&stalled, 1_000 + 59_999), "stalled · no word from its publisher");
    assert_eq!(line(&stalled, 1_000 + 60_000), "stalled 1 m · no word from its publisher");
}

#[test]
fn thresholds_are_those_of_the_hub_and_0_is_never() {
    let quiet = row("quiet", Some(RunStatus::Running), 1_000);
    let mut calls = row("calls", Some(RunStatus::Running), 1_000);
    calls.call = Some(RowCall { name: "run_sql".into(), since: 1_000 });
    let said =
        |now: u64| (state(&quiet, now), group(&quiet, now, &Seen::default()), stuck(&calls, now).is_some());
    take_thresholds(SilenceThresholds { silent_ms: 2_000, silent_long_ms: 5_000, stuck_ms: 3_000 });
    assert_eq!(said(2_999), ("running", Group::Running, false));
    assert_eq!(said(4_000), ("silent", Group::Running, true));
    assert_eq!(said(6_000), ("silent", Group::NeedsYou, true));
    assert_eq!(line(&quiet, 6_000), "silent 5.0 s");
    take_thresholds(SilenceThresholds { silent_ms: 0, silent_long_ms: 0, stuck_ms: 0 });
    assert_eq!(said(90_000_000), ("running", Group::Running, false));
    take_thresholds(SilenceThresholds { silent_long_ms: 0, ..SilenceThresholds::default() });
    assert_eq!(said(90_000_000), ("silent", Group::Running, true));
}

#[test]
fn a_running_conversation_keeps_its_place_while_it_works() {
    let mut early = row("early", Some(RunStatus::Running), 1);
    early.at = 100;
    let late = row("late", Some(RunStatus::Running), 2);
    assert_eq!(names(&arranged(&[early, late], "", 0, None)), ["Running", "late", "early"]);
}

#[test]
fn nothing_moves_under_the_pointer() {
    let before = [row("a", Some(RunStatus::Complete), 2), row("b", Some(RunStatus::Complete), 1)];
    let drawn = arranged(&before, "", 0, None);
    let after =
        [row("a", Some(RunStatus::Complete), 2), row("b", Some(RunStatus::Running), 9), row("c", None, 10)];
    let held = arranged(&after, "", 0, Some(&drawn));
    assert_eq!(held.lines, drawn.lines);
    assert_eq!(held.held_back, 2, "one in another group and one that is new");
    assert_eq!(held.counts, [0, 0, 2], "as many as are shown");
    // The same rows in another order are no news.
    let turned = [row("a", Some(RunStatus::Complete), 2), row("b", Some(RunStatus::Complete), 3)];
    assert_eq!(arranged(&turned, "", 0, Some(&drawn)).held_back, 0);
    assert_eq!(arranged(&before, "", 0, Some(&drawn)).held_back, 0);
}

#[test]
fn the_second_line_says_what_goes_on_or_how_it_ended() {
    let mut done = row("a", Some(RunStatus::Complete), 0);
    done.ended_at = Some(41_000);
    done.tools = 3;
    assert_eq!(activity(&done), "Done in 41 s · 3 tools");
    let mut failed = row("a", Some(RunStatus::Error), 0);
    failed.activity = Some("upstream\nrefused".to_owned());
    assert_eq!(activity(&failed), "upstream refused");
    assert_eq!(activity(&row("a", None, 0)), "no run yet");
    assert_eq!(title(&done), "a");
    done.answer = Some("Revenue rose\nby 4 %.".to_owned());
    assert_eq!(activity(&done), "Revenue rose by 4 %.");
    let mut asks = row("a", Some(RunStatus::Running), 0);
    asks.activity = Some("reading the list".to_owned());
    asks.approvals = 1;
    assert_eq!(activity(&asks), "waiting for approval");
    asks.asks = Some("deploy".to_owned());
    assert_eq!(line(&asks, 0), "waiting for approval · deploy");
}

#[test]
fn a_failure_that_was_seen_asks_for_nobody() {
    let rows = [row("seen", Some(RunStatus::Error), 4), row("unseen", Some(RunStatus::Error), 5)];
    let mut seen = Seen::default();
    seen.see(&rows[0].conversation, &model::Position { epoch: Epoch::new("e"), seq: 1 }, 4);
    let all = Filter::default();
    let list =
        |rows: &[ConversationRow]| arrange(rows.iter(), Wish { filter: &all, now: 9, seen: &seen }, None);
    assert_eq!(names(&list(&rows)), ["Needs you", "unseen", "Recent", "seen"]);
    // It failed again.
    let again = [ConversationRow { head: 2, ..row("seen", Some(RunStatus::Error), 6) }];
    assert_eq!(names(&list(&again)), ["Needs you", "seen"]);
}

#[test]
fn a_conversation_is_known_by_its_call_while_that_is_all_there_is() {
    let mut runs = row("a", Some(RunStatus::Running), 0);
    runs.call = Some(RowCall { name: "run_sql".into(), since: 1_000 });
    assert!(call(&runs, 15_000).is_some());
    assert!(call(&runs, 1_000 + STUCK_MS).is_none());
    for other in [
        ConversationRow { approvals: 1, ..runs.clone() },
        ConversationRow { stalled: true, ..runs.clone() },
        ConversationRow { state: Some(RunStatus::Complete), ..runs },
    ] {
        assert!(call(&other, 15_000).is_none());
    }
}

#[test]
fn one_needs_somebody_and_two_need_somebody() {
    assert_eq!([0, 1, 1_200].map(needing), [None, Some("1 needs you".into()), Some("1,200 need you".into())]);
}

#[test]
fn a_list_says_that_it_is_not_all() {
    assert_eq!(extent(500, 3_204).as_deref(), Some("newest 500 of 3,204"));
    assert_eq!(extent(500, 500), None);
}
