//! The laws of the fold, on random histories, and its rules, on small ones.

mod label;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::event::{RunStatus, ToolState};
use crate::ids::AgentId;
use crate::json::Json;
use crate::limits::RAW_BYTES_PER_RUN_MAX;
use crate::snapshot;
use crate::testkit::{folded, history};

/// Folds native events, one JSON object a line, as the hub would log them.
fn view_of(lines: &str) -> View {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let events = lines.map(|line| crate::event::parse_event(line).expect(line));
    folded(&crate::testkit::logged(events.collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any event in any state is taken: the fold of a wild history ends, with its seq at the head.
    #[test]
    fn i3_fold_is_total(history in history(0..120)) {
        let view = folded(&history);
        prop_assert_eq!(view.seq, history.len() as u64);
        for run in view.runs.values() {
            prop_assert_eq!(run.items.len(), run.parts.len() + run.tools.len() + run.agents.len() + run.notes.len());
        }
    }

    /// A snapshot in the middle and the events after it give the view of all events, byte for byte.
    #[test]
    fn i4_snapshot_and_tail_equal_the_whole(history in history(1..120), at in any::<prop::sample::Index>()) {
        let at = at.index(history.len());
        let (before, after) = history.split_at(at);
        let bytes = snapshot::encode(&folded(before));
        let mut view = snapshot::decode(&bytes).unwrap();
        prop_assert_eq!(snapshot::encode(&view), bytes);
        for envelope in after {
            fold(&mut view, envelope, &mut |_| {});
        }
        prop_assert_eq!(snapshot::encode(&view), snapshot::encode(&folded(&history)));
    }

    /// What the fold says it changed is all that it changed: a page that redraws only that shows the view.
    #[test]
    fn every_change_of_an_item_is_told(history in history(1..60)) {
        let mut view = View::default();
        for envelope in &history {
            let before = view.clone();
            let mut told = Vec::new();
            fold(&mut view, envelope, &mut |change| told.push(change));
            for (run_id, run) in &view.runs {
                let old = before.runs.get(run_id);
                for item in &run.items {
                    let same = old.is_some_and(|old| same_item(old, run, item));
                    let named = told.contains(&ViewChange::Item(run_id.clone(), item.clone()))
                        || told.contains(&ViewChange::Added(run_id.clone(), item.clone()));
                    prop_assert!(same || named, "{item:?} changed in silence by {envelope:?}");
                }
            }
        }
    }
}

fn same_item(old: &RunView, new: &RunView, item: &Item) -> bool {
    old.items.contains(item)
        && match item {
            Item::Part(id) => old.parts.get(id) == new.parts.get(id),
            Item::Tool(id) => old.tools.get(id) == new.tools.get(id),
            Item::Agent(id) => old.agents.get(id) == new.agents.get(id),
            Item::Note(number) => old.notes.get(*number) == new.notes.get(*number),
        }
}

#[test]
fn a_call_goes_from_writing_to_complete_and_its_latency_is_the_hubs() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"tool.start","run":"r","tool":"t","name":"run_sql"}
        {"k":"tool.args","run":"r","tool":"t","text":"{\"q\":"}
        {"k":"tool.args","run":"r","tool":"t","text":"1}"}
        {"k":"tool.call","run":"r","tool":"t"}
        {"k":"tool.state","run":"r","tool":"t","state":"executing"}
        {"k":"tool.result","run":"r","tool":"t","output":{"rows":[1.0]}}
        "#,
    );
    let tool = &view.runs[&RunId::new("r")].tools[0];
    assert_eq!((tool.state, tool.arguments.text.as_str()), (ToolState::Complete, r#"{"q":1}"#));
    assert_eq!(tool.result.as_ref().unwrap().as_str(), r#"{"rows":[1.0]}"#);
    let expected = tool.ended_at.unwrap() - tool.executing_at.unwrap();
    assert_eq!(tool.latency_ms(), Some(expected));
    assert_eq!(view.anomalies.total, 0);
}

#[test]
fn an_id_that_a_source_uses_again_is_kept_beside_the_one_that_is_unique() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"tool.call","run":"r","tool":"c","name":"a","arguments":"{}"}
        {"k":"tool.start","run":"r","tool":"c.2","name":"b","given_id":"c"}
        "#,
    );
    let summary = serde_json::to_value(crate::summary::summary(&view)).unwrap();
    let calls = summary["runs"][0]["tool_calls"].as_array().unwrap();
    let told: Vec<_> = calls.iter().map(|call| (call["id"].clone(), call["name"].clone())).collect();
    assert_eq!(told, [("c".into(), "a".into()), ("c".into(), "b".into())]);
}

