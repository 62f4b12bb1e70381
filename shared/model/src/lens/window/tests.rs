//! The law of windows, over random histories, schedules, lenses and roles, and their bound.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::anomaly::Anomalies;
use crate::conflate::conflate;
use crate::envelope::Envelope;
use crate::fold::fold;
use crate::ids::{MessageId, RunId};
use crate::lens::{Agents, EventEffects, Kinds, Lens, Level};
use crate::mask::{Hideable, Mask};
use crate::snapshot;
use crate::testkit::masked::{altered, any_history, mask};
use crate::testkit::{events, folded, logged, views};

/// The lens of most viewers, and some others.
fn lens() -> impl Strategy<Value = Lens> {
    let level = select(vec![Level::Critical, Level::Parts, Level::Deltas]);
    let agents = select(vec![
        None,
        None,
        Some(Agents { root: None, depth: Some(0) }),
        Some(Agents { root: Some(AgentId::new("a1")), depth: None }),
    ]);
    let kinds = select(vec![None, None, Some("tool.*"), Some("message"), Some("raw")]);
    let kinds = kinds.prop_map(|word| word.map(|word| Kinds::of(["part.*", word]).expect("known words")));
    let some =
        (level, agents, kinds).prop_map(|(level, agents, kinds)| Lens { level, agents, kinds, window: None });
    prop_oneof![Just(Lens::default()), some]
}

/// Roles that hide the calls of all tools or of none by their names: of a call that is named only after its arguments came, a viewer may have
/// less than the snapshot.
fn role() -> impl Strategy<Value = Mask> {
    let words = subsequence(Hideable::ALL.to_vec(), 1..=5);
    (words, any::<bool>()).prop_map(|(words, of_tools)| {
        let tools: &[&str] = if of_tools { &["*"] } else { &[] };
        Mask::new("guest", words.into_iter().map(Hideable::word), tools.iter().copied()).expect("a mask")
    })
}

/// The names of a random history made many: each run, part, call and message gets the number of its stretch of the history, which goes
/// back to an old one now and then.
fn long(history: &[Arc<Envelope>], stretch: usize, back: &[usize]) -> Vec<Arc<Envelope>> {
    let renamed = history.iter().enumerate().map(|(place, envelope)| {
        let mut envelope = Envelope::clone(envelope);
        let late = back.get(place % back.len().max(1)).filter(|late| **late < 8);
        let number = (place / stretch).saturating_sub(late.copied().unwrap_or(0));
        if !number.is_multiple_of(3) && envelope.event.run != RunId::none() {
            envelope.event.run = RunId::new(&format!("{}-{}", envelope.event.run, number / 3));
        }
        let text = serde_json::to_string(&envelope).unwrap();
        let names = ["p1", "p2", "p3", "t1", "t2", "t3", "m1"];
        let text = names
            .iter()
            .fold(text, |text, name| text.replace(&format!("\"{name}\""), &format!("\"{name}-{number}\"")));
        Envelope::parse(&text).expect("an event with other names").event
    });
    logged(renamed.collect())
}

/// Histories of many items, in which something happens to old ones now and then.
fn histories() -> impl Strategy<Value = Vec<Arc<Envelope>>> {
    let back = proptest::collection::vec(0_usize..60, 1..50);
    (any_history(1..160), 3_usize..20, back)
        .prop_map(|(history, stretch, back)| long(&history, stretch, &back))
}

/// Bytes that are the same for views that show the same: what is open is a set, and oddities are those that a viewer knows of.
fn bytes(view: &View) -> String {
    let mut view = View { anomalies: Anomalies::default(), ..view.clone() };
    for run in view.runs.values_mut() {
        run.late = false;
        run.open.sort_by_cached_key(|item| format!("{item:?}"));
        if let Some(loss) = &mut run.loss {
            loss.open.sort_by_cached_key(|closed| format!("{closed:?}"));
        }
    }
    String::from_utf8(snapshot::encode(&view)).unwrap()
}

/// Somebody who asks for the newest part of a conversation.
struct Newcomer<'a> {
    lens: Lens,
    mask: Option<&'a Mask>,
    newest: u64,
}

