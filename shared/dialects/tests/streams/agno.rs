//! Agno beyond its goldens: what a reader sees of runs that pause, of calls that fail, grow or are handed over, and of
//! events that nobody knows. The fixtures are shaped like what the framework itself prints.

use dialects::Decoded;
use model::ToolCallId;
use model::event::{Kind, RunStatus, ToolState};
use model::fold::fold;
use model::view::{NoteBody, RunView, View};

use crate::own::fixtures;
use crate::stream::Stream;

/// The events folded.
fn viewed(all: &Decoded) -> View {
    let mut view = View::default();
    for envelope in &all.envelopes {
        fold(&mut view, envelope, &mut |_change| {});
    }
    view
}

fn stream(name: &str) -> Stream {
    fixtures("agno").find(|stream| stream.name() == name).unwrap()
}

/// What the fixture `name` folds to, without anything odd in it.
fn seen(name: &str) -> View {
    let view = viewed(&stream(name).decoded());
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
    view
}

/// The one run of the fixture `name`, which is whole.
fn run(name: &str) -> RunView {
    let view = seen(name);
    assert_eq!(view.runs.len(), 1, "one run: {:?}", view.runs.keys());
    let run = view.runs[0].clone();
    assert_eq!(run.status, RunStatus::Complete);
    run
}

fn id(id: &str) -> ToolCallId {
    ToolCallId::new(id)
}

fn states(run: &RunView) -> Vec<(&str, ToolState)> {
    run.tools.iter().map(|(id, tool)| (id.as_str(), tool.state)).collect()
}

#[test]
fn a_pause_and_its_continuation_are_one_run_and_its_calls_end() {
    let run = run("paused-then-continued.sse");
    // Another executed what it was asked for; a call that no continuation has told of stays with the person.
    assert_eq!(states(&run)[0], ("c1", ToolState::Complete));
    assert_eq!(run.answer(), "May I? Sent.");
    assert_eq!(run.finish_reason, None, "it is not paused any more");
}

#[test]
fn a_run_that_is_not_continued_is_told_as_paused() {
    let run = run("paused.sse");
    assert_eq!(run.finish_reason.as_deref(), Some("paused"));
    assert_eq!(states(&run)[0], ("c1", ToolState::Approval));
}

#[test]
fn a_rejected_call_is_cancelled_though_no_event_says_so() {
    let run = run("rejected.ndjson");
    assert_eq!(states(&run), [("c1", ToolState::Complete), ("c2", ToolState::Cancelled)]);
    let run = self::run("outputs-rejected.json");
    assert_eq!(states(&run), [("c1", ToolState::Cancelled)]);
    assert_eq!(run.answer(), "May I?As you wish.");
    let all = stream("outputs-rejected.json").decoded();
    let why = all.envelopes.iter().find_map(|envelope| match &envelope.event.kind {
        Kind::ApprovalAnswer { approved: false, text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(why, Some(Some("not today".to_owned())));
}

#[test]
fn what_others_executed_and_what_a_person_gave_are_told() {
    let run = run("executed-outside-then-asked.ndjson");
    assert_eq!(states(&run), [("c1", ToolState::Complete), ("c2", ToolState::Complete)]);
    assert_eq!(run.tools[&id("c1")].result.as_ref().unwrap().to_text(), "printed");
    assert_eq!(run.tools[&id("c2")].arguments.text, r#"{"size": "big"}"#);
}

#[test]
fn another_run_ends_the_one_that_has_paused() {
    let view = seen("paused-then-another.ndjson");
    assert_eq!(view.runs.len(), 2);
    assert_eq!(view.runs[0].finish_reason.as_deref(), Some("paused"));
    assert_eq!((view.runs[1].answer(), view.runs[1].finish_reason.as_ref()), ("Hello.".into(), None));
}

#[test]
fn arguments_grow_where_agno_sends_them() {
    let run = run("arguments-grow.ndjson");
    assert_eq!(run.tools.len(), 3, "no call is told twice: {:?}", states(&run));
    let calls: Vec<_> = run.tools.values().map(|tool| (tool.arguments.text.as_str(), tool.state)).collect();
    let wanted = [r#"{"city": "Rome"}"#, r#"{"city": "Oslo"}"#, r#"{"text": "cut off"}"#];
    assert_eq!(calls, wanted.map(|arguments| (arguments, ToolState::Complete)));
    let result = run.tools.values().map(|tool| tool.result.as_ref().unwrap().to_text());
    assert_eq!(result.collect::<Vec<_>>(), ["21", "4", "noted"]);
    let all = stream("arguments-grow.ndjson").decoded();
    let pieces = all.envelopes.iter().filter(|it| matches!(it.event.kind, Kind::ToolArgs { .. }));
    assert_eq!(pieces.count(), 5);
}

#[test]
fn a_failure_is_one_whichever_event_says_so() {
    let run = run("failed-after-all.ndjson");
    assert_eq!(states(&run), [("c1", ToolState::Error), ("c2", ToolState::Error)]);
}

#[test]
fn events_that_nobody_knows_are_in_the_list() {
    let run = run("unknown-events.ndjson");
    let raw = run.notes.iter().filter_map(|note| match &note.body {
        NoteBody::Raw { value, .. } => Some(value.to_value()["event"].as_str().unwrap().to_owned()),
        _ => None,
    });
    assert_eq!(raw.collect::<Vec<_>>(), ["GuardrailStarted", "GuardrailCompleted", "RunRewound"]);
}

#[test]
fn intermediate_content_is_text_and_the_answer_is_not_lost_behind_it() {
    let run = run("intermediate.ndjson");
    let parts: Vec<_> = run.parts.values().map(|part| (part.kind, part.body.text.as_str())).collect();
    let text = model::event::PartKind::Text;
    assert_eq!(parts, [(text, "It is 21 degrees."), (text, "21 °C.")]);
}

/// Agno measures of a call that hands work over how long the handing over took: nearly nothing.
#[test]
fn work_that_is_handed_over_lasts_as_long_as_the_hub_sees_it() {
    let mut all = stream("delegated.ndjson").decoded();
    for (at, envelope) in all.envelopes.iter_mut().enumerate() {
        envelope.at = 1_000 * at as u64;
    }
    let run = viewed(&all).runs[0].clone();
    assert!(run.tools[&id("d")].latency_ms().is_some_and(|ms| ms >= 5_000), "{:?}", run.tools[&id("d")]);
    assert_eq!(
        run.tools[&id("c1")].latency_ms(),
        Some(300),
        "the member's own call is as agno has measured it"
    );
}
