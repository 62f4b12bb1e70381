//! The law of the sums: whatever came, they are what the view counts for in the end.

use std::collections::BTreeMap;

use model::fold::fold;
use model::testkit;
use proptest::prelude::*;

use super::*;

/// Sums by metric, agent, model, tool and detail.
type Sums = BTreeMap<(Metric, String, String, String, String), i64>;

fn sums(measurements: Vec<Measurement>) -> Sums {
    let mut sums = Sums::new();
    for it in measurements {
        let key = (it.metric, it.agent.into(), it.model.into(), it.tool.into(), it.detail.into());
        *sums.entry(key).or_default() += it.amount;
    }
    sums.retain(|_, amount| *amount != 0);
    sums
}

/// The view of `events`, and the sums of what was measured meanwhile.
fn told(events: &[std::sync::Arc<Envelope>]) -> (View, Sums) {
    let (mut view, mut measured) = (View::default(), Vec::new());
    for envelope in events {
        let before = CountedBefore::of(&view, &envelope.event);
        fold(&mut view, envelope, &mut |_| {});
        before.measure(&view, envelope, &mut measured);
    }
    (view, sums(measured))
}

fn lines(lines: &str) -> (View, Sums) {
    told(&testkit::logged(testkit::events(lines)))
}

/// What all runs of `view` count for, without what models used.
fn of_view(view: &View) -> Sums {
    let mut all = Vec::new();
    for run in view.runs.values() {
        all.extend(facts(run, &[]));
        all.extend(run.tools.values().flat_map(|call| facts_of_call(run, call)));
    }
    sums(all)
}

fn is_used(metric: Metric) -> bool {
    metric >= Metric::InputTokens
}

/// Sums of a metric, whoever it is of.
fn total(sums: &Sums, metric: Metric) -> i64 {
    sums.iter().filter(|((of, ..), _)| *of == metric).map(|(_, amount)| amount).sum()
}

proptest! {
    #[test]
    fn the_sums_are_what_the_view_counts_for(history in testkit::history(1..60)) {
        let (view, mut measured) = told(&history);
        let tokens = |read: fn(&Usage) -> u64| -> i64 {
            view.runs.values().filter_map(|run| run.usage.as_ref()).map(|usage| i64::try_from(read(usage)).unwrap()).sum()
        };
        prop_assert_eq!(total(&measured, Metric::InputTokens), tokens(|usage| usage.input_tokens));
        prop_assert_eq!(total(&measured, Metric::CachedTokens), tokens(|usage| usage.cached_tokens));
        prop_assert_eq!(total(&measured, Metric::OutputTokens), tokens(|usage| usage.output_tokens));
        prop_assert_eq!(total(&measured, Metric::ReasoningTokens), tokens(|usage| usage.reasoning_tokens));
        let money = view.runs.values().filter_map(|run| run.usage?.cost);
        prop_assert_eq!(total(&measured, Metric::Money), money.map(|cost| i64::try_from(cost.picos()).unwrap()).sum::<i64>());
        measured.retain(|(metric, ..), _| !is_used(*metric));
        // A sub-agent and a model may get their names after a call of theirs ended: then it stays where it was counted.
        let nameless = |sums: Sums| {
            let mut all = BTreeMap::<(Metric, String), i64>::new();
            for ((metric, _, _, _, detail), amount) in sums {
                *all.entry((metric, detail)).or_default() += amount;
            }
            all.retain(|_, amount| *amount != 0);
            all
        };
        prop_assert_eq!(nameless(measured), nameless(of_view(&view)));
    }
}

#[test]
fn a_run_counts_with_its_calls_its_tokens_and_its_money() {
    let (view, sums) = lines(
        r#"
        {"k":"run.start","name":"coder","model":"m-1","run":"r1"}
        {"k":"tool.call","tool":"t1","name":"sql","arguments":"{}","run":"r1"}
        {"k":"tool.result","tool":"t1","output":"no","is_error":true,"exec_ms":2,"run":"r1"}
        {"k":"run.update","usage":{"input_tokens":10,"output_tokens":3,"cached_tokens":4},"run":"r1"}
        {"k":"run.update","usage":{"input_tokens":5,"output_tokens":2,"cost":{"amount":"0.25","currency":"EUR"}},"run":"r1"}
        {"k":"error","code":"rate_limited","message":"later","run":"r1"}
        {"k":"run.end","status":"error","run":"r1"}
    "#,
    );
    assert_eq!(view.runs.len(), 1);
    let of = |metric, tool: &str, detail: &str| {
        let key = (metric, "coder".into(), "m-1".into(), tool.into(), detail.into());
        sums.get(&key).copied().unwrap_or_default()
    };
    assert_eq!((of(Metric::Runs, "", ""), of(Metric::Ended, "", "rate_limited")), (1, 1));
    let called =
        (of(Metric::Calls, "sql", ""), of(Metric::CallsFailed, "sql", ""), of(Metric::CallMs, "sql", "2"));
    assert_eq!(called, (1, 1, 1));
    assert_eq!((of(Metric::InputTokens, "", ""), of(Metric::CachedTokens, "", "")), (15, 4));
    assert_eq!(of(Metric::Money, "", "EUR"), 250_000_000_000);
    assert_eq!(of(Metric::UnpricedTokens, "", ""), 0, "its cost is known now");
}