#[test]
fn the_end_of_a_run_closes_what_runs_and_leaves_what_was_handed_over() {
    let lines = r#"
        {"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"p"}
        {"k":"tool.call","run":"r","tool":"waits","name":"a","arguments":"{}"}
        {"k":"tool.call","run":"r","tool":"runs","name":"b","arguments":"{}"}
        {"k":"tool.state","run":"r","tool":"runs","state":"executing"}
        {"k":"tool.start","run":"r","tool":"half","name":"c"}
        "#;
    let states = |end: &str| {
        let view = view_of(&format!("{lines}{{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"{end}\"}}"));
        let run = &view.runs[&RunId::new("r")];
        assert!(run.parts.values().all(|part| part.ended_at.is_some()));
        run.tools.values().map(|tool| tool.state).collect::<Vec<_>>()
    };
    use ToolState::{Cancelled, Interrupted, Pending};
    assert_eq!(states("complete"), [Pending, Interrupted, Interrupted]);
    assert_eq!(states("error"), [Interrupted; 3]);
    assert_eq!(states("cancelled"), [Cancelled; 3]);
}

#[test]
fn a_handed_over_call_gets_its_result_after_the_run_and_that_is_no_oddity() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"tool.call","run":"r","tool":"t","name":"a","arguments":"{}"}
        {"k":"run.end","run":"r","status":"complete"}
        {"k":"tool.result","run":"r","tool":"t","output":"ok"}
        "#,
    );
    assert_eq!(view.runs[0].tools[0].state, ToolState::Complete);
    assert_eq!(view.anomalies.total, 0);
}

#[test]
fn a_run_that_goes_on_is_running_again_and_adds_its_usage_up() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r","title":"First","host":"box-1"}
        {"k":"run.update","run":"r","usage":{"input_tokens":10,"output_tokens":2}}
        {"k":"run.end","run":"r","status":"interrupted"}
        {"k":"run.start","run":"r"}
        {"k":"run.update","run":"r","usage":{"input_tokens":5,"output_tokens":1}}
        "#,
    );
    let run = &view.runs[0];
    assert_eq!((run.status, run.ended_at), (RunStatus::Running, None));
    assert_eq!(run.usage.unwrap().input_tokens, 15);
    assert_eq!((view.title.as_deref(), view.anomalies.total), (Some("First"), 0));
    assert_eq!(run.host.as_deref(), Some("box-1"), "who does not say where it goes on changes nothing");
}

#[test]
fn a_run_is_on_the_host_that_was_said_last_and_none_is_not_written() {
    let lines = |host: &str| {
        let start = |host: &str| format!(r#"{{"k":"run.start","run":"r"{host}}}"#);
        view_of(&format!("{}\n{}", start(host), start(&host.replace('1', "2"))))
    };
    let view = lines(r#","host":"box-1""#);
    assert_eq!(view.runs[0].host.as_deref(), Some("box-2"));
    let back: View = serde_json::from_str(&serde_json::to_string(&view).unwrap()).unwrap();
    assert_eq!(back, view);
    assert!(
        !serde_json::to_string(&lines("")).unwrap().contains("host"),
        "as views were before there were hosts"
    );
}

#[test]
fn what_sub_agents_use_counts_for_the_run_once() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"agent.start","run":"r","agent":"a","model":"small"}
        {"k":"run.update","run":"r","usage":{"input_tokens":10,"output_tokens":2}}
        {"k":"run.update","run":"r","agent":"a","usage":{"input_tokens":5,"output_tokens":1,"cost":{"amount":"0.5","currency":"USD"}}}
        {"k":"run.update","run":"r","agent":"a","title":"Not of the agent"}
        {"k":"agent.start","run":"r","agent":"a","name":"told anew"}
        {"k":"run.update","run":"r","agent":"b","usage":{"input_tokens":1,"output_tokens":0}}
        {"k":"agent.end","run":"r","agent":"a","status":"complete","usage":{"input_tokens":7,"output_tokens":3}}
        "#,
    );
    let run = &view.runs[0];
    let of = |agent: &str| run.agents[&AgentId::new(agent)].clone();
    assert_eq!(run.usage.unwrap().input_tokens, 16, "the end of an agent adds nothing");
    assert_eq!(of("a").usage.unwrap().input_tokens, 7);
    assert_eq!(of("a").usage.unwrap().cost.unwrap().amount(), "0.5", "a total without a cost leaves it");
    assert_eq!(of("a").model.as_deref(), Some("small"));
    assert_eq!(of("b").usage.unwrap().input_tokens, 1);
    assert_eq!(view.anomalies.total, 1, "who never began");
}

