//! The two encodings: what is written in both is read the same, and nothing that is damaged panics.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::otlp::{OtlpEncoding, OtlpExport, answer, read};
use super::{Attributes, FinishedSpan, SpanEvent};
use model::limits::NAME_BYTES_MAX;

/// One field of a protobuf message.
fn field(number: u64, kind: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | kind, out);
    if kind == 2 {
        varint(bytes.len() as u64, out);
    }
    out.extend_from_slice(bytes);
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7F) as u8);
}

fn message(fields: &[(u64, u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, kind, bytes) in fields {
        field(*number, *kind, bytes, &mut out);
    }
    out
}

fn any(value: &Value) -> Vec<u8> {
    let mut number = Vec::new();
    match value {
        Value::String(text) => message(&[(1, 2, text.clone().into_bytes())]),
        Value::Bool(flag) => message(&[(2, 0, vec![u8::from(*flag)])]),
        Value::Number(it) if it.is_i64() => {
            varint(it.as_i64().unwrap().cast_unsigned(), &mut number);
            message(&[(3, 0, number)])
        }
        Value::Number(it) => message(&[(4, 1, it.as_f64().unwrap().to_le_bytes().to_vec())]),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| (1, 2, any(item))).collect();
            message(&[(5, 2, message(&items))])
        }
        Value::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (1, 2, pair(name, value))).collect();
            message(&[(6, 2, message(&fields))])
        }
        Value::Null => Vec::new(),
    }
}

fn pair(name: &str, value: &Value) -> Vec<u8> {
    message(&[(1, 2, name.as_bytes().to_vec()), (2, 2, any(value))])
}

/// The bytes of an export with `span` in it.
fn protobuf(span: &FinishedSpan) -> Vec<u8> {
    let mut fields = vec![
        (1, 2, span.trace.to_vec()),
        (2, 2, span.id.to_vec()),
        (5, 2, span.name.clone().into_bytes()),
        (7, 1, span.start_ns.to_le_bytes().to_vec()),
        (8, 1, span.end_ns.to_le_bytes().to_vec()),
        (15, 2, message(&[(2, 2, span.status_message.clone().into_bytes()), (3, 0, vec![2])])),
        (16, 5, 0x300_u32.to_le_bytes().to_vec()),
        // A field of a later version, and the links, which nobody reads.
        (13, 2, message(&[(1, 2, span.trace.to_vec())])),
        (99, 2, b"later".to_vec()),
    ];
    fields.extend(span.parent.map(|parent| (4, 2, parent.to_vec())));
    fields.extend(span.attributes.iter().map(|(name, value)| (9, 2, pair(name, value))));
    for event in &span.events {
        let mut event_fields =
            vec![(1, 1, event.at_ns.to_le_bytes().to_vec()), (2, 2, event.name.clone().into_bytes())];
        event_fields.extend(event.attributes.iter().map(|(name, value)| (3, 2, pair(name, value))));
        fields.push((11, 2, message(&event_fields)));
    }
    let scope = message(&[(1, 2, span.scope.clone().into_bytes())]);
    let scope_spans = message(&[(1, 2, scope), (2, 2, message(&fields))]);
    let service = pair("service.name", &json!(span.service.clone().unwrap()));
    let host = pair("host.name", &json!(span.host.clone().unwrap()));
    let resource = message(&[(1, 2, service), (1, 2, host)]);
    message(&[(1, 2, message(&[(1, 2, resource), (2, 2, scope_spans)]))])
}

fn any_json(value: &Value) -> Value {
    match value {
        Value::String(_) => json!({"stringValue": value}),
        Value::Bool(_) => json!({"boolValue": value}),
        Value::Number(it) if it.is_i64() => json!({"intValue": it.to_string()}),
        Value::Number(_) => json!({"doubleValue": value}),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(any_json).collect::<Vec<_>>()}})
        }
        Value::Object(fields) => {
            let pairs: Vec<_> =
                fields.iter().map(|(key, it)| json!({"key": key, "value": any_json(it)})).collect();
            json!({"kvlistValue": {"values": pairs}})
        }
        Value::Null => json!({}),
    }
}

fn pairs_json(attributes: &Attributes) -> Vec<Value> {
    attributes.iter().map(|(key, it)| json!({"key": key, "value": any_json(it)})).collect()
}

fn json_form(span: &FinishedSpan) -> Vec<u8> {
    let events: Vec<_> = span
        .events
        .iter()
        .map(|it| json!({"timeUnixNano": it.at_ns.to_string(), "name": it.name, "attributes": pairs_json(&it.attributes)}))
        .collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": span.service}},
            {"key": "host.name", "value": {"stringValue": span.host}}]},
        "scopeSpans": [{"scope": {"name": span.scope}, "spans": [{
            "traceId": super::hex(&span.trace).to_uppercase(),
            "spanId": super::hex(&span.id),
            "parentSpanId": span.parent.map(|it| super::hex(&it)).unwrap_or_default(),
            "flags": 0x301,
            "name": span.name,
            "startTimeUnixNano": span.start_ns.to_string(),
            "endTimeUnixNano": span.end_ns,
            "attributes": pairs_json(&span.attributes),
            "events": events,
            "status": {"code": 2, "message": span.status_message},
            "later": 1,
        }]}],
    }]})
    .to_string()
    .into_bytes()
}