#[test]
fn a_run_that_was_lost_and_comes_back_counts_once() {
    let (_, sums) = lines(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"part.start","part":"p","kind":"text","run":"r1"}
        {"k":"run.end","status":"interrupted","lost":true,"run":"r1"}
        {"k":"part.delta","part":"p","text":"here again","run":"r1"}
        {"k":"run.end","status":"complete","run":"r1"}
    "#,
    );
    let ended: Vec<_> = sums.iter().filter(|((metric, ..), _)| *metric == Metric::Ended).collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!((ended[0].0.4.as_str(), *ended[0].1), ("complete", 1));
    assert_eq!(total(&sums, Metric::Runs), 1);
}

#[test]
fn a_model_that_is_named_later_has_the_run() {
    let (_, sums) = lines(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"run.update","model":"m-2","run":"r1"}
    "#,
    );
    let keys: Vec<_> = sums.keys().map(|(metric, _, model, ..)| (*metric, model.as_str())).collect();
    assert_eq!(keys, [(Metric::Runs, "m-2")]);
}

#[test]
fn how_long_a_person_took_to_answer_counts_once_the_call_goes_on() {
    let (_, sums) = lines(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"tool.call","tool":"t","name":"rm","arguments":"{}","run":"r1"}
        {"k":"approval.request","tool":"t","run":"r1"}
        {"k":"approval.answer","tool":"t","approved":true,"run":"r1"}
        {"k":"tool.state","tool":"t","state":"executing","run":"r1"}
        {"k":"tool.result","tool":"t","output":"","run":"r1"}
    "#,
    );
    assert_eq!((total(&sums, Metric::Waits), total(&sums, Metric::Calls)), (1, 1));
}

#[test]
fn a_person_took_from_the_question_to_the_answer_whether_it_was_yes_or_no() {
    let begin = r#"
        {"k":"run.start","run":"r1"}
        {"k":"tool.call","tool":"t","name":"rm","arguments":"{}","run":"r1"}
        {"k":"approval.request","tool":"t","run":"r1"}
    "#;
    let yes = r#"
        {"k":"approval.answer","tool":"t","approved":true,"run":"r1"}
        {"k":"tool.state","tool":"t","state":"executing","run":"r1"}
        {"k":"tool.result","tool":"t","output":"","run":"r1"}
    "#;
    let no = r#"
        {"k":"approval.answer","tool":"t","approved":false,"run":"r1"}
        {"k":"tool.state","tool":"t","state":"cancelled","run":"r1"}
    "#;
    // The call is written 5 s after the run began, and asked for at once or 20 s later; the person answers after 90 s, and it executes
    // for 30 s.
    for (then, times, waited) in [
        (yes, [0, 5_000, 5_000, 95_000, 95_000, 125_000].as_slice(), 90_000),
        (yes, &[0, 5_000, 25_000, 115_000, 115_000, 145_000], 90_000),
        (no, &[0, 5_000, 5_000, 45_000, 45_000], 40_000),
        (no, &[0, 5_000, 25_000, 65_000, 65_000], 40_000),
    ] {
        let mut events = testkit::logged(testkit::events(&format!("{begin}{then}")));
        assert_eq!(events.len(), times.len());
        for (envelope, at) in events.iter_mut().zip(times) {
            std::sync::Arc::make_mut(envelope).at = 1_795_300_000_000 + at;
        }
        let (_, sums) = told(&events);
        assert_eq!((total(&sums, Metric::Waits), total(&sums, Metric::WaitMs)), (1, waited), "{then}");
    }
}

#[test]
fn a_person_who_is_asked_again_took_from_the_last_question() {
    let mut events = testkit::logged(testkit::events(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"tool.call","tool":"t","name":"rm","arguments":"{}","run":"r1"}
        {"k":"approval.request","tool":"t","run":"r1"}
        {"k":"approval.answer","tool":"t","approved":true,"run":"r1"}
        {"k":"approval.request","tool":"t","run":"r1"}
        {"k":"approval.answer","tool":"t","approved":true,"run":"r1"}
        {"k":"tool.state","tool":"t","state":"executing","run":"r1"}
    "#,
    ));
    for (envelope, at) in events.iter_mut().zip([0, 1_000, 2_000, 5_000, 60_000, 70_000, 70_000]) {
        std::sync::Arc::make_mut(envelope).at = 1_795_300_000_000 + at;
    }
    let (_, sums) = told(&events);
    assert_eq!((total(&sums, Metric::Waits), total(&sums, Metric::WaitMs)), (1, 10_000));
}

#[test]
fn a_call_that_goes_on_without_a_word_of_its_state_was_waited_for_too() {
    // It prints, its run ends, or its publisher is lost and comes back: the answer counts once in each case.
    let begin = r#"
        {"k":"run.start","run":"r1"}
        {"k":"tool.call","tool":"t","name":"rm","arguments":"{}","run":"r1"}
        {"k":"approval.request","tool":"t","run":"r1"}
        {"k":"approval.answer","tool":"t","approved":true,"run":"r1"}
    "#;
    let lost = r#"{"k":"run.end","status":"interrupted","lost":true,"run":"r1"}"#;
    let output = r#"{"k":"tool.output","tool":"t","text":"gone","run":"r1"}"#;
    let end = r#"{"k":"run.end","status":"cancelled","run":"r1"}"#;
    for then in [&[output][..], &[end], &[lost, output], &[lost, output, end], &[output, lost, output, end]] {
        let (view, sums) = lines(&format!("{begin}{}", then.join("\n")));
        assert_eq!((total(&sums, Metric::Waits), sums), (1, of_view(&view)), "{then:?}");
    }
}
