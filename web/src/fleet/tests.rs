//! Tests of the order of the list.

use shared::Epoch;

use super::*;

fn row(name: &str, state: Option<RunStatus>, at: u64) -> ConversationRow {
    ConversationRow {
        conversation: ConversationId::parse(name).unwrap(),
        title: None,
        forked_from: None,
        state,
        stalled: false,
        activity: None,
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
    }
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
    let list = arrange(rows.iter(), "", 0, None);
    assert_eq!(names(&list), ["Needs you", "failed", "asks", "Running", "runs", "Recent", "new", "old"]);
    assert_eq!(list.counts, [2, 1, 2]);
    assert_eq!(names(&arrange(rows.iter(), " FAIL", 0, None)), ["Needs you", "failed"]);
}

#[test]
fn what_nobody_speaks_for_and_a_call_that_hangs_need_a_person() {
    let mut stalled = row("stalled", Some(RunStatus::Running), 1);
    stalled.stalled = true;
    let mut hangs = row("hangs", Some(RunStatus::Running), 2);
    hangs.call = Some(RowCall { name: "run_sql".into(), since: 1_000 });
    let rows = [stalled, hangs, row("runs", Some(RunStatus::Running), 3)];
    let at = |now| arrange(rows.iter(), "", now, None);
    assert_eq!(names(&at(1_000)), ["Needs you", "stalled", "Running", "runs", "hangs"]);
    assert_eq!(names(&at(1_000 + STUCK_MS)), ["Needs you", "hangs", "stalled", "Running", "runs"]);
    assert_eq!(line(&rows[1], 1_000 + STUCK_MS), "run_sql has run for 5 m");
    assert_eq!(line(&rows[1], 1_000), "working");
}

#[test]
fn a_running_conversation_keeps_its_place_while_it_works() {
    let mut early = row("early", Some(RunStatus::Running), 1);
    early.at = 100;
    let late = row("late", Some(RunStatus::Running), 2);
    assert_eq!(names(&arrange([early, late].iter(), "", 0, None)), ["Running", "late", "early"]);
}

#[test]
fn nothing_moves_under_the_pointer() {
    let before = [row("a", Some(RunStatus::Complete), 2), row("b", Some(RunStatus::Complete), 1)];
    let drawn = arrange(before.iter(), "", 0, None);
    let after =
        [row("a", Some(RunStatus::Complete), 2), row("b", Some(RunStatus::Running), 9), row("c", None, 10)];
    let held = arrange(after.iter(), "", 0, Some(&drawn));
    assert_eq!(held.lines, drawn.lines);
    assert!(held.held_back > 0);
    assert_eq!(arrange(before.iter(), "", 0, Some(&drawn)).held_back, 0);
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
}