#[test]
fn who_learns_later_what_an_agent_used_does_not_say_when_it_ended() {
    let mut view = View::default();
    let lines = [
        r#"{"k":"run.start","run":"r","seq":1,"at":1000}"#,
        r#"{"k":"agent.start","run":"r","agent":"a","seq":2,"at":1000}"#,
        r#"{"k":"agent.end","run":"r","agent":"a","status":"complete","seq":3,"at":2000}"#,
        r#"{"k":"agent.end","run":"r","agent":"a","status":"complete","usage":{"input_tokens":7},"seq":4,"at":9000}"#,
    ];
    for line in lines {
        fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
    }
    let agent = &view.runs[0].agents[0];
    assert_eq!((agent.ended_at, agent.usage.unwrap().input_tokens), (Some(2000), 7));
}

#[test]
fn views_from_before_agents_had_tokens_are_read() {
    let view = view_of(r#"{"k":"agent.start","run":"r","agent":"a"}"#);
    let bytes = snapshot::encode(&view);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let agent = text.split("\"agents\"").nth(1).unwrap().split('}').next().unwrap();
    assert!(!agent.contains("usage") && !agent.contains("model"), "{agent}");
    assert_eq!(snapshot::decode(&bytes).unwrap(), view);
}

#[test]
fn a_fork_says_where_it_comes_from_and_makes_no_run() {
    let view = view_of(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"run.end","run":"r","from":"another kind's field of another type"}
        {"k":"fork","from":{"conversation":"a","epoch":"e1","seq":2}}
        {"k":"fork","from":{"conversation":"b","epoch":"e2","seq":3}}
        "#,
    );
    let from = view.forked_from.unwrap();
    assert_eq!(
        (from.conversation.as_str(), from.epoch.as_str(), from.seq),
        ("b", "e2", 3),
        "the nearest one"
    );
    assert_eq!((view.runs.len(), view.items.len(), view.anomalies.total), (1, 1, 0));
}

#[test]
fn nonsense_is_survived_and_named() {
    let view = view_of(
        r#"
        {"k":"part.delta","run":"r","part":"p","text":"abc"}
        {"k":"part.delta","run":"r","part":"p","off":1,"text":"bcd"}
        {"k":"part.delta","run":"r","part":"p","off":9,"text":"z"}
        {"k":"part.end","run":"r","part":"p","len":3}
        {"k":"tool.result","run":"r","tool":"t","output":1}
        {"k":"tool.result","run":"r","tool":"t","output":2}
        {"k":"later.kind","run":"r","x":[1]}
        "#,
    );
    let codes: Vec<_> = view.anomalies.first.iter().map(|anomaly| anomaly.code).collect();
    use AnomalyCode as A;
    assert_eq!(
        codes,
        [
            A::RunWithoutStart,
            A::PartWithoutStart,
            A::DeltaOverlap,
            A::DeltaHole,
            A::PartMismatch,
            A::ToolWithoutStart,
            A::AfterToolEnd
        ]
    );
    let run = &view.runs[0];
    assert_eq!(run.parts[0].body.text, "abcdz");
    assert_eq!(run.notes.len(), 1);
}

