//! What is read out of fields of unexpected types.

use super::Field;

fn text_of(json: &str) -> Option<String> {
    Field::parse(json)?.text().map(std::borrow::Cow::into_owned)
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
    let count = |json| Field::parse(json).and_then(Field::count);
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
    let json = Field::parse(&deep).map(Field::json);
    assert!(json.is_some_and(|json| json.as_str().starts_with("\"[[")));
}
