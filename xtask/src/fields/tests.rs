//! Tests of what is read out of schemas and rows.

use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({
        "properties": {"run": {"type": "string", "maxLength": 160}, "at": {"type": "integer"}},
        "anyOf": [
            {"properties": {"k": {"const": "start"}}, "$ref": "#/$defs/Start"},
            {"properties": {"k": {"const": "said"}, "text": {"type": ["string", "null"]}, "value": true,
                "limits": {"type": "object", "properties": {"most": {"type": "integer"}}}}},
        ],
        "$defs": {
            "Start": {"properties": {"state": {"$ref": "#/$defs/State"}, "of": {"anyOf": [{"$ref": "#/$defs/Start"}, {"type": "null"}]},
                "names": {"type": "array"}, "places": {"type": "object"}, "is_late": {"type": "boolean"}}},
            "State": {"oneOf": [{"const": "open"}, {"const": "over"}]},
        },
    })
}

#[test]
fn all_fields_are_found_with_what_they_hold() {
    let all = fields(&[("Event", schema())]);
    let found: Vec<_> = all.iter().map(|(name, form)| (name.as_str(), form.word())).collect();
    assert_eq!(
        found,
        [
            ("Event.at", "number"),
            ("Event.run", "id"),
            ("Event:said.limits", "fields"),
            ("Event:said.limits.most", "number"),
            ("Event:said.text", "text"),
            ("Event:said.value", "json"),
            ("Start.is_late", "flag"),
            ("Start.names", "many"),
            ("Start.of", "fields"),
            ("Start.places", "many"),
            ("Start.state", "word"),
        ]
    );
}

#[test]
fn rows_are_read_with_the_limits_that_they_name() {
    let text = "# a word\n\nnumber | NUMBER_MAX | a.rs | t\nStart.names | at most RUNS_MAX, each NAME_BYTES_MAX | a.rs | t\nx\ny | as number\ny | own: a word of the hub | |\n";
    let (bounds, odd) = FieldBounds::parse(text);
    assert_eq!(odd, [5, 7], "one cell, and a field that comes twice");
    let row = bounds.of("Start.names", &FieldForm::Many).unwrap();
    assert_eq!(row.limits().collect::<Vec<_>>(), ["RUNS_MAX", "NAME_BYTES_MAX"]);
    assert_eq!(bounds.of("Event.at", &FieldForm::Number).unwrap().line, 3);
    assert_eq!(bounds.of("Event.text", &FieldForm::Text), None);
    assert!(bounds.of("y", &FieldForm::Text).unwrap().is_own());
}
