//! What is read out of fields of unexpected types.

use super::{ForeignField, ForeignFields};

fn text_of(json: &str) -> Option<String> {
    ForeignField::parse(json)?.text().map(std::borrow::Cow::into_owned)
}

#[test]
fn strings_are_unescaped_and_other_types_are_no_text() {
    assert_eq!(text_of(r#""plain ü""#).as_deref(), Some("plain ü"));
    assert_eq!(text_of(r#""a\nb \u00fc \ud83d\ude00""#).as_deref(), Some("a\nb ü 😀"));
    assert_eq!(text_of("7"), None);
    assert_eq!(text_of("null"), None);
}

#[test]
fn half_a_surrogate_pair_costs_only_itself() {
    let text = text_of(r#""caf\u00e9 \ud83d!""#).unwrap_or_default();
    assert_eq!(text, "café \u{FFFD}!");
}

#[test]
fn counts_come_in_many_spellings() {
    let count = |json| ForeignField::parse(json).and_then(ForeignField::count);
    assert_eq!(count("12"), Some(12));
    assert_eq!(count("\"12\""), Some(12));
    assert_eq!(count("12.7"), Some(12));
    assert_eq!(count("-1"), None);
    assert_eq!(count("{}"), None);
    assert_eq!(count("null"), None);
}

#[test]
fn json_that_is_too_deep_is_handed_on_as_a_string() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let json = ForeignField::parse(&deep).map(ForeignField::json);
    assert!(json.is_some_and(|json| json.as_str().starts_with("\"[[")));
}

#[test]
fn fields_are_found_by_either_spelling_and_null_is_absent() {
    let object =
        ForeignField::parse(r#"{"message_id":null,"messageId":"m","RUN_ID":7,"x":[]}"#).unwrap_or_default();
    let fields = ForeignFields::of(object);
    assert_eq!(fields.get("messageId").text().as_deref(), Some("m"));
    assert_eq!(fields.any(&["absent", "runId"]).count(), Some(7));
    assert!(!fields.get("absent").is_some());
    assert!(!ForeignFields::of(ForeignField::parse("[1]").unwrap_or_default()).get("x").is_some());
}