impl Newcomer<'_> {
    /// The lens with the window that is chosen for `view`.
    fn choose(&self, view: &View) -> Lens {
        let window = Window::choose(view, &self.lens, self.mask, self.newest, weigh::held(view));
        self.lens.with_window(window.map(Arc::new))
    }

    fn shown(&self, lens: &Lens, view: &View) -> View {
        let mut view = lens.project(view);
        if let Some(mask) = self.mask {
            mask.hide_in(&mut view);
        }
        view
    }

    fn pass(
        &self,
        lens: &Lens,
        events: &[Arc<Envelope>],
        effects: &[(u64, EventEffects)],
        now: &View,
    ) -> Option<Vec<Arc<Envelope>>> {
        match self.mask {
            Some(mask) => mask.pass(lens, events, effects, now),
            None => lens.pass(events, effects, now),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// I4, I5: whoever has caught up has the window of the whole view, whenever it joined, however late the hub was to tell it, and
    /// whatever happened to what lies before the window.
    #[test]
    fn i4_i5_what_passes_a_window_folds_to_the_window_of_everything(
        history in histories(),
        lens in lens(),
        role in proptest::option::weighted(0.3, role()),
        newest in 0_u64..6_000,
        steps in proptest::collection::vec((1_usize..25, 0_usize..30, 0_u8..12), 1..40),
    ) {
        let (views, effects) = views(&history);
        let lens = role.as_ref().map_or(lens.clone(), |mask| mask.narrowed(&lens));
        let newcomer = Newcomer { lens, mask: role.as_ref(), newest };
        let mut steps = steps.iter().cycle();
        let mut head = steps.next().unwrap().0.min(history.len());
        let mut at = head;
        let mut seen = newcomer.choose(&views[at]);
        let mut view = newcomer.shown(&seen, &views[at]);
        while at < history.len() {
            let (more, back, cut) = *steps.next().unwrap();
            head = (head + more).min(history.len());
            if cut == 0 {
                at = head;
                seen = newcomer.choose(&views[at]);
                view = newcomer.shown(&seen, &views[at]);
            }
            let to = (at + (head - at).min(back + 1)).min(head);
            if let Some(passed) = newcomer.pass(&seen, &history[at..to], &effects, &views[head]) {
                for envelope in conflate(&passed) {
                    fold(&mut view, &envelope, &mut |_| {});
                    newcomer.lens.tidy(&mut view, &envelope.event.run);
                }
                view.seq = to as u64;
                at = to;
            } else {
                at = head;
                if seen.window.as_ref().is_some_and(|window| window.hides_running(&views[head])) {
                    seen = newcomer.choose(&views[head]);
                    prop_assert!(seen.window.as_ref().is_none_or(|window| !window.hides_running(&views[head])));
                }
                view = newcomer.shown(&seen, &views[at]);
            }
            if at == head {
                let expected = newcomer.shown(&seen, &views[head]);
                prop_assert_eq!(bytes(&view), bytes(&expected), "{:?} at {}", seen, at);
            }
        }
    }

    /// I7: a window is no larger than was asked for, or it has only what every window has.
    #[test]
    fn i7_a_window_has_at_most_the_bytes_that_were_asked_for(
        history in histories(),
        role in proptest::option::of(mask()),
        newest in 0_u64..6_000,
    ) {
        let view = folded(&history);
        let lens = role.as_ref().map_or(Lens::default(), |mask| mask.narrowed(&Lens::default()));
        let of = |newest| {
            let newcomer = Newcomer { lens: lens.clone(), mask: role.as_ref(), newest };
            snapshot::encode(&newcomer.shown(&newcomer.choose(&view), &view)).len()
        };
        prop_assert!(of(newest) <= of(0).max(usize::try_from(newest).unwrap()), "{} {} {newest}", of(newest), of(0));
    }

    /// Where a window begins says nothing of what a role hides.
    #[test]
    fn a_window_does_not_depend_on_hidden_contents(
        history in any_history(1..60),
        mask in mask(),
        newest in 0_u64..4_000,
        salt in 1_u64..1_000_000,
    ) {
        let whole = folded(&history);
        let other: Vec<_> = history.iter().zip(salt..).map(|(envelope, salt)| {
            Arc::new(altered(&mask, envelope, &whole, salt))
        }).collect();
        let newcomer = Newcomer { lens: mask.narrowed(&Lens::default()), mask: Some(&mask), newest };
        prop_assert_eq!(newcomer.choose(&whole).window, newcomer.choose(&folded(&other)).window);
    }
}

/// Runs one after the other, each with a question before it and an answer of 200 bytes.
fn turns(count: usize) -> Vec<Arc<Envelope>> {
    let turn = |n: usize| {
        format!(
            r#"{{"k":"message","run":"","message":"m{n}","role":"user","text":"question {n}"}}
            {{"k":"run.start","run":"r{n}"}}
            {{"k":"part.delta","run":"r{n}","part":"p","text":"{}"}}
            {{"k":"run.end","run":"r{n}","status":"complete"}}"#,
            "word ".repeat(40)
        )
    };
    logged(events(&(0..count).map(turn).collect::<Vec<_>>().join("\n")))
}

fn choose(view: &View, newest: u64) -> Option<Window> {
    Window::choose(view, &Lens::default(), None, newest, weigh::held(view))
}

#[test]
fn the_newest_turns_are_there_and_what_lies_before_is_counted() {
    let view = folded(&turns(100));
    let window = choose(&view, 16 << 10).unwrap();
    let lens = Lens::default().with_window(Some(Arc::new(window.clone())));
    let shown = lens.project(&view);
    assert!(shown.runs.contains_key(&RunId::new("r99")) && !shown.runs.contains_key(&RunId::new("r0")));
    let earlier = shown.earlier.unwrap();
    assert_eq!(earlier.messages + shown.messages.len() as u64, 100);
    assert_eq!(earlier.runs + shown.runs.len() as u64, 100);
    assert!(earlier.bytes.unwrap() > 20_000, "{earlier:?}");
    assert_eq!(earlier.window, window.name());
    assert_eq!(choose(&view, 1 << 20), None, "all of it fits");
}

#[test]
fn of_a_run_that_is_too_large_the_end_is_there_with_what_is_open_before() {
    let mut lines = String::from(
        r#"{"k":"run.start","run":"r"}
        {"k":"tool.start","run":"r","tool":"waits","name":"ask"}
        {"k":"tool.call","run":"r","tool":"waits","arguments":"{}"}
        {"k":"approval.request","run":"r","tool":"waits"}"#,
    );
    let parts = (0..1_000).map(|n| {
        format!(
            r#"
            {{"k":"part.delta","run":"r","part":"p{n}","text":"text {n}"}}
            {{"k":"part.end","run":"r","part":"p{n}"}}"#
        )
    });
    lines.extend(parts);
    let view = folded(&logged(events(&lines)));
    let lens = Lens::default().with_window(choose(&view, 16 << 10).map(Arc::new));
    let shown = lens.project(&view);
    let run = &shown.runs[&RunId::new("r")];
    assert!(run.parts.contains_key(&PartId::new("p999")) && !run.parts.contains_key(&PartId::new("p0")));
    assert!(
        run.tools.contains_key(&ToolCallId::new("waits"))
            && run.items.first() == Some(&Item::Tool("waits".into()))
    );
    assert_eq!(shown.earlier.unwrap().items + run.items.len() as u64, 1_001);
    assert!(snapshot::encode(&lens.project(&view)).len() <= 16 << 10);
}

#[test]
fn a_run_that_goes_on_beside_the_newest_ones_is_there() {
    let mut lines = String::from(
        r#"{"k":"run.start","run":"main"}
        {"k":"part.delta","run":"main","part":"p","text":"I ask others"}"#,
    );
    let others = (0..40).map(|n| {
        format!(
            r#"
            {{"k":"run.start","run":"s{n}"}}
            {{"k":"part.delta","run":"s{n}","part":"p","text":"{}"}}
            {{"k":"run.end","run":"s{n}","status":"complete"}}"#,
            "word ".repeat(200)
        )
    });
    lines.extend(others);
    let view = folded(&logged(events(&lines)));
    let shown = Lens::default().with_window(choose(&view, 16 << 10).map(Arc::new)).project(&view);
    assert!(
        shown.runs[&RunId::new("main")].parts.contains_key(&PartId::new("p"))
            && !shown.runs.contains_key(&RunId::new("s0"))
    );
    assert!(shown.runs.contains_key(&RunId::new("s39")));
}

#[test]
fn a_run_before_the_window_that_goes_on_needs_another_window() {
    let mut history = turns(100);
    let before = folded(&history);
    let window = choose(&before, 16 << 10).unwrap();
    assert!(!window.hides_running(&before));
    let more = events(r#"{"k":"run.start","run":"r0"}"#);
    let all: Vec<_> = history.iter().map(|envelope| envelope.event.clone()).chain(more).collect();
    history = logged(all);
    let after = folded(&history);
    let lens = Lens::default().with_window(Some(Arc::new(window.clone())));
    assert_eq!(lens.pass(&history[history.len() - 1..], &[], &after), None);
    assert!(window.hides_running(&after));
    assert!(!choose(&after, 16 << 10).unwrap().hides_running(&after));
}

#[test]
fn many_wishes_are_few_windows() {
    assert_eq!([0, NEWEST_BYTES_MAX, u64::MAX].map(window_bytes), [None; 3]);
    let of = |asked| window_bytes(asked).unwrap();
    assert_eq!(
        [1, 16 << 10, 200_000, 262_144, 300_000].map(of),
        [16 << 10, 16 << 10, 131_072, 262_144, 262_144]
    );
}

#[test]
fn only_the_newest_messages_fit_where_there_is_no_run() {
    let line = |n: usize| {
        format!(r#"{{"k":"message","run":"","message":"m{n}","role":"user","text":"question {n}"}}"#)
    };
    let view = folded(&logged(events(&(0..2_000).map(line).collect::<Vec<_>>().join("\n"))));
    let shown = Lens::default().with_window(choose(&view, 16 << 10).map(Arc::new)).project(&view);
    assert_eq!(shown.messages.last().map(|(id, _)| id.clone()), Some(MessageId::new("m1999")));
    assert_eq!(shown.messages.len(), shown.items.len());
    assert!(snapshot::encode(&shown).len() <= 16 << 10);
}
