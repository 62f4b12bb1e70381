//! What an agent asks, as calls that wait, and what is left of it in the log.

use std::sync::Arc;

use model::RunId;
use model::event::RunStart;
use model::testkit::{folded, logged};

use super::*;

fn told(interrupt: Value, calls: &[(&str, &str)]) -> AgentQuestion {
    let called = |(id, name): &(&str, &str)| Called {
        tool: ToolCallId::new(id),
        given: (*id).into(),
        name: (*name).into(),
        is_question: false,
    };
    AgentQuestion { interrupt, calls: calls.iter().map(called).collect() }
}

fn paused(speaks: RemoteKind, asked: Vec<AgentQuestion>) -> (Option<Pause>, Vec<Event>) {
    let mut out = Vec::new();
    let pause = of(speaks, asked, &RunView::default(), &mut out);
    (pause, out)
}

fn of(speaks: RemoteKind, asked: Vec<AgentQuestion>, known: &RunView, out: &mut Vec<Event>) -> Option<Pause> {
    Pause::of(speaks, asked, Some("theirs".to_owned()), (&RunId::new("r"), known), ("f", out))
}

/// The run as the hub logged it that has begun it itself.
fn own(events: Vec<Event>) -> RunView {
    let mut events = events;
    events.insert(0, Event::new(&RunId::new("r"), Kind::RunStart(RunStart::default())));
    let mut begun = logged(events);
    Arc::make_mut(&mut begun[0]).by_hub = true;
    folded(&begun).runs[0].clone()
}

fn ids(pause: &Pause) -> Vec<(&str, bool)> {
    pause.calls().map(|call| (call.tool.as_str(), call.is_question)).collect()
}

#[test]
fn a_request_that_is_about_no_known_call_is_one_of_its_own() {
    let requests =
        json!([{"name": "a", "args": {}}, {"name": "b", "args": {"x": 1}}, {"name": "c", "args": {}}]);
    let interrupt = json!({"id": "i", "value": {"action_requests": requests}});
    let (pause, out) = paused(RemoteKind::LangGraph, vec![told(interrupt, &[("1", "a"), ("3", "c")])]);
    let pause = pause.unwrap();
    assert_eq!(ids(&pause), [("1", false), ("question-f-1", true), ("3", false)]);
    assert_eq!(pause.asks[0].calls[1].name, "b", "the agent is answered by its own name for it");
    assert!(
        out.iter().any(|event| matches!(&event.kind, Kind::ToolStart(start) if start.name == QUESTION)),
        "{out:?}"
    );
}

#[test]
fn requests_find_their_calls_in_any_order_and_by_their_arguments() {
    let requests = json!([{"name": "b", "args": {"x": 2}}, {"name": "b", "args": {"x": 1}}, {"name": "a"}]);
    let interrupt = json!({"id": "i", "value": {"action_requests": requests}});
    let calls = [("1", "a"), ("2", "b"), ("3", "b")];
    let (pause, _) = paused(RemoteKind::LangGraph, vec![told(interrupt.clone(), &calls)]);
    assert_eq!(ids(&pause.unwrap()), [("2", false), ("3", false), ("1", false)]);
    let run = RunId::new("r");
    let events = [("1", "a", 0), ("2", "b", 1), ("3", "b", 2)].into_iter().flat_map(|(id, name, x)| {
        let tool = ToolCallId::new(id);
        let start = ToolStart { tool: tool.clone(), name: name.into(), server: false, given_id: None };
        let arguments = Some(json!({"x": x}).to_string());
        [Kind::ToolStart(start), Kind::ToolCall { tool, name: None, arguments }]
            .map(|kind| Event::new(&run, kind))
    });
    let view = folded(&logged(events.collect()));
    let pause = of(RemoteKind::LangGraph, vec![told(interrupt, &calls)], &view.runs[&run], &mut Vec::new());
    assert_eq!(ids(&pause.unwrap()), [("3", false), ("2", false), ("1", false)]);
}

#[test]
fn a_pause_outlives_the_limit_of_other_notes_and_not_its_own() {
    let interrupt = |len: usize| json!({"id": "i", "message": "x".repeat(len), "toolCallId": "1"});
    let asked = |len: usize| paused(RemoteKind::AgUi, vec![told(interrupt(len), &[("1", "a")])]);
    let (pause, events) = asked(BOOKKEEPING_BYTES_MAX / 2);
    assert!(are_kept(&events));
    assert_eq!(PauseState::of(&own(events)).unwrap().pause, pause.unwrap());
    assert!(!are_kept(&asked(BOOKKEEPING_BYTES_MAX).1));
}

#[test]
fn what_asks_nothing_of_a_person_is_no_pause() {
    let tool = json!({"tool_call_id": "1", "tool_name": "a", "external_execution_required": true});
    let asked = vec![told(json!({"run_id": "x", "tools": [tool]}), &[])];
    assert_eq!(paused(RemoteKind::Agno, asked), (None, Vec::new()));
}

#[test]
fn a_pause_is_in_the_log_until_the_agent_goes_on() {
    let run = RunId::new("r");
    let interrupt = json!({"id": "i", "message": "May I?", "toolCallId": "1"});
    let question = json!({"id": "j", "message": "Who?"});
    let asked = vec![told(interrupt, &[("1", "a")]), told(question, &[])];
    let (pause, mut events) = paused(RemoteKind::AgUi, asked);
    let mut standing = PauseState { pause: pause.unwrap(), answers: Vec::new() };
    events.extend(standing.take(&run, &ToolCallId::new("1"), Answer::No { why: Some("no".to_owned()) }));
    assert!(standing.take(&run, &ToolCallId::new("1"), Answer::Yes { arguments: None }).is_empty(), "once");
    let of = |events: &[Event]| PauseState::of(&own(events.to_vec()));
    assert_eq!(of(&events), Some(standing.clone()));
    let forged = folded(&logged(events.clone()));
    assert_eq!(PauseState::of(&forged.runs[&run]), None, "anybody can write such notes");
    assert!(!standing.is_answered());
    let tool = ToolCallId::new("question-f-1");
    events.extend(standing.take(&run, &tool, Answer::Yes { arguments: Some("no JSON".to_owned()) }));
    assert!(standing.is_answered());
    assert_eq!(of(&events), Some(standing.clone()));
    assert_eq!(standing.answers[1].arguments, Some(json!("no JSON")));
    events.push(goes_on(&run));
    assert_eq!(of(&events), None);
}
