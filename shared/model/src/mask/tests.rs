//! The laws of masks, over random histories, schedules and roles.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::conflate::conflate;
use crate::envelope::Envelope;
use crate::fold::fold;
use crate::frame::ConversationRow;
use crate::lens::{Level, event_effects};
use crate::snapshot;
use crate::summary::summary;
use crate::testkit::masked::{altered, any_history, cases, mask};
use crate::testkit::{events, history, logged, views};
use crate::unfold::unfold;

fn level() -> impl Strategy<Value = Lens> {
    select(vec![Level::Critical, Level::Parts, Level::Deltas])
        .prop_map(|level| Lens { level, ..Lens::default() })
}

fn bytes(view: &View) -> String {
    let mut view = view.clone();
    for run in view.runs.values_mut() {
        run.open.sort_by_cached_key(|item| format!("{item:?}"));
    }
    String::from_utf8(snapshot::encode(&view)).unwrap()
}

/// The view of whoever has this role and asks for `lens`.
fn shown(mask: &Mask, lens: &Lens, view: &View) -> View {
    let mut view = mask.narrowed(lens).project(view);
    mask.hide_in(&mut view);
    view
}

/// All that a role is told of `history`, as bytes: in stretches of `steps` events, joined, from the log, as snapshots, rebuilt.
fn everything(mask: &Mask, lens: &Lens, history: &[Arc<Envelope>], steps: &[usize]) -> String {
    let (mut view, mut effects) = (View::default(), Vec::new());
    let mut out = String::new();
    let mut say = |what: &str, text: &str| out.extend([what, " ", text, "\n"]);
    let json = |envelope: &Envelope| serde_json::to_string(envelope).unwrap();
    let mut at = 0;
    let mut steps = steps.iter().cycle();
    while at < history.len() {
        let to = (at + steps.next().unwrap()).min(history.len());
        let stretch = &history[at..to];
        effects.clear();
        for envelope in stretch {
            effects.extend(event_effects(&view, &envelope.event).map(|of_event| (envelope.seq, of_event)));
            fold(&mut view, envelope, &mut |_| {});
        }
        match mask.pass(&mask.narrowed(lens), stretch, &effects, &view) {
            None => say("reset", ""),
            Some(told) => {
                for envelope in conflate(&told) {
                    say("event", &json(&envelope));
                }
            }
        }
        let told = mask.read(stretch, &view);
        for envelope in told {
            say("read", &json(&envelope));
        }
        say("snapshot", &bytes(&shown(mask, lens, &view)));
        at = to;
    }
    let last = mask.view(&view);
    for envelope in unfold(&last) {
        say("unfolded", &json(&envelope));
    }
    say("summary", &serde_json::to_string(&summary(&last)).unwrap());
    out
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever stands in hidden contents, who has the role is told the same bytes.
    #[test]
    fn changing_hidden_contents_changes_no_byte_that_a_role_is_told(
        history in any_history(1..30),
        mask in mask(),
        lens in level(),
        salt in 1_u64..1_000_000,
        steps in proptest::collection::vec(4_usize..20, 1..6),
    ) {
        let whole = crate::testkit::folded(&history);
        let other: Vec<_> = history.iter().zip(salt..).map(|(envelope, salt)| {
            Arc::new(altered(&mask, envelope, &whole, salt))
        }).collect();
        let (one, two) = (everything(&mask, &lens, &history, &steps), everything(&mask, &lens, &other, &steps));
        prop_assert_eq!(one, two, "{:?} {:?}", mask, lens);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// I4, I5: who has a role is told what folds to the masked view, however late and whether cut or not.
    #[test]
    fn i4_i5_what_a_role_is_told_folds_to_the_masked_view(
        history in history(1..100),
        words in subsequence(Hideable::ALL.to_vec(), 1..=5),
        of_tools in any::<bool>(),
        lens in level(),
        steps in proptest::collection::vec((1_usize..25, 0_usize..30, 0_u8..8), 1..40),
    ) {
        let tools: &[&str] = if of_tools { &["run_*"] } else { &[] };
        let mask = Mask::new("guest", words.into_iter().map(Hideable::word), tools.iter().copied()).unwrap();
        let narrowed = mask.narrowed(&lens);
        let (views, effects) = views(&history);
        let (mut head, mut at) = (0, 0);
        let mut view = View::default();
        let mut steps = steps.iter().cycle();
        while at < history.len() {
            let (more, back, cut) = *steps.next().unwrap();
            head = (head + more).min(history.len());
            if cut == 0 {
                at = head;
                view = shown(&mask, &lens, &views[at]);
            }
            let to = (at + (head - at).min(back + 1)).min(head);
            if let Some(told) = mask.pass(&narrowed, &history[at..to], &effects, &views[head]) {
                for envelope in conflate(&told) {
                    fold(&mut view, &envelope, &mut |_| {});
                    narrowed.tidy(&mut view, &envelope.event.run);
                }
                view.seq = to as u64;
                at = to;
            } else {
                at = head;
                view = shown(&mask, &lens, &views[at]);
            }
            if at == head {
                prop_assert_eq!(bytes(&view), bytes(&shown(&mask, &lens, &views[head])), "{:?} {:?}", mask, lens);
            }
        }
    }
}

const STORY: &str = r#"
    {"k":"run.start","run":"r","host":"canary-host"}
    {"k":"part.start","run":"r","part":"p","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"p","text":"canary-thought"}
    {"k":"part.end","run":"r","part":"p","signature":"canary-signature"}
    {"k":"tool.start","run":"r","tool":"t1","name":"run_sql"}
    {"k":"tool.args","run":"r","tool":"t1","text":"{\"q\":\"canary-argument\"}"}
    {"k":"tool.call","run":"r","tool":"t1"}
    {"k":"tool.result","run":"r","tool":"t1","output":"canary-result","ref":{"bytes":300000,"hash":"canary-hash"}}
    {"k":"tool.call","run":"r","tool":"t2","name":"read","arguments":"{\"f\":\"shown\"}"}
    {"k":"custom","run":"r","name":"n","value":"canary-custom"}
    {"k":"later.kind","run":"r","text":"canary-unknown"}
    {"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":777}}"#;

fn read(mask: &Mask) -> String {
    let history = logged(events(STORY));
    let view = crate::testkit::folded(&history);
    let events = mask.read(&history, &view);
    let mut all = serde_json::to_string(&events).unwrap();
    all.push_str(&serde_json::to_string(&mask.view(&view)).unwrap());
    all
}

#[test]
fn each_word_hides_what_it_names_and_nothing_else() {
    let canaries = [
        "canary-thought",
        "canary-signature",
        "canary-argument",
        "canary-result",
        "canary-hash",
        "777",
        "canary-host",
    ];
    for (word, hidden) in [
        ("thinking", &canaries[..2]),
        ("arguments", &canaries[2..3]),
        ("results", &canaries[3..5]),
        ("costs", &canaries[5..6]),
        ("users", &canaries[6..]),
    ] {
        let told = read(&Mask::new("guest", [word], []).unwrap());
        for canary in canaries {
            assert_eq!(told.contains(canary), !hidden.contains(&canary), "{word}: {canary} in {told}");
        }
        // No role is told what may hold anything.
        assert!(!told.contains("canary-custom") && !told.contains("canary-unknown"), "{word}: {told}");
    }
}

#[test]
fn a_pattern_hides_calls_by_the_name_of_their_tool() {
    let told = read(&Mask::new("guest", [], ["run_*"]).unwrap());
    assert!(!told.contains("canary-argument") && !told.contains("canary-result"), "{told}");
    assert!(told.contains("shown") && told.contains("canary-thought") && told.contains("run_sql"), "{told}");
    let mask = Mask::new("guest", [], ["run_*"]).unwrap();
    assert!(mask.hides_tool("run_sql") && mask.hides_tool("") && !mask.hides_tool("read"));
}

#[test]
fn a_call_is_hidden_while_nobody_knows_its_name_and_once_it_has_a_hidden_one() {
    let mask = Mask::new("guest", [], ["run_*"]).unwrap();
    let story = r#"
        {"k":"tool.args","run":"r","tool":"t","text":"canary"}
        {"k":"tool.start","run":"r","tool":"t","name":"read"}
        {"k":"tool.args","run":"r","tool":"t","text":"shown"}
        {"k":"tool.call","run":"r","tool":"t","name":"run_sql"}"#;
    let history = logged(events(story));
    let (views, effects) = views(&history);
    let mut view = View::default();
    let mut told = String::new();
    for at in 0..history.len() {
        let lens = mask.narrowed(&Lens::default());
        for envelope in mask.pass(&lens, &history[at..=at], &effects, &views[at + 1]).unwrap() {
            told.push_str(&serde_json::to_string(&*envelope).unwrap());
            fold(&mut view, &envelope, &mut |_| {});
        }
    }
    assert!(!told.contains("canary") && told.contains("shown"), "{told}");
    let tool = view.runs.values().flat_map(|run| run.tools.values()).next().unwrap();
    assert_eq!(tool.arguments.text.as_str(), "", "what was told before is taken back");
}

#[test]
fn a_result_is_given_away_for_a_call_that_is_shown_alone() {
    let view = crate::testkit::folded(&logged(events(STORY)));
    let of_tools = |pattern| Mask::new("guest", [], [pattern]).unwrap();
    assert!(!of_tools("run_*").shows_result(&view, "canary-hash"));
    assert!(of_tools("read").shows_result(&view, "canary-hash"));
    assert!(!of_tools("read").shows_result(&view, "another"));
    assert!(!Mask::new("guest", ["results"], []).unwrap().shows_result(&view, "canary-hash"));
}

#[test]
fn what_is_no_mask_is_refused_by_name() {
    assert_eq!(Mask::new("r", [], []), Err(MaskError::Nothing));
    assert_eq!(Mask::new("r", ["secrets"], []), Err(MaskError::UnknownWord("secrets".to_owned())));
    assert_eq!(Mask::new("r", [], [""]), Err(MaskError::Pattern(String::new())));
    let long = "x".repeat(MASK_PATTERN_BYTES_MAX + 1);
    assert!(matches!(Mask::new("r", [], [long.as_str()]), Err(MaskError::Pattern(_))));
    assert_eq!(Mask::new("r", [], ["x"; MASK_TOOLS_MAX + 1]), Err(MaskError::Patterns(MASK_TOOLS_MAX + 1)));
}

#[test]
fn a_row_tells_no_host_to_who_sees_no_users() {
    let row: ConversationRow = serde_json::from_str(
        r#"{"conversation":"c","title":null,"state":"complete","activity":null,"epoch":"e","head":4,"started_at":1,"ended_at":2,"at":2,
            "runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0,"host":"anns-laptop"}"#,
    )
    .unwrap();
    let told = |word| Mask::new("guest", [word], []).unwrap().row(row.clone()).host;
    assert_eq!((told("users"), told("costs").as_deref()), (None, Some("anns-laptop")));
}

#[test]
fn a_row_tells_no_usage_to_who_sees_no_costs_and_no_size_of_what_is_hidden() {
    let row: ConversationRow = serde_json::from_str(
        r#"{"conversation":"c","title":null,"state":"complete","activity":null,"epoch":"e","head":4,"started_at":1,"ended_at":2,"at":2,
            "runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":3,"written":40,"usage":{"input_tokens":7,"output_tokens":2}}"#,
    )
    .unwrap();
    let told = |words: &[&str]| {
        let mask = Mask::new("guest", words.iter().copied(), []).unwrap();
        let told = mask.row(row.clone());
        (told.usage.is_some(), told.anomalies, told.written)
    };
    assert_eq!(told(&["costs"]), (false, 0, 0));
    assert_eq!(told(&["thinking"]), (true, 0, 0));
    assert_eq!(told(&["arguments"]), (true, 0, 0));
    assert_eq!(told(&["results", "users"]), (true, 0, 40));
}
