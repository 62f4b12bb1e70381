//! Tests of filters, orders and attempts.

use model::{Json, RunId};

use super::*;
use crate::latency;

fn view() -> View {
    let mut view = View::default();
    let run = view.runs.entry(RunId::new("r")).or_default();
    let calls = [
        ("1", "sql", ToolState::Complete, 4_000, "\"12345678\"", None),
        ("2", "web", ToolState::Error, 9_000, "\"1\"", Some("a")),
        ("3", "sql", ToolState::Executing, 0, "", None),
        ("4", "web", ToolState::Approval, 0, "", Some("a")),
    ];
    for (id, name, state, ms, result, agent) in calls {
        let tool = ToolView {
            name: name.into(),
            agent: agent.map(AgentId::new),
            state,
            executing_at: (state == ToolState::Executing).then_some(1_000),
            exec_ms: (ms > 0).then_some(ms),
            ended_at: (ms > 0).then_some(1_000 + ms),
            result: Json::parse(result),
            ..ToolView::default()
        };
        run.tools.insert(ToolCallId::new(id), tool);
    }
    view
}

fn ids(wanted: &Wanted, now: u64, held: Option<&[CallKey]>) -> Vec<String> {
    let view = view();
    let calls = calls(&view, &latency::groups(&view, |_| true), now);
    rows(&calls, wanted, held).iter().map(|(_, id)| id.to_string()).collect()
}

#[test]
fn rows_stand_by_start_duration_or_size_and_do_not_move_while_they_are_held() {
    let by = |sort| Wanted { sort, ..Wanted::default() };
    assert_eq!(ids(&by(Sort::Start), 2_000, None), ["1", "2", "3", "4"]);
    assert_eq!(ids(&by(Sort::Duration), 2_000, None), ["2", "1", "3", "4"]);
    assert_eq!(ids(&by(Sort::Duration), 60_000, None), ["3", "2", "1", "4"]);
    assert_eq!(ids(&by(Sort::Size), 2_000, None), ["1", "2", "3", "4"]);
    let held: Vec<CallKey> =
        ["2", "1", "4"].iter().map(|id| (RunId::new("r"), ToolCallId::new(id))).collect();
    assert_eq!(ids(&by(Sort::Duration), 60_000, Some(&held)), ["2", "1", "4", "3"]);
}

#[test]
fn filters_go_together() {
    let of = |filter, tool: Option<&str>, agent: Option<Option<&str>>| {
        let wanted = Wanted {
            filter,
            tool: tool.map(str::to_owned),
            agent: agent.map(|agent| agent.map(AgentId::new)),
            sort: Sort::Start,
        };
        ids(&wanted, 60_000, None)
    };
    assert_eq!(of(Some(Filter::Running), None, None), ["3"]);
    assert_eq!(of(Some(Filter::Failed), None, None), ["2"]);
    assert_eq!(of(Some(Filter::Approval), None, None), ["4"]);
    assert_eq!(of(Some(Filter::Slow), None, None), ["3"], "59 s where 4 s are usual");
    assert_eq!(of(None, Some("web"), Some(Some("a"))), ["2", "4"]);
    assert_eq!(of(None, Some("web"), Some(None)), Vec::<String>::new());
    assert_eq!(of(None, None, Some(None)), ["1", "3"]);
}

#[test]
fn attempts_are_calls_of_one_tool_that_the_source_gave_one_id() {
    let mut run = RunView::default();
    for (id, given, name) in [
        ("x", None, "sql"),
        ("y", None, "sql"),
        ("x~2", Some("x"), "sql"),
        ("x~3", Some("x"), "sql"),
        ("x~4", Some("x"), "web"),
    ] {
        let tool = ToolView { name: name.into(), given_id: given.map(Into::into), ..ToolView::default() };
        run.tools.insert(ToolCallId::new(id), tool);
    }
    let before =
        |id| earlier_attempts(&run, &ToolCallId::new(id)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(before("x~3"), ["x", "x~2"]);
    assert_eq!(before("x"), Vec::<String>::new());
    assert_eq!(before("x~4"), Vec::<String>::new());
}

#[test]
fn a_call_of_a_run_that_nobody_speaks_for_takes_no_longer() {
    let mut view = view();
    let key = (RunId::new("r"), ToolCallId::new("3"));
    let taken = |view: &View| calls(view, &[], 60_000).get(&key).map(|call| call.taken_ms);
    assert_eq!(taken(&view), Some(59_000));
    view.runs[0].stalled_at = Some(5_000);
    assert_eq!(taken(&view), Some(4_000));
}

#[test]
fn the_foot_tells_when_a_call_began_and_what_its_time_was_made_of() {
    let mut tool = ToolView {
        state: ToolState::Complete,
        pending_at: Some(7),
        executing_at: Some(47),
        queued_ms: Some(40),
        exec_ms: Some(1_180),
        ..ToolView::default()
    };
    assert_eq!(times(&tool, |ms| format!("@{ms}")), "started @47 · queue 40 ms · run 1.2 s");
    (tool.executing_at, tool.pending_at, tool.queued_ms) = (None, None, None);
    assert_eq!(times(&tool, |ms| format!("@{ms}")), "run 1.2 s", "a recording without times tells none");
}

#[test]
fn what_has_no_result_says_why_as_far_as_it_is_known() {
    let said = |state, run| no_result(state, run, Some("12:04:31"));
    let interrupted = said(ToolState::Interrupted, RunStatus::Interrupted);
    assert_eq!(interrupted, "No result was recorded. The run ended at 12:04:31.");
    assert_eq!(
        said(ToolState::Cancelled, RunStatus::Cancelled),
        "Cancelled before it gave a result. The whole run was cancelled at 12:04:31."
    );
    let alone = said(ToolState::Cancelled, RunStatus::Running);
    assert_eq!(alone, "Cancelled before it gave a result.");
    assert_eq!(no_result(ToolState::Interrupted, RunStatus::Running, None), "No result was recorded.");
}
