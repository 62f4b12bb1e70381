//! Every frame of `docs/protocol.md` is read and written as it stands there: the document cannot drift from the code.

use super::*;
use crate::code::CloseCode;

const PROTOCOL: &str = include_str!("../../../../docs/protocol.md");

/// The one-line JSON objects in the document's `json` blocks whose opening line says `what`.
fn examples(what: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in PROTOCOL.lines() {
        if line.starts_with("```") {
            inside = line == format!("```json {what}");
        } else if inside && !line.trim().is_empty() {
            found.push(line);
        }
    }
    found
}

#[test]
fn who_reads_frames_may_read_views_otherwise() {
    let snap = r#"{"t":"snap","sub":1,"epoch":"e","seq":7,"state":{"seq":7,"any":"thing"}}"#;
    let read = |json: &str| {
        assert_eq!(json, r#"{"seq":7,"any":"thing"}"#);
        Ok(Box::new(View { seq: 9, ..View::default() }))
    };
    let ServerFrame::Snap { state, .. } = parse_server_with(snap, read).unwrap() else {
        panic!("no snapshot")
    };
    assert_eq!(state.seq, 9);
    let refused = |_: &str| Err(<serde_json::Error as serde::de::Error>::custom("not now"));
    assert!(matches!(parse_server_with(snap, refused), Err(ServerFrameError::Json(_))));
    let never = |_: &str| unreachable!("there is no view in it");
    let live = parse_server_with(r#"{"t":"live","sub":1,"seq":7}"#, never).unwrap();
    assert_eq!(live, ServerFrame::Live { sub: 1, seq: 7 });
}

#[test]
fn every_client_frame_of_the_document_is_read_and_written() {
    let mut types = std::collections::BTreeSet::new();
    for line in examples("client") {
        let frame = parse_client(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(parse_client(&serde_json::to_string(&frame).unwrap()).unwrap(), frame);
        types.insert(frame_type(line));
    }
    let known = ["command", "hb_ack", "hello", "pub", "resync", "sub", "unsub", "watch"];
    assert_eq!(types.iter().map(String::as_str).collect::<Vec<_>>(), known);
}

#[test]
fn every_server_frame_of_the_document_is_read_and_written() {
    let mut types = std::collections::BTreeSet::new();
    for line in examples("server") {
        let frame = parse_server(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_ne!(frame, ServerFrame::Unknown, "{line}");
        assert_eq!(parse_server(&serde_json::to_string(&frame).unwrap()).unwrap(), frame);
        types.insert(frame_type(line));
    }
    let known = [
        "ack", "batch", "bye", "done", "error", "fleet", "hb", "health", "lag", "live", "presence",
        "refused", "snap", "subbed", "welcome",
    ];
    assert_eq!(types.iter().map(String::as_str).collect::<Vec<_>>(), known);
}

#[test]
fn every_event_of_the_document_is_written_as_it_stands_there() {
    let mut kinds = std::collections::BTreeSet::new();
    for line in examples("event") {
        let event = crate::event::parse_event(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let written: serde_json::Value =
            serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        let stands: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(written, stands);
        kinds.insert(stands["k"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.len(), 28, "{kinds:?}");
}

#[test]
fn every_code_stands_in_the_document() {
    for code in CloseCode::ALL {
        assert!(PROTOCOL.contains(&format!("| {} |", code.number())), "close code {}", code.number());
    }
    for code in ErrorCode::ALL {
        assert!(PROTOCOL.contains(&format!("| `{code}` |")), "error code {code}");
        assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
    }
}

fn frame_type(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    value["t"].as_str().unwrap().to_owned()
}

#[test]
fn a_frame_of_a_later_version_is_skipped_by_a_client_and_named_by_the_hub() {
    assert_eq!(parse_server(r#"{"t":"weather","sub":1,"ev":[]}"#).unwrap(), ServerFrame::Unknown);
    let error = parse_client(r#"{"t":"weather"}"#).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (ErrorCode::BadRequest, "no frame has the type \"weather\"")
    );
}

#[test]
fn a_bad_event_of_a_publication_is_named_by_its_place() {
    let error =
        parse_client(r#"{"t":"pub","id":4,"conv":"c","events":[{"k":"rate","tokens":1},{"k":"part.end"}]}"#);
    let error = error.unwrap_err();
    assert_eq!((error.code(), error.about()), (ErrorCode::BadEvent, (None, Some(4))));
    assert_eq!(error.to_string(), "event 1 of the frame: a part.end event needs the field \"part\"");
}

#[test]
fn a_command_that_is_none_is_refused_by_its_id() {
    let refused = |frame: &str| {
        let error = parse_client(&format!(r#"{{"t":"command",{frame}}}"#)).unwrap_err();
        (error.command().map(ToString::to_string), error.code())
    };
    let bad = ErrorCode::BadRequest;
    assert_eq!(refused(r#""conv":"c","command":{"id":"1","command":"dance"}"#), (Some("1".into()), bad));
    assert_eq!(refused(r#""conv":"c","command":{"command":"stop"}"#), (Some(String::new()), bad));
    assert_eq!(refused(r#""conv":"c""#), (None, bad));
    assert_eq!(refused(r#""command":{"id":"1","command":"stop"}"#), (Some("1".into()), bad));
    let bad = ErrorCode::BadConversation;
    assert_eq!(refused(r#""conv":"a/b","command":{"id":"1","command":"stop"}"#), (Some("1".into()), bad));
}

#[test]
fn numbers_that_do_not_fit_the_events_are_refused() {
    let publication = |numbers: &str, events: &str| {
        parse_client(&format!(r#"{{"t":"pub","id":4,"conv":"c","pid":"p",{numbers},"events":[{events}]}}"#))
    };
    let event = r#"{"k":"rate","tokens":1}"#;
    for wrong in [r#""pfirst":1"#, r#""pfirst":1,"pseq":2"#, r#""pfirst":2,"pseq":1"#] {
        let error = publication(wrong, event).unwrap_err();
        assert_eq!((error.code(), error.about()), (ErrorCode::BadRequest, (None, Some(4))), "{wrong}");
    }
    assert!(publication(r#""pfirst":7,"pseq":7"#, event).is_ok());
    assert!(publication(r#""pfirst":8,"pseq":7"#, "").is_ok(), "a question");
    assert!(publication(&format!(r#""pfirst":{0},"pseq":{0}"#, u64::MAX), event).is_err(), "overflow");
}

#[test]
fn i7_more_events_than_the_limit_are_refused() {
    let events = vec![r#"{"k":"rate","tokens":1}"#; crate::limits::EVENTS_PER_PUBLISH_MAX + 1].join(",");
    let error = parse_client(&format!(r#"{{"t":"pub","id":4,"conv":"c","events":[{events}]}}"#)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooMany);
}

#[test]
fn what_a_viewer_cannot_have_is_refused_by_name() {
    let refused = |wish: &str| {
        let error = parse_client(&format!(r#"{{"t":"sub","sub":7,"conv":"c",{wish}}}"#)).unwrap_err();
        assert_eq!((error.code(), error.about()), (ErrorCode::BadRequest, (Some(7), None)));
        error.to_string()
    };
    assert_eq!(refused(r#""level":"some""#), r#""some" is not one of the levels critical, parts, deltas"#);
    assert!(refused(r#""kinds":["part.end"]"#).starts_with(r#""part.end" is not one of message, "#));
    assert_eq!(refused(r#""min_interval_ms":501"#), "min_interval_ms is at most 500");
}
