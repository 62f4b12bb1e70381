//! What is gathered for searching and counting.

use model::testkit;

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