#[test]
fn i7_a_text_over_its_limit_keeps_its_beginning_its_length_and_its_hash() {
    let chunk = "é".repeat(1 << 19);
    let line =
        |text: &str| format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{text}\"}}\n");
    let mut lines = String::from(
        "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\"}\n",
    );
    for _ in 0..10 {
        lines.push_str(&line(&chunk));
    }
    let whole = view_of(&lines);
    assert_eq!((whole.runs[0].parts[0].body.cut, whole.anomalies.total), (0, 0), "10 MiB are kept whole");
    lines.push_str(&line(&chunk));
    lines.push_str("{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p\"}");
    let view = view_of(&lines);
    let body = &view.runs[0].parts[0].body;
    assert_eq!(body.text.len(), crate::limits::PART_BYTES_MAX);
    assert_eq!((body.len, body.cut), (11 << 20, 1 << 20));
    assert_eq!(view.anomalies.first[0].code, AnomalyCode::TooLarge);
}

#[test]
fn i7_more_messages_than_a_view_holds_are_noted_once() {
    let mut view = View::default();
    for seq in 1..=MESSAGES_MAX as u64 + 5 {
        let line = format!("{{\"k\":\"message\",\"message\":\"m{seq}\",\"text\":\"hi\",\"seq\":{seq}}}");
        fold(&mut view, &Arc::new(Envelope::parse(&line).unwrap()), &mut |_| {});
    }
    assert_eq!((view.messages.len(), view.anomalies.total), (MESSAGES_MAX, 1));
}

/// Folds what `line` makes of each number.
fn many(count: usize, line: impl Fn(usize) -> String) -> View {
    let mut view = View::default();
    for number in 1..=count {
        let mut envelope = Envelope::parse(&line(number)).unwrap();
        envelope.seq = number as u64;
        fold(&mut view, &Arc::new(envelope), &mut |_| {});
    }
    view
}

#[test]
fn i7_more_runs_than_a_view_holds_are_noted_once() {
    let view = many(RUNS_MAX + 5, |number| format!("{{\"k\":\"run.start\",\"run\":\"r{number}\"}}"));
    assert_eq!((view.runs.len(), view.anomalies.total, view.full), (RUNS_MAX, 1, true));
}

