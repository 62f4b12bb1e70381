//! What is gathered for searching and counting.

use std::sync::Arc;

use model::testkit;
use model::testkit::masked::{altered, any_history, mask};
use proptest::prelude::*;

use super::*;

fn entries(lines: &str) -> IndexEntries {
    let mut view = View::default();
    let mut into = IndexEntries::default();
    for envelope in testkit::logged(testkit::events(lines)) {
        fold_and_index(&mut view, &envelope, &mut into);
    }
    into
}

fn texts(entries: &IndexEntries) -> Vec<(SearchDocumentKind, &str, &str)> {
    entries.documents.iter().map(|found| (found.kind, found.name.as_str(), found.text.as_str())).collect()
}

#[test]
fn texts_are_found_once_they_are_whole() {
    let begun = r#"
        {"k":"message","message":"m1","role":"user","text":"Why?","run":""}
        {"k":"run.start","run":"r1"}
        {"k":"part.start","part":"p1","kind":"thinking","run":"r1"}
        {"k":"part.delta","part":"p1","text":"Let me ","run":"r1"}
        {"k":"part.delta","part":"p1","text":"see","run":"r1"}
        {"k":"part.end","part":"p1","run":"r1"}
        {"k":"part.start","part":"p2","kind":"text","run":"r1"}
        {"k":"part.delta","part":"p2","text":"Because","run":"r1"}
    "#;
    let found = entries(begun);
    let before =
        [(SearchDocumentKind::Message, "user", "Why?"), (SearchDocumentKind::Thinking, "", "Let me see")];
    assert_eq!(texts(&found), before);
    assert_eq!(found.documents[1].seq, 6);
    let ended = entries(&format!("{begun}{}", r#"{"k":"run.end","status":"interrupted","run":"r1"}"#));
    assert_eq!(texts(&ended)[2..], [(SearchDocumentKind::Text, "", "Because")]);
}

#[test]
fn calls_are_found_by_arguments_and_result_and_counted_once() {
    let found = entries(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"tool.call","tool":"t1","name":"sql","arguments":"{\"q\":1}","run":"r1"}
        {"k":"tool.state","tool":"t1","state":"executing","run":"r1"}
        {"k":"tool.state","tool":"t1","state":"complete","exec_ms":840,"run":"r1"}
        {"k":"tool.result","tool":"t1","output":"3 rows","exec_ms":840,"run":"r1"}
        {"k":"tool.call","tool":"t2","name":"rm","arguments":"{}","run":"r1"}
        {"k":"tool.result","tool":"t2","output":"no","is_error":true,"exec_ms":2,"run":"r1"}
        {"k":"tool.call","tool":"t3","name":"wait","run":"r1"}
        {"k":"run.end","status":"cancelled","run":"r1"}
    "#,
    );
    let call = |name: &str, failed, ms| EndedToolCall { name: name.into(), failed, latency_ms: Some(ms) };
    assert_eq!(found.calls, [call("sql", false, 840), call("rm", true, 2)]);
    let results = texts(&found).into_iter().filter(|(kind, ..)| *kind == SearchDocumentKind::Result);
    assert_eq!(
        results.collect::<Vec<_>>(),
        [(SearchDocumentKind::Result, "sql", "3 rows"), (SearchDocumentKind::Result, "rm", "no")]
    );
}

#[test]
fn i7_of_a_long_text_the_beginning_is_found() {
    let long = "é".repeat(DOCUMENT_BYTES_MAX);
    let line = format!(r#"{{"k":"message","message":"m1","role":"user","text":"x{long}","run":""}}"#);
    let found = entries(&line);
    assert_eq!(found.documents[0].text.len(), DOCUMENT_BYTES_MAX - 1);
}

#[test]
fn blank_texts_that_every_role_sees_are_not_found_and_others_are_counted() {
    let found = entries(
        r#"
        {"k":"run.start","run":"r1"}
        {"k":"part.start","part":"p1","kind":"text","run":"r1"}
        {"k":"part.end","part":"p1","run":"r1"}
        {"k":"part.start","part":"p2","kind":"thinking","run":"r1"}
        {"k":"part.end","part":"p2","run":"r1"}
    "#,
    );
    assert_eq!(texts(&found), [(SearchDocumentKind::Thinking, "", "")]);
}

/// All that a role can find of `history`, with the numbers of the hits, and what it is told of its calls.
fn findable(mask: &Mask, history: &[Arc<Envelope>]) -> String {
    let (mut view, mut all) = (View::default(), IndexEntries::default());
    for envelope in history {
        fold_and_index(&mut view, envelope, &mut all);
    }
    let documents = all.documents.iter().enumerate();
    let shown = documents.filter(|(_, it)| shows_document(mask, it.kind, &it.name));
    let told = all.calls.iter().filter(|call| !mask.hides_tool(&call.name));
    format!("{:?} {:?}", shown.collect::<Vec<_>>(), told.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(testkit::masked::cases())]

    /// The law of masks for the search and the figures of tools.
    #[test]
    fn changing_hidden_contents_changes_nothing_that_a_role_finds(
        history in any_history(1..30),
        mask in mask(),
        salt in 1_u64..1_000_000,
    ) {
        let whole = testkit::folded(&history);
        let other: Vec<_> =
            history.iter().zip(salt..).map(|(it, salt)| Arc::new(altered(&mask, it, &whole, salt))).collect();
        prop_assert_eq!(findable(&mask, &history), findable(&mask, &other), "{:?}", mask);
    }
}
