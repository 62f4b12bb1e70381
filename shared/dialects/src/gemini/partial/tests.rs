//! Arguments in pieces.

use serde_json::{Value, json};

use super::{PartialArguments, steps};
use crate::field::ForeignField;
use crate::writer::EventWriter;
use crate::{DecodeOptions, Decoded};
use model::event::Kind;
use model::limits::JSON_DEPTH_MAX;

/// What pieces give: the streamed text, the whole that stands in its place, and whether something was odd.
fn told(pieces: &[Value]) -> (String, Option<String>, bool) {
    let (mut writer, mut out) = (EventWriter::new("gemini", DecodeOptions::default()), Decoded::default());
    let (mut args, mut call) =
        (PartialArguments::default(), writer.open_call("c", "f", false, None, &mut out));
    for piece in pieces {
        let text = piece.to_string();
        args.take(&ForeignField::parse(&text).unwrap().object(), &mut call, &writer, &mut out);
    }
    let whole = args.end(&mut call, &writer, &mut out);
    let (mut text, mut is_odd) = (String::new(), false);
    for envelope in out.envelopes {
        match envelope.event.kind {
            Kind::ToolArgs { text: piece, .. } => text.push_str(&piece),
            Kind::Anomaly(_) => is_odd = true,
            _ => {}
        }
    }
    (text, whole, is_odd)
}

#[test]
fn values_in_order_go_out_as_json() {
    let pieces = [
        json!({"jsonPath": "$.to.city", "stringValue": "Bos", "willContinue": true}),
        json!({"jsonPath": "$.to.city", "stringValue": "ton \"\n"}),
        json!({"jsonPath": "$.to.days[0]", "numberValue": 1}),
        json!({"jsonPath": "$.to.days[1]", "numberValue": 2.5}),
        json!({"jsonPath": "$.to['by bus'].when", "nullValue": "NULL_VALUE"}),
        json!({"jsonPath": "$.stops[0].name", "stringValue": ""}),
        json!({"jsonPath": "$.stops[1].name", "stringValue": "x"}),
        json!({"jsonPath": "$.ok", "boolValue": true}),
    ];
    let expected = r#"{"to":{"city":"Boston \"\n","days":[1,2.5],"by bus":{"when":null}},"stops":[{"name":""},{"name":"x"}],"ok":true}"#;
    assert_eq!(told(&pieces), (expected.to_owned(), None, false));
    assert_eq!(told(&[]), (String::new(), None, false));
}

#[test]
fn values_out_of_order_stand_in_the_whole() {
    let pieces = [
        json!({"jsonPath": "$.a.x", "numberValue": 1}),
        json!({"jsonPath": "$.b", "stringValue": "b"}),
        json!({"jsonPath": "$.a.y", "stringValue": "y", "willContinue": true}),
        json!({"jsonPath": "$.a.y", "stringValue": "z"}),
    ];
    let (text, whole, is_odd) = told(&pieces);
    assert_eq!(text, r#"{"a":{"x":1},"b":"b"#);
    assert_eq!(
        serde_json::from_str::<Value>(&whole.unwrap()).unwrap(),
        json!({"a": {"x": 1, "y": "yz"}, "b": "b"})
    );
    assert!(!is_odd);
}

#[test]
fn what_fits_nowhere_is_left_out_and_said() {
    for path in
        ["", "city", "$", "$[0]", "$.", "$.a[", "$.a[x]", "$.list[4000000000]", "$.a.b", "$..a", "$.a[-1]"]
    {
        let (text, whole, is_odd) = told(&[
            json!({"jsonPath": "$.a", "numberValue": 1}),
            json!({"jsonPath": path, "numberValue": 2}),
        ]);
        assert_eq!((text.as_str(), whole, is_odd), (r#"{"a":1}"#, None, true), "{path}");
    }
    let deep = format!("${}", ".a".repeat(JSON_DEPTH_MAX + 1));
    assert_eq!(steps(&deep), None);
}
