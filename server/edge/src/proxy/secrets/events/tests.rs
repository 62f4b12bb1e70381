//! Tests of keys that are struck out of events.

use axum::http::HeaderMap;
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{ErrorFact, Message, PartEnd, RunStart, ToolResult};

use super::*;

const KEY: &str = "sk-7c1d5e0f9b3a";

fn striker() -> Striker {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {KEY}").parse().unwrap());
    Striker::new(&Arc::new(Secrets::of(&headers, None, None)))
}

fn decoded(kinds: Vec<Kind>) -> Decoded {
    let mut decoded = Decoded::default();
    for kind in kinds {
        decoded.push(&RunId::new("r"), kind);
    }
    decoded
}

fn delta(text: &str) -> Kind {
    Kind::PartDelta { part: PartId::new("p"), off: Some(7), text: text.into() }
}

fn end() -> Kind {
    let part = PartId::new("p");
    Kind::PartEnd(PartEnd { part, len: None, hash: None, duration_ms: None, hidden: false, signature: None })
}

#[test]
fn keys_are_struck_out_of_every_kind_of_event() {
    let tool = || ToolCallId::new(KEY);
    let said = String::from(KEY);
    let fact = ErrorFact { code: KEY.into(), message: said.clone(), retryable: None, retry_after_ms: None };
    let message =
        Message { message: MessageId::new(KEY), role: "user".into(), text: said.clone(), files: Vec::new() };
    let output = Json::parse(&format!(r#"{{"env":["{KEY}"]}}"#)).unwrap();
    let mut events = decoded(vec![
        Kind::RunStart(RunStart {
            title: Some(said.clone()),
            model: Some(KEY.into()),
            host: Some(KEY.into()),
            ..RunStart::default()
        }),
        Kind::Message(message),
        delta(KEY),
        Kind::ToolArgs { tool: tool(), off: None, text: KEY.into() },
        Kind::ToolCall { tool: tool(), name: Some(KEY.into()), arguments: Some(said.clone()) },
        Kind::ToolResult(ToolResult::new(tool(), output, false)),
        Kind::Status { text: said.clone() },
        Kind::Error(fact),
        Kind::Anomaly(Anomaly { code: AnomalyCode::Malformed, detail: said }),
        Kind::Custom { name: "x".into(), value: Json::string(KEY) },
        end(),
    ]);
    let count = events.envelopes.len();
    striker().strike(&mut events);
    let json = serde_json::to_string(&events.envelopes).unwrap();
    assert!(!json.contains(KEY), "{json}");
    assert_eq!((events.envelopes.len(), json.matches("[key]").count()), (count, 18), "{json}");
    assert!(json.contains(r#"{"env":["[key]"]}"#), "{json}");
}

#[test]
fn i11_a_key_is_struck_however_its_deltas_are_cut() {
    let text = format!("It is {KEY}, or sk-7c1 or é{KEY}{KEY} sk-7c");
    for size in 1..text.len() {
        let mut striker = striker();
        let mut whole = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let at = (1..=size.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(2);
            let (piece, after) = rest.split_at(at);
            rest = after;
            // What one part holds back is no matter of another one, nor of a call with the same name.
            let other = Kind::ToolArgs { tool: ToolCallId::new("p"), off: None, text: "{}".into() };
            let mut events = decoded(vec![delta(piece), other]);
            if rest.is_empty() {
                events.push(&RunId::new("r"), end());
            }
            striker.strike(&mut events);
            for envelope in events.envelopes {
                if let Kind::PartDelta { text, off, .. } = envelope.event.kind {
                    assert!(off.is_none() && !text.is_empty());
                    whole.push_str(&text);
                }
            }
        }
        assert_eq!(whole, "It is [key], or sk-7c1 or é[key][key] sk-7c", "{size}");
    }
}

#[test]
fn what_is_held_back_is_bounded_and_comes_with_the_end_of_the_run() {
    let mut striker = striker();
    let part = |number: usize| PartId::new(&format!("p{number}"));
    let begin = |number| Kind::PartDelta { part: part(number), off: None, text: "a sk-7c1d5".into() };
    let mut events = decoded((0..=PROXY_PARTS_HELD_MAX).map(begin).collect());
    striker.strike(&mut events);
    let text = |envelope: &Envelope| match &envelope.event.kind {
        Kind::PartDelta { text, .. } => text.to_string(),
        other => format!("{other:?}"),
    };
    let texts: Vec<_> = events.envelopes.iter().map(text).collect();
    assert_eq!(texts.iter().filter(|text| *text == "a ").count(), PROXY_PARTS_HELD_MAX);
    assert_eq!(texts.last().map(String::as_str), Some("a [key]"), "one more than are held");
    let mut events = decoded(vec![Kind::RunEnd(model::event::RunEnd::default())]);
    striker.strike(&mut events);
    assert_eq!(events.envelopes.len(), PROXY_PARTS_HELD_MAX + 1);
    assert_eq!(events.envelopes.first().map(text).as_deref(), Some("sk-7c1d5"));
    assert!(matches!(events.envelopes.last().map(|last| &last.event.kind), Some(Kind::RunEnd(_))));
}

#[test]
fn what_is_held_back_is_not_printed() {
    let mut striker = striker();
    striker.strike(&mut decoded(vec![delta("sk-7c1d5")]));
    assert!(!format!("{striker:?}").contains("sk-"), "{striker:?}");
}