#[test]
fn i7_more_items_than_a_run_holds_are_noted_once() {
    let most = crate::limits::ITEMS_PER_RUN_MAX;
    let view = many(most + 5, |number| match number {
        1 => String::from(r#"{"k":"run.start","run":"r"}"#),
        _ => String::from(r#"{"k":"custom","run":"r","name":"n","value":1}"#),
    });
    let run = &view.runs[0];
    assert_eq!((run.items.len(), run.notes.len(), run.full), (most, most, true));
    assert_eq!(view.anomalies.total, 1);
}

#[test]
fn i7_oddities_are_counted_and_the_first_of_them_kept() {
    let most = crate::limits::ANOMALIES_KEPT_MAX;
    let view = many(most + 5, |number| {
        format!("{{\"k\":\"anomaly\",\"code\":\"malformed\",\"detail\":\"{number}\"}}")
    });
    assert_eq!((view.anomalies.first.len(), view.anomalies.total), (most, most as u64 + 5));
}

#[test]
fn only_a_run_that_the_hub_begins_is_its_own() {
    let of = |lines: &[&str]| {
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            let envelope = Envelope { seq, ..Envelope::parse(line).unwrap() };
            fold(&mut view, &envelope, &mut |_| {});
        }
        view
    };
    let begun = r#"{"k":"run.start","run":"r","by_hub":true}"#;
    let status = r#"{"k":"status","run":"r","text":"x","by_hub":true}"#;
    assert!(of(&[begun, r#"{"k":"run.end","run":"r"}"#]).runs[0].own);
    assert!(
        !of(&[r#"{"k":"run.start","run":"r"}"#, begun]).runs[0].own,
        "others may have said what is in it"
    );
    assert!(!of(&[status, begun]).runs[0].own);
    assert!(!Envelope::received(begun).unwrap().by_hub, "whatever comes from outside");
    let asks = r#"{"k":"approval.request","run":"r","tool":"t"}"#;
    let yes = r#"{"k":"approval.answer","run":"r","tool":"t","approved":true}"#;
    let view = of(&[begun, asks, yes]);
    assert!(view.runs[0].tools[0].approved);
    let again = crate::unfold::unfold(&view);
    let mut same = View::default();
    for envelope in &again {
        fold(&mut same, envelope, &mut |_| {});
    }
    assert_eq!((same.runs[0].own, same.runs[0].tools[0].approved), (true, true));
    assert!(!of(&[begun, asks, yes, asks]).runs[0].tools[0].approved, "it is asked again");
    assert!(!of(&[begun, asks]).runs[0].tools[0].approved);
}

#[test]
fn i7_raw_events_of_a_run_have_a_budget_and_its_end_is_said() {
    let mut view = View::default();
    let value = Json::string(&"x".repeat(60_000));
    let rounds = RAW_BYTES_PER_RUN_MAX / 60_000 + 5;
    for seq in 1..=rounds {
        let event = Event::new(&RunId::new("r"), Kind::Raw { name: "odd".into(), value: value.clone() });
        let any = Envelope::parse(r#"{"k":"run.start","run":"r"}"#).unwrap();
        fold(&mut view, &Envelope { event, seq, ..any }, &mut |_| {});
    }
    let run = &view.runs[0];
    let kept: usize = run.notes.len();
    assert!((kept as u64) < rounds && kept as u64 > rounds - 10, "{kept}");
    let said: Vec<_> = view.anomalies.first.iter().filter(|it| it.code == AnomalyCode::TooMany).collect();
    assert_eq!(said.len(), 1, "said once: {said:?}");
    assert!(serde_json::to_string(&view).unwrap().len() < 3 << 20);
}

#[test]
fn a_call_that_a_person_declined_is_known_as_rejected() {
    let lines = [
        r#"{"k":"run.start","run":"r"}"#,
        r#"{"k":"tool.call","run":"r","tool":"t","name":"rm","arguments":"{}"}"#,
        r#"{"k":"approval.request","run":"r","tool":"t"}"#,
        r#"{"k":"approval.answer","run":"r","tool":"t","approved":false}"#,
    ];
    let mut view = View::default();
    for (seq, line) in (1..).zip(lines) {
        fold(&mut view, &Envelope { seq, ..Envelope::parse(line).unwrap() }, &mut |_| {});
    }
    let mut again = View::default();
    for envelope in crate::unfold::unfold(&view) {
        fold(&mut again, &envelope, &mut |_| {});
    }
    for view in [&view, &again] {
        let tool = &view.runs[0].tools[0];
        assert_eq!((tool.state, tool.rejected), (ToolState::Cancelled, true));
    }
}

#[test]
fn a_conversation_without_a_title_is_called_by_its_first_question() {
    let mut view = View::default();
    let said = |seq, role: &str, text: &str| {
        let line = format!(r#"{{"k":"message","message":"m{seq}","role":"{role}","text":"{text}"}}"#);
        Envelope { seq, ..Envelope::parse(&line).unwrap() }
    };
    fold(&mut view, &said(1, "system", "Be brief."), &mut |_| {});
    assert_eq!(view.headline(), None);
    let long = "Why are the nightly imports so slow since the change of the schema on Monday evening?";
    fold(&mut view, &said(2, "user", long), &mut |_| {});
    let called = view.headline().unwrap();
    assert_eq!(called, "Why are the nightly imports so slow since the change of the schema on…");
    view.title = Some("Imports".to_owned());
    assert_eq!(view.headline().as_deref(), Some("Imports"));
}

#[test]
fn what_a_client_puts_around_the_first_question_is_no_title() {
    let mut view = View::default();
    let text = "<system-reminder>It is noon.</system-reminder> Fix the build.";
    let line = format!(r#"{{"k":"message","message":"m","role":"user","text":"{text}"}}"#);
    fold(&mut view, &Envelope { seq: 1, ..Envelope::parse(&line).unwrap() }, &mut |_| {});
    assert_eq!(view.headline().as_deref(), Some("Fix the build."));
}

#[test]
fn who_commanded_something_in_a_run_may_be_said_when_it_is_over() {
    let oddities = |lines: &[&str]| {
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            fold(&mut view, &Envelope { seq, ..Envelope::parse(line).unwrap() }, &mut |_| {});
        }
        view.anomalies.total
    };
    let begun = r#"{"k":"run.start","run":"r"}"#;
    let end = r#"{"k":"run.end","run":"r","status":"complete"}"#;
    let said = r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"ann","command":"stop"}}"#;
    let other = r#"{"k":"custom","run":"r","name":"plan","value":{}}"#;
    assert_eq!(oddities(&[begun, end, said]), 0);
    assert_eq!(oddities(&[begun, end, other]), 1);
}
