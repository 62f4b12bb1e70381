//! Tests of events on the wire: whatever is written is read back the same, whatever is unknown passes untouched.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::envelope::Envelope;
use crate::testkit::history;

proptest! {
    #[test]
    fn what_is_written_is_read_back(history in history(1..20)) {
        for envelope in history {
            let text = serde_json::to_string(&*envelope).unwrap();
            prop_assert_eq!(&Envelope::parse(&text).unwrap(), Arc::as_ref(&envelope), "{}", text);
        }
    }

    #[test]
    fn reading_never_panics(text in "\\PC{0,60}") {
        let _read = parse_event(&text).is_ok();
        let _read = parse_event(&format!("{{\"k\":\"part.delta\",{text}}}")).is_ok();
    }
}

#[test]
fn a_kind_of_a_later_version_passes_through_and_is_critical() {
    let line = r#"{"k":"tool.rating","stars":[1,2],"run":"r","agent":"a","seq":7,"at":9}"#;
    let envelope = Envelope::parse(line).unwrap();
    assert_eq!(envelope.event.kind.class(), Class::Critical);
    assert_eq!(serde_json::to_string(&envelope).unwrap(), line);
}

#[test]
fn a_kind_of_a_later_version_may_give_our_field_names_other_types() {
    let line = r#"{"k":"later","state":{"deep":true},"run":"r","seq":1,"at":2}"#;
    let envelope = Envelope::parse(line).unwrap();
    assert_eq!(serde_json::to_string(&envelope).unwrap(), line);
}

#[test]
fn a_missing_field_is_named() {
    let error = parse_event(r#"{"k":"part.delta","run":"r","text":"x"}"#).unwrap_err();
    assert_eq!(error.to_string(), "a part.delta event needs the field \"part\"");
    let error = parse_event(r#"{"k":"tool.state","tool":"t","state":"flying"}"#).unwrap_err();
    assert!(error.to_string().contains("flying"), "{error}");
}

#[test]
fn json_of_a_result_keeps_its_spelling_and_stays_on_one_line() {
    let line = "{\"k\":\"tool.result\",\"run\":\"r\",\"tool\":\"t\",\"output\":{\n \"n\": 1.0,\r\n \"big\": 12345678901234567890123}}";
    let text = serde_json::to_string(&parse_event(line).unwrap()).unwrap();
    assert!(!text.contains(['\n', '\r']));
    assert!(text.contains("1.0") && text.contains("12345678901234567890123"), "{text}");
}

#[test]
fn a_result_of_null_is_an_empty_one_for_whoever_reads_it() {
    let result = ToolResult::new("t".into(), Json::parse("null").unwrap(), false);
    let kind = Kind::ToolResult(result);
    let event = Event::new(&RunId::new("r"), kind);
    let read = parse_event(&serde_json::to_string(&event).unwrap()).unwrap();
    assert_eq!(read, event);
    let Kind::ToolResult(result) = read.kind else { panic!("no result") };
    assert_eq!(result.output, Json::string(""));
}

#[test]
fn arguments_may_be_text_or_json() {
    let kind = |line: &str| parse_event(line).unwrap().kind;
    let text = kind(r#"{"k":"tool.call","tool":"t","arguments":"{\"a\":1}"}"#);
    let json = kind(r#"{"k":"tool.call","tool":"t","arguments":{"a":1}}"#);
    assert_eq!(text, json);
}

#[test]
fn whether_a_failure_may_pass_is_said_or_not_said() {
    for (said, retryable) in
        [("", None), (r#","retryable":true"#, Some(true)), (r#","retryable":false"#, Some(false))]
    {
        let line = format!(r#"{{"k":"error","code":"c","message":"m"{said},"run":"r","seq":1,"at":2}}"#);
        let envelope = Envelope::parse(&line).unwrap();
        let Kind::Error(fact) = &envelope.event.kind else { panic!("{line}") };
        assert_eq!(
            (fact.retryable, fact.may_pass(), fact.is_permanent()),
            (retryable, retryable == Some(true), retryable == Some(false))
        );
        assert_eq!(serde_json::to_string(&envelope).unwrap(), line, "and is passed on as it was");
    }
}