fn example() -> FinishedSpan {
    let attributes = [
        ("text", json!("é 漢 🙂")),
        ("yes", json!(true)),
        ("less", json!(-7)),
        ("half", json!(0.5)),
        ("list", json!(["a", 1, [true]])),
        ("map", json!({"a": {"b": "c"}})),
    ];
    let attributes: Attributes =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    FinishedSpan {
        trace: [7; 16],
        id: [9; 8],
        parent: Some([8; 8]),
        is_parent_remote: true,
        name: String::from("chat gpt"),
        start_ns: 1_795_300_000_000_000_001,
        end_ns: 1_795_300_000_900_000_001,
        attributes: attributes.clone(),
        events: vec![SpanEvent { name: String::from("e"), at_ns: 5, attributes }],
        failed: true,
        status_message: String::from("broken"),
        service: Some(String::from("planner")),
        host: Some(String::from("box-1")),
        scope: String::from("scope"),
    }
}

#[test]
fn both_encodings_hold_the_same_span() {
    let wanted = OtlpExport { spans: vec![example()], rejected: 0, message: String::new() };
    assert_eq!(read(OtlpEncoding::Protobuf, &protobuf(&example())), Ok(wanted));
    let wanted = OtlpExport { spans: vec![example()], rejected: 0, message: String::new() };
    assert_eq!(read(OtlpEncoding::Json, &json_form(&example())), Ok(wanted));
}

#[test]
fn spans_without_ids_are_rejected_alone_and_garbage_as_a_whole() {
    let nameless = FinishedSpan { id: [0; 8], ..example() };
    for (encoding, body) in
        [(OtlpEncoding::Protobuf, protobuf(&nameless)), (OtlpEncoding::Json, json_form(&nameless))]
    {
        let export = read(encoding, &body).unwrap();
        assert_eq!((export.spans.len(), export.rejected), (0, 1));
        assert_eq!(export.message, "a span without ids");
    }
    for (encoding, garbage) in [
        (OtlpEncoding::Protobuf, &b"<html>no</html>"[..]),
        (OtlpEncoding::Protobuf, &[0x0A, 0x05, 0x01][..]),
        (OtlpEncoding::Json, b"[]"),
        (OtlpEncoding::Json, b"{\"resourceSpans\":"),
    ] {
        assert!(read(encoding, garbage).is_err(), "{garbage:?}");
    }
    assert_eq!(read(OtlpEncoding::Protobuf, b"").unwrap(), OtlpExport::default());
    assert_eq!(read(OtlpEncoding::Json, b"{}").unwrap(), OtlpExport::default());
}

#[test]
fn a_long_name_of_a_program_or_its_host_is_not_repeated_for_each_of_its_spans() {
    const LONG: usize = 100_000;
    let span = || message(&[(1, 2, vec![7; 16]), (2, 2, vec![9; 8])]);
    let spans = (0..1_000).map(|_| (2, 2, span()));
    let scope = message(&[(1, 2, vec![b's'; LONG])]);
    let scope_spans = message(&std::iter::once((1, 2, scope)).chain(spans).collect::<Vec<_>>());
    let long_name = |key| (1, 2, pair(key, &json!("é".repeat(LONG))));
    let resource = message(&[long_name("service.name"), long_name("host.name")]);
    let protobuf = message(&[(1, 2, message(&[(1, 2, resource), (2, 2, scope_spans)]))]);
    let name = Some("é".repeat(LONG));
    let long = FinishedSpan { service: name.clone(), host: name, scope: "s".repeat(LONG), ..example() };
    for (encoding, body, count) in
        [(OtlpEncoding::Protobuf, protobuf, 1_000), (OtlpEncoding::Json, json_form(&long), 1)]
    {
        let export = read(encoding, &body).unwrap();
        assert_eq!(export.spans.len(), count);
        for span in export.spans {
            assert_eq!(span.service.as_deref(), Some("é".repeat(NAME_BYTES_MAX / 2).as_str()));
            assert_eq!(span.host, span.service);
            assert_eq!(span.scope, "s".repeat(NAME_BYTES_MAX));
        }
    }
}

#[test]
fn answers_say_what_was_rejected_and_are_empty_when_nothing_was() {
    assert_eq!(answer(OtlpEncoding::Json, 0, ""), b"{}");
    assert_eq!(answer(OtlpEncoding::Protobuf, 0, ""), b"");
    let said: Value = serde_json::from_slice(&answer(OtlpEncoding::Json, 3, "why")).unwrap();
    assert_eq!(said, json!({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "why"}}));
    assert_eq!(answer(OtlpEncoding::Protobuf, 300, "why"), [10, 8, 8, 0xAC, 2, 18, 3, b'w', b'h', b'y']);
}

proptest! {
    #[test]
    fn damaged_bodies_never_panic(at in 0_usize..600, byte in any_byte(), cut in 0_usize..600) {
        for (encoding, mut body) in
            [(OtlpEncoding::Protobuf, protobuf(&example())), (OtlpEncoding::Json, json_form(&example()))]
        {
            let place = at.checked_rem(body.len()).unwrap();
            body[place] = byte;
            body.truncate(body.len().saturating_sub(cut));
            let _either = read(encoding, &body);
        }
    }

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any_byte(), 0..200)) {
        let _either = (read(OtlpEncoding::Protobuf, &body), read(OtlpEncoding::Json, &body));
    }
}

fn any_byte() -> impl Strategy<Value = u8> {
    proptest::num::u8::ANY
}
