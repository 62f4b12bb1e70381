//! Tests of the facts.

use model::ConversationId;
use model::fold::fold;

use super::*;

fn view(lines: &[&str]) -> View {
    let mut view = View::default();
    for line in lines {
        fold(&mut view, &model::Envelope::parse(line).unwrap(), &mut |_| {});
    }
    view
}

fn shown(view: View) -> Vec<Section> {
    let mut model = Model::default();
    model.picture(ConversationId::parse("c").unwrap(), view);
    sections(&model, "c".to_owned(), 9_000, |ms| format!("at {ms}"))
}

fn fact<'a>(sections: &'a [Section], head: &str, name: &str) -> Option<&'a str> {
    let (_, facts) = sections.iter().find(|(title, _)| title == head)?;
    facts.iter().find(|(called, _)| *called == name).map(|(_, fact)| fact.as_str())
}

#[test]
fn a_run_says_what_is_known_of_it_and_nothing_that_is_not() {
    let shown = shown(view(&[
        r#"{"k":"run.start","run":"r","seq":1,"at":1000,"model":"m-1","dialect":"rye","title":"A sum","name":"adder","host":"box-1"}"#,
        r#"{"k":"agent.start","run":"r","agent":"a","model":"m-2","seq":2,"at":1100}"#,
        r#"{"k":"agent.start","run":"r","agent":"b","model":"m-1","seq":3,"at":1100}"#,
        r#"{"k":"run.end","run":"r","status":"error","finish_reason":"stop","seq":4,"at":3000,
            "usage":{"input_tokens":12000,"output_tokens":40,"cached_tokens":900,"cost":{"amount":"0.0042","currency":"USD"}}}"#,
    ]));
    assert_eq!(fact(&shown, "A sum", "run"), Some("r"));
    assert_eq!(fact(&shown, "A sum", "state"), Some("error"));
    assert_eq!(fact(&shown, "A sum", "agent"), Some("adder"));
    assert_eq!(fact(&shown, "A sum", "model"), Some("m-1, m-2"));
    assert_eq!(fact(&shown, "A sum", "host"), Some("box-1"));
    assert_eq!(fact(&shown, "A sum", "started"), Some("at 1000"));
    assert_eq!(fact(&shown, "A sum", "duration"), Some("2.0 s"));
    assert_eq!(fact(&shown, "A sum", "finish reason"), Some("stop"));
    assert_eq!(fact(&shown, "A sum", "tokens"), Some("12,000 in · 40 out · 900 cached"));
    assert_eq!(fact(&shown, "A sum", "error"), None);
    assert_eq!(fact(&shown, "Conversation", "position"), Some("picture:4"));
    assert_eq!(fact(&shown, "Conversation", "started"), Some("at 1000"));
    assert_eq!(fact(&shown, "Conversation", "contains"), Some("1 run · 0 messages"));
    assert_eq!(fact(&shown, "Warnings", "total"), Some("none: the stream kept to its format"));
}

#[test]
fn a_run_that_goes_on_grows_and_one_that_nobody_speaks_for_does_not() {
    let start = r#"{"k":"run.start","run":"r","seq":1,"at":1000}"#;
    assert_eq!(fact(&shown(view(&[start])), "Run", "duration"), Some("0:08"));
    let stalled = view(&[start, r#"{"k":"run.stalled","run":"r","since":6000,"seq":2,"at":8000}"#]);
    let shown = shown(stalled);
    assert_eq!(fact(&shown, "Run", "state"), Some("stalled"));
    assert!(fact(&shown, "Run", "duration").is_some_and(|it| it.starts_with("≥ ")), "{shown:?}");
}

#[test]
fn the_newest_runs_stand_first_and_the_others_are_counted() {
    let lines: Vec<String> =
        (1..=23).map(|n| format!(r#"{{"k":"run.start","run":"r{n}","seq":{n},"at":{n}}}"#)).collect();
    let shown = shown(view(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(fact(&shown, "Run", "run"), Some("r23"));
    assert_eq!(shown.iter().filter(|(title, _)| title == "Run").count(), RUNS_MAX);
    assert_eq!(fact(&shown, "Earlier", "runs"), Some("not listed here: 3 earlier runs"));
}

#[test]
fn what_was_odd_is_counted_and_said_in_words() {
    let odd = r#"{"k":"part.delta","run":"r","part":"p","text":"x","seq":1,"at":1}"#;
    let mut view = view(&[odd]);
    let shown_all = shown(view.clone());
    let noted = view.anomalies.total;
    assert_eq!(fact(&shown_all, "Warnings", "total"), Some(noted.to_string().as_str()));
    assert!(fact(&shown_all, "Warnings", "text without a start").is_some(), "{shown_all:?}");
    view.anomalies.total = 1_000;
    assert_eq!(fact(&shown(view), "Warnings", "total"), Some("1,000, of which the first are here"));
}

#[test]
fn of_the_link_nothing_is_said_that_is_not_known() {
    let said = |model: &Model, status| {
        link(model, &status, |ms| format!("at {ms}"))
            .map(|it| fact(&[it], "Connection", "link").unwrap().to_owned())
    };
    let mut model = Model::default();
    assert_eq!(said(&model, Status::Up), None);
    let away = || Status::Reconnecting { in_ms: 0, attempt: 1, since: 7_000, is_stale: false };
    let c = ConversationId::parse("c").unwrap();
    model.picture(c, View::default());
    assert_eq!(said(&model, Status::Up).as_deref(), Some("no reconnection so far"));
    assert_eq!(said(&model, away()).as_deref(), Some("away since at 7000"));
    assert_eq!(said(&model, Status::Offline).as_deref(), Some("away"));
    model.keep_mark("reconnected".to_owned());
    assert_eq!(said(&model, Status::Up).as_deref(), Some("reconnected"));
    assert_eq!(said(&model, away()).as_deref(), Some("away since at 7000\nreconnected"));
}

#[test]
fn the_position_says_when_the_hub_is_further() {
    assert_eq!(place(Some("e".to_owned()), 7, 7), "e:7");
    assert_eq!(place(Some("e".to_owned()), 7, 9), "e:7, the newest is 9");
    assert_eq!(place(None, 1_200, 0), "1,200");
}
