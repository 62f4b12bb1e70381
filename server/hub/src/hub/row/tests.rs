//! What a row of the list says beside numbers.

use std::sync::Arc;

use model::fold::fold;
use model::testkit::masked::{altered, any_history, cases, mask};
use model::{Envelope, Mask, testkit};
use proptest::prelude::*;

use super::*;

fn row_after(lines: &str) -> ConversationRow {
    let mut view = View::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
    }
    row(&ConversationId::parse("c").unwrap(), &Epoch::new("e"), &view, 9, 0)
}

const ASKS: &str = r#"
    {"k":"run.start","run":"r","model":"qwen3-4b","host":"box-1","seq":1,"at":1}
    {"k":"part.delta","run":"r","part":"p","text":"Let me see.","seq":2,"at":1}
    {"k":"status","run":"r","text":"reading the list","seq":3,"at":1}
    {"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}","seq":4,"at":2}
    {"k":"tool.state","run":"r","tool":"t","state":"approval","seq":5,"at":3}"#;

#[test]
fn a_row_names_the_model_and_what_waits_for_a_person() {
    let row = row_after(ASKS);
    assert_eq!(
        (row.model.as_deref(), row.asks.as_deref(), row.answer),
        (Some("qwen3-4b"), Some("deploy"), None)
    );
}

#[test]
fn a_row_names_the_host_of_the_newest_run_alone() {
    assert_eq!(row_after(ASKS).host.as_deref(), Some("box-1"));
    let next = format!(
        r#"{ASKS}
        {{"k":"run.start","run":"s","seq":6,"at":4}}"#
    );
    assert_eq!(row_after(&next).host, None);
}

#[test]
fn i7_a_row_names_the_tools_of_its_newest_run_once_each_and_only_so_many() {
    let call = |n: usize| {
        let name = n % (ROW_TOOLS_MAX + 1);
        format!(
            r#"{{"k":"tool.call","run":"r","tool":"t{n}","name":"tool-{name:02}","arguments":"{{}}","seq":{},"at":1}}"#,
            n + 1
        )
    };
    let lines: Vec<String> = (0..3 * ROW_TOOLS_MAX).map(call).collect();
    let first: Vec<String> = (0..ROW_TOOLS_MAX).map(|name| format!("tool-{name:02}")).collect();
    assert_eq!(row_after(&lines.join("\n")).used, first);
}

#[test]
fn a_row_of_a_finished_run_has_the_beginning_of_its_last_text() {
    let long = "so it is ".repeat(30);
    let ends = format!(
        r#"{ASKS}
        {{"k":"tool.result","run":"r","tool":"t","output":"done","seq":6,"at":4}}
        {{"k":"part.delta","run":"r","part":"q","text":"Revenue rose\nby 4 %, {long}","seq":7,"at":5}}
        {{"k":"run.end","run":"r","status":"complete","seq":8,"at":6}}"#
    );
    let row = row_after(&ends);
    let answer = row.answer.unwrap();
    assert!(answer.starts_with("Revenue rose by 4 %, so it is"), "{answer}");
    assert_eq!((answer.chars().count(), row.asks), (ANSWER_CHARS_MAX, None));
}

#[test]
fn a_row_has_the_words_of_an_answer_without_its_marks() {
    let said =
        "# Revenue\n\n| Region | Q3 |\n|---|--:|\n| EMEA | **48.9 M** |\n\n- `enterprise` grew - *mostly*";
    let plain = plain(said, ANSWER_CHARS_MAX);
    assert_eq!(plain, "Revenue Region Q3 EMEA 48.9 M - enterprise grew - mostly");
}

#[test]
fn the_last_words_have_no_marks() {
    let row = row_after(
        r#"{"k":"run.start","run":"r","seq":1,"at":1}
        {"k":"part.delta","run":"r","part":"p","text":"The **import** ran **twice**, (`sync`). **Not","seq":2,"at":2}"#,
    );
    assert_eq!(row.said.unwrap(), "The import ran twice, (sync). Not");
}

