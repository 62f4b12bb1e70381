//! Tests of losses: what goes on after one is as if it had not been.

use std::sync::Arc;

use proptest::prelude::*;

use crate::conflate::conflate;
use crate::envelope::Envelope;
use crate::event::{ErrorFact, Event, Kind, PUBLISHER_LOST, RunEnd, RunStart, RunStatus, ToolState};
use crate::fold::{fold, fold_batch};
use crate::ids::RunId;
use crate::snapshot;
use crate::testkit::{events, folded, history, logged};
use crate::unfold::unfold;
use crate::view::{Item, NoteBody, RunView, View};

/// What the hub says when it gives the publisher of `run` up.
fn loss(run: &RunId) -> Vec<Event> {
    let error = ErrorFact {
        code: PUBLISHER_LOST.into(),
        message: "nobody speaks for this run any more".to_owned(),
        retryable: Some(true),
        retry_after_ms: None,
    };
    let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
    vec![
        Event::new(run, Kind::RunStalled { since: 1 }),
        Event::new(run, Kind::Error(error)),
        Event::new(run, Kind::RunEnd(end)),
    ]
}

/// What was logged, and the same with the publishers of all runs that go on lost after the first `cut` events.
fn with_loss(history: &[Arc<Envelope>], cut: usize, says_start: bool) -> Vec<Arc<Envelope>> {
    let (before, after) = history.split_at(cut);
    let mut cut: Vec<Arc<Envelope>> = before.to_vec();
    let view = folded(before);
    let mut put = |event: Event| {
        cut.push(Arc::new(Envelope {
            event,
            seq: view.seq,
            at: 5,
            producer_at: None,
            publisher: None,
            by_hub: false,
        }));
    };
    let running = || view.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id);
    running().flat_map(loss).for_each(&mut put);
    if says_start {
        running().for_each(|run| put(Event::new(run, Kind::RunStart(RunStart::default()))));
    }
    cut.extend(after.iter().cloned());
    cut
}

/// Without the marks that losses leave: their notes.
fn without_marks(mut view: View) -> View {
    for (id, run) in &mut view.runs {
        let is_mark = |run: &RunView, item: &Item| match item {
            Item::Note(number) => {
                let body = &run.notes[*number].body;
                matches!(body, NoteBody::Error(error) if error.code == PUBLISHER_LOST)
            }
            _ => false,
        };
        let marks: Vec<bool> = run.items.iter().map(|item| is_mark(run, item)).collect();
        for message in view.messages.values_mut() {
            if let Some(within) = message.within.as_mut().filter(|within| within.run == *id) {
                let shifted = marks.iter().take(within.items).filter(|it| **it).count();
                within.items -= shifted;
            }
        }
        let mut kept = marks.iter();
        run.items.retain(|_| !kept.next().unwrap());
        run.notes
            .retain(|note| !matches!(&note.body, NoteBody::Error(error) if error.code == PUBLISHER_LOST));
        let mut number = 0;
        for item in &mut run.items {
            if let Item::Note(at) = item {
                *at = number;
                number += 1;
            }
        }
    }
    view
}

proptest! {
    /// The next event of each run takes its loss back, all of it.
    #[test]
    fn what_goes_on_after_a_loss_is_as_if_it_had_not_been(
        history in history(0..60),
        cut in any::<prop::sample::Index>(),
        says_start in any::<bool>(),
    ) {
        let cut = cut.index(history.len() + 1);
        let with_loss = folded(&with_loss(&history, cut, says_start));
        let (mut view, mut wanted) = (without_marks(with_loss.clone()), without_marks(folded(&history)));
        // Of a run of which nothing came any more the loss stands.
        let lost: Vec<RunId> =
            with_loss.runs.iter().filter(|(_, run)| run.loss.is_some() && !run.is_running()).map(|(id, _)| id.clone()).collect();
        for run in &lost {
            prop_assert!(!history[cut..].iter().any(|envelope| envelope.event.run == *run));
            view.runs.shift_remove(run);
            wanted.runs.shift_remove(run);
        }
        prop_assert_eq!(snapshot::encode(&view), snapshot::encode(&wanted));
    }

    /// Invariant I3: a lost run shows nothing open.
    #[test]
    fn i3_a_loss_closes_everything(history in history(0..60)) {
        let view = folded(&with_loss(&history, history.len(), false));
        for run in view.runs.values().filter(|run| run.loss.is_some()) {
            prop_assert!(!run.is_running() && run.open.is_empty() && run.stalled_at.is_none());
            prop_assert!(run.tools.values().all(|tool| tool.state.is_final()));
            prop_assert!(run.agents.values().all(|agent| agent.ended_at.is_some() || agent.status != RunStatus::Running));
        }
    }

    /// Invariants I4 and I5 with losses in the history: any snapshot and any conflation lead to the same view.
    #[test]
    fn i4_i5_a_loss_survives_snapshots_and_conflation(
        history in history(1..60),
        cut in any::<prop::sample::Index>(),
        snap in any::<prop::sample::Index>(),
        says_start in any::<bool>(),
    ) {
        let mut history = with_loss(&history, cut.index(history.len() + 1), says_start);
        for (seq, envelope) in (1..).zip(&mut history) {
            Arc::make_mut(envelope).seq = seq;
        }
        let wanted = folded(&history);
        let (before, after) = history.split_at(snap.index(history.len()));
        let mut view: View = serde_json::from_slice(&snapshot::encode(&folded(before))).unwrap();
        let joined: Vec<Envelope> = conflate(after).iter().map(|envelope| Envelope::clone(envelope)).collect();
        let from = view.seq + 1;
        let took = fold_batch(&mut view, from, wanted.seq, &joined, &mut |_change| {});
        prop_assert!(took);
        prop_assert_eq!(snapshot::encode(&view), snapshot::encode(&wanted));
    }
}

