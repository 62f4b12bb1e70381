//! The law of lenses, over random histories, schedules and lenses.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::conflate::conflate;
use crate::envelope::Envelope;
use crate::event::Kind;
use crate::fold::fold;
use crate::snapshot;
use crate::testkit::{events, history, logged, views};
use crate::view::View;

const WORDS: [&str; 9] =
    ["message", "part.*", "tool.*", "status", "error", "custom", "raw", "anomaly", "rate"];

fn lens() -> impl Strategy<Value = Lens> {
    let level = select(vec![Level::Critical, Level::Parts, Level::Deltas]);
    let root = select(vec![None, Some("a1"), Some("a2"), Some("a3")]);
    let agents = (root, proptest::option::of(0_u32..3))
        .prop_map(|(root, depth)| Agents { root: root.map(AgentId::new), depth });
    let kinds =
        subsequence(WORDS.to_vec(), 0..=WORDS.len()).prop_map(|words| Kinds::of(words).expect("known words"));
    (level, proptest::option::of(agents), proptest::option::of(kinds))
        .prop_map(|(level, agents, kinds)| Lens { level, agents, kinds, window: None })
}

/// Anything, and what the hub says of a run whose publisher is lost.
fn troubled() -> impl Strategy<Value = Vec<Arc<Envelope>>> {
    let run = || select(vec!["r1", "r2"]);
    let stalled = run().prop_map(|run| format!(r#"{{"k":"run.stalled","run":"{run}","since":1}}"#));
    let lost = run().prop_map(|run| {
        format!(
            r#"{{"k":"error","run":"{run}","code":"publisher_lost","message":"m"}}
            {{"k":"run.end","run":"{run}","status":"interrupted","lost":true}}"#
        )
    });
    let trouble = prop_oneof![stalled, lost].prop_map(|lines| events(&lines));
    let some = prop_oneof![24 => crate::testkit::event().prop_map(|event| vec![event]), 1 => trouble];
    proptest::collection::vec(some, 1..120).prop_map(|some| logged(some.concat()))
}

/// Bytes that are the same for views that show the same: what is open is a set.
fn bytes(view: &View) -> String {
    let mut view = view.clone();
    for run in view.runs.values_mut() {
        run.open.sort_by_cached_key(|item| format!("{item:?}"));
        if let Some(loss) = &mut run.loss {
            loss.open.sort_by_cached_key(|closed| format!("{closed:?}"));
        }
    }
    String::from_utf8(snapshot::encode(&view)).unwrap()
}

/// What a viewer does with what it is given.
fn take(lens: &Lens, view: &mut View, passed: &[Arc<Envelope>], to: u64) {
    for envelope in conflate(passed) {
        fold(view, &envelope, &mut |_| {});
        lens.tidy(view, &envelope.event.run);
    }
    view.seq = to;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// I4, I5: whenever a viewer has caught up it has the projection of the whole view, whether it began with nothing
    /// or with a snapshot, and however late the hub was to tell it.
    #[test]
    fn i4_i5_what_passes_folds_to_the_projection_of_everything(
        history in troubled(),
        lens in lens(),
        steps in proptest::collection::vec((1_usize..25, 0_usize..30, 0_u8..8), 1..40),
    ) {
        let (views, effects) = views(&history);
        let (mut head, mut at) = (0, 0);
        let mut view = View::default();
        let mut steps = steps.iter().cycle();
        while at < history.len() {
            let (more, back, cut) = *steps.next().unwrap();
            head = (head + more).min(history.len());
            if cut == 0 {
                at = head;
                view = lens.project(&views[at]);
            }
            // A viewer that is behind is told by what the view is by then.
            let to = (at + (head - at).min(back + 1)).min(head);
            if let Some(passed) = lens.pass(&history[at..to], &effects, &views[head]) {
                take(&lens, &mut view, &passed, to as u64);
                at = to;
            } else {
                at = head;
                view = lens.project(&views[at]);
            }
            if at == head {
                prop_assert_eq!(bytes(&view), bytes(&lens.project(&views[head])), "{:?} at {}", lens, at);
            }
        }
    }

    /// Without filters nothing is lost but texts: a projection of a projection is itself.
    #[test]
    fn projecting_twice_is_projecting_once(history in history(1..80), lens in lens()) {
        let (views, _) = views(&history);
        let once = lens.project(views.last().unwrap());
        let again = if lens.agents.is_none() { lens.project(&once) } else { once.clone() };
        prop_assert_eq!(bytes(&again), bytes(&once));
    }
}

const STORY: &str = r#"
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"Hel"}
    {"k":"tool.start","run":"r","tool":"t","name":"look"}
    {"k":"tool.args","run":"r","tool":"t","text":"{}"}
    {"k":"tool.call","run":"r","tool":"t"}
    {"k":"part.delta","run":"r","part":"p","text":"lo"}
    {"k":"part.end","run":"r","part":"p"}
    {"k":"tool.output","run":"r","tool":"t","text":"…"}
    {"k":"tool.output","run":"r","tool":"t","text":"…"}
    {"k":"run.end","run":"r","status":"complete"}"#;

fn passed(lens: &Lens, story: &str) -> Vec<Arc<Envelope>> {
    let history = logged(events(story));
    let (views, effects) = views(&history);
    lens.pass(&history, &effects, views.last().unwrap()).unwrap()
}

fn at(level: Level) -> Lens {
    Lens { level, ..Lens::default() }
}

fn seqs(envelopes: &[Arc<Envelope>]) -> Vec<u64> {
    envelopes.iter().map(|envelope| envelope.seq).collect()
}

#[test]
fn deltas_are_everything_as_it_comes() {
    assert_eq!(seqs(&passed(&at(Level::Deltas), STORY)), (1..=11).collect::<Vec<_>>());
}

#[test]
fn critical_leaves_texts_out_and_tells_that_a_call_runs() {
    assert_eq!(seqs(&passed(&at(Level::Critical), STORY)), [1, 2, 4, 6, 8, 9, 11]);
}

#[test]
fn parts_gives_each_text_once_it_is_whole() {
    let passed = passed(&at(Level::Parts), STORY);
    assert_eq!(seqs(&passed), [1, 2, 4, 6, 8, 8, 9, 11]);
    assert!(matches!(&passed[3].event.kind, Kind::ToolCall { arguments: Some(text), .. } if text == "{}"));
    assert!(matches!(&passed[4].event.kind, Kind::PartReplace { text, .. } if text == "Hello"));
}

#[test]
fn one_agent_and_everything_below_it_or_the_main_agent_alone() {
    let story = r#"
        {"k":"run.start","run":"r"}
        {"k":"status","run":"r","text":"on it"}
        {"k":"agent.start","run":"r","agent":"a1"}
        {"k":"agent.start","run":"r","agent":"a2","parent":"a1"}
        {"k":"part.delta","run":"r","part":"p1","agent":"a2","text":"x"}
        {"k":"part.delta","run":"r","part":"p2","text":"y"}
        {"k":"error","run":"r","agent":"a1","code":"e","message":"m"}
        {"k":"part.delta","run":"r","part":"p1","text":"z"}"#;
    let of = |root: Option<&str>, depth| Lens {
        agents: Some(Agents { root: root.map(AgentId::new), depth }),
        ..Lens::default()
    };
    assert_eq!(seqs(&passed(&of(Some("a1"), None), story)), [1, 2, 3, 4, 5, 7, 8]);
    assert_eq!(seqs(&passed(&of(Some("a1"), Some(0)), story)), [1, 2, 3, 7]);
    assert_eq!(seqs(&passed(&of(None, Some(0)), story)), [1, 2, 6, 7]);
    assert_eq!(seqs(&passed(&of(None, None), story)).len(), 8);
}

#[test]
fn tokens_of_an_agent_that_is_not_seen_are_tokens_of_the_run() {
    let story = r#"
        {"k":"run.start","run":"r"}
        {"k":"agent.start","run":"r","agent":"a1"}
        {"k":"run.update","run":"r","agent":"a1","usage":{"input_tokens":5,"output_tokens":1}}"#;
    let main = Lens { agents: Some(Agents { root: None, depth: Some(0) }), ..Lens::default() };
    let passed = passed(&main, story);
    assert_eq!(seqs(&passed), [1, 3]);
    assert_eq!(passed[1].event.agent, None);
}

#[test]
fn kinds_are_chosen_by_words_and_others_are_refused_by_name() {
    let lens = Lens { kinds: Some(Kinds::of(["tool.*"]).unwrap()), ..Lens::default() };
    assert_eq!(seqs(&passed(&lens, STORY)), [1, 4, 5, 6, 9, 10, 11]);
    assert!(Kinds::of(["tool.result"]).unwrap_err().to_string().contains("\"tool.result\""));
    let words = serde_json::to_string(&Kinds::of(["part.*"]).unwrap()).unwrap();
    assert_eq!(words, r#"["run.*","agent.*","part.*"]"#);
    assert_eq!(serde_json::from_str::<Kinds>(&words).unwrap(), Kinds::of(["part.*"]).unwrap());
}