#[test]
fn a_row_says_for_which_reason_its_newest_run_did_not_complete() {
    let reason = |error: &str, status: &str| {
        let end = format!(
            r#"{{"k":"run.start","run":"r","seq":1,"at":1}}
            {error}
            {{"k":"run.end","run":"r","status":"{status}","seq":3,"at":3}}"#
        );
        row_after(&end).reason
    };
    let limited = r#"{"k":"error","run":"r","code":"rate_limited","message":"later","seq":2,"at":2}"#;
    let says = r#"{"k":"status","run":"r","text":"on","seq":2,"at":2}"#;
    assert_eq!(reason(limited, "error").as_deref(), Some("rate_limited"));
    assert_eq!(reason(says, "error").as_deref(), Some("error"));
    assert_eq!(reason(says, "interrupted").as_deref(), Some("interrupted"));
    assert_eq!(reason(limited, "cancelled").as_deref(), Some("cancelled"));
    assert_eq!(reason(limited, "complete"), None);
    assert_eq!(row_after(r#"{"k":"run.start","run":"r","seq":1,"at":1}"#).reason, None);
}

#[test]
fn a_row_of_a_run_that_outlived_a_failure_does_not_show_it_as_its_end() {
    let row = |status: &str| {
        row_after(&format!(
            r#"{{"k":"run.start","run":"r","seq":1,"at":1}}
            {{"k":"error","run":"r","code":"ARMORY_UNAVAILABLE","message":"no tools","seq":2,"at":1}}
            {{"k":"part.delta","run":"r","part":"p","text":"Hi","seq":3,"at":1}}
            {{"k":"run.end","run":"r","status":"{status}","finish_reason":"stop","seq":4,"at":2}}"#
        ))
    };
    assert_eq!(row("complete").activity.as_deref(), Some("stop"));
    assert_eq!(row("error").activity.as_deref(), Some("no tools"));
}

#[test]
fn i7_a_row_names_the_longest_executing_calls_and_only_so_many() {
    let executes = |n: usize| {
        let call = format!(
            r#"{{"k":"tool.call","run":"r","tool":"t{n}","name":"tool-{n}","arguments":"{{}}","seq":{},"at":1}}"#,
            2 * n + 1
        );
        let state = format!(
            r#"{{"k":"tool.state","run":"r","tool":"t{n}","state":"executing","seq":{},"at":{}}}"#,
            2 * n + 2,
            100 - n
        );
        format!("{call}\n{state}")
    };
    let calls = ROW_MORE_CALLS_MAX + 3;
    let lines: Vec<String> = (0..calls).map(executes).collect();
    let row = row_after(&lines.join("\n"));
    assert_eq!(row.call.unwrap().name, format!("tool-{}", calls - 1));
    let more: Vec<u64> = row.more_calls.iter().map(|call| call.since).collect();
    let wanted: Vec<u64> = (0..ROW_MORE_CALLS_MAX).map(|n| 100 - (calls - 2 - n) as u64).collect();
    assert_eq!(more, wanted);
}

#[test]
fn a_row_counts_what_the_models_of_its_newest_run_have_written() {
    let row = row_after(
        r#"
        {"k":"part.delta","run":"old","part":"p","text":"not counted","seq":1,"at":1}
        {"k":"run.end","run":"old","status":"complete","seq":2,"at":1}
        {"k":"part.start","run":"r","part":"t","kind":"thinking","seq":3,"at":2}
        {"k":"part.delta","run":"r","part":"t","text":"12345","seq":4,"at":2}
        {"k":"part.delta","run":"r","part":"p","text":"1234567","seq":5,"at":2}
        {"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}","seq":6,"at":2}
        {"k":"tool.result","run":"r","tool":"t","output":"not counted","seq":7,"at":2}"#,
    );
    assert_eq!(row.written, 5 + 7 + 2);
}

#[test]
fn the_last_words_are_the_end_of_a_long_text() {
    let long = (0..60).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let row = row_after(&format!(
        r#"{{"k":"run.start","run":"r","seq":1,"at":1}}
        {{"k":"part.delta","run":"r","part":"p","text":"{long}","seq":2,"at":1}}"#
    ));
    let said = row.said.unwrap();
    assert!(said.ends_with("word58 word59") && said.chars().count() <= SAID_CHARS_MAX, "{said}");
    assert!(said.starts_with("word4"), "no word is cut: {said}");
}

/// The rows that a role is told of, one after each event of `history`.
fn told_rows(mask: &Mask, history: &[Arc<Envelope>]) -> String {
    let (mut view, mut told) = (View::default(), String::new());
    for envelope in history {
        fold(&mut view, envelope, &mut |_| {});
        let row = row(&ConversationId::parse("c").unwrap(), &Epoch::new("e"), &view, envelope.at, 0);
        told += &serde_json::to_string(&mask.row(row)).unwrap();
        told.push('\n');
    }
    told
}

proptest! {
    #![proptest_config(cases())]

    /// The law of masks for the list.
    #[test]
    fn changing_hidden_contents_changes_no_byte_of_a_row_that_a_role_is_told(
        history in any_history(1..30),
        mask in mask(),
        salt in 1_u64..1_000_000,
    ) {
        let whole = testkit::folded(&history);
        let other: Vec<_> =
            history.iter().zip(salt..).map(|(it, salt)| Arc::new(altered(&mask, it, &whole, salt))).collect();
        prop_assert_eq!(told_rows(&mask, &history), told_rows(&mask, &other), "{:?}", mask);
    }
}