const OPEN: &str = r#"{"k":"run.start","run":"r"}
    {"k":"error","run":"r","code":"overloaded","message":"busy"}
    {"k":"status","run":"r","text":"looking"}
    {"k":"agent.start","run":"r","agent":"a","name":"scout"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"Once"}
    {"k":"tool.start","run":"r","tool":"t1","name":"look"}
    {"k":"tool.call","run":"r","tool":"t1"}
    {"k":"tool.state","run":"r","tool":"t1","state":"executing"}
    {"k":"tool.start","run":"r","tool":"t2","name":"ask"}"#;

/// What is open, then lost, then `more`.
fn story(more: &str) -> View {
    let mut all = events(OPEN);
    all.extend(loss(&RunId::new("r")));
    all.extend(events(more));
    folded(&logged(all))
}

#[test]
fn a_lost_run_says_so_and_nothing_in_it_is_open() {
    let view = story("");
    let run = &view.runs[&RunId::new("r")];
    assert_eq!((run.status, run.stalled_at), (RunStatus::Interrupted, None));
    assert_eq!(run.error.as_ref().unwrap().code, PUBLISHER_LOST);
    assert!(run.tools.values().all(|tool| tool.state == ToolState::Interrupted));
    assert_eq!(view.anomalies.total, 0);
}

#[test]
fn a_publisher_that_returns_goes_on_where_it_was() {
    let view = story(
        r#"{"k":"part.delta","run":"r","part":"p","text":" more"}
        {"k":"tool.result","run":"r","tool":"t1","output":"found"}"#,
    );
    let run = &view.runs[&RunId::new("r")];
    assert!(run.is_running() && run.loss.is_none());
    assert_eq!(run.answer(), "Once more");
    assert_eq!(run.error.as_ref().unwrap().code, "overloaded");
    assert_eq!(run.activity.as_deref(), Some("looking"));
    let states: Vec<ToolState> = run.tools.values().map(|tool| tool.state).collect();
    assert_eq!(states, [ToolState::Complete, ToolState::Writing]);
    assert_eq!(view.anomalies.total, 0);
}

#[test]
fn a_run_is_stalled_until_more_comes_of_it() {
    let mut view = folded(&logged(events(OPEN)));
    let seq = view.seq;
    let stalled = Envelope::parse(r#"{"k":"run.stalled","run":"r","since":77,"seq":11,"at":99}"#).unwrap();
    fold(&mut view, &stalled, &mut |_| {});
    assert_eq!(view.runs[&RunId::new("r")].stalled_at, Some(77));
    let more =
        Envelope::parse(r#"{"k":"message","run":"r","message":"m","role":"user","text":"well?"}"#).unwrap();
    fold(&mut view, &more, &mut |_| {});
    assert_eq!((view.runs[&RunId::new("r")].stalled_at, view.seq), (None, seq + 1));
}

#[test]
fn a_run_that_is_over_does_not_stall() {
    let mut all = events(OPEN);
    all.extend(events(r#"{"k":"run.end","run":"r","status":"complete"}"#));
    all.push(Event::new(&RunId::new("r"), Kind::RunStalled { since: 3 }));
    let view = folded(&logged(all));
    assert_eq!((view.runs[&RunId::new("r")].stalled_at, view.anomalies.total), (None, 0));
}

#[test]
fn who_joins_is_told_of_losses() {
    let back = r#"{"k":"part.delta","run":"r","part":"p","text":" more"}"#;
    let mut twice = events(OPEN);
    twice.extend(loss(&RunId::new("r")));
    twice.extend(events(back));
    twice.extend(loss(&RunId::new("r")));
    let mut stalled = events(OPEN);
    stalled.push(Event::new(&RunId::new("r"), Kind::RunStalled { since: 1 }));
    for view in [story(""), story(back), folded(&logged(twice)), folded(&logged(stalled))] {
        let mut again = View::default();
        for envelope in unfold(&view) {
            fold(&mut again, &envelope, &mut |_| {});
        }
        let (mut again, mut wanted) = (again, view);
        // Times of calls and of an error that stands in no note are not told.
        for view in [&mut again, &mut wanted] {
            view.anomalies.first.clear();
        }
        assert_eq!(snapshot::encode(&again), snapshot::encode(&wanted));
    }
}
