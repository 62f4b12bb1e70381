//! Tests of previews and of laid-out JSON.

use proptest::prelude::*;

use super::*;

fn joined(json: &str) -> String {
    pretty(json).into_iter().map(|token| token.text).collect()
}

#[test]
fn the_telling_argument_is_the_preview() {
    assert_eq!(arguments(r#"{"limit":5,"query":"rates  2026"}"#), "rates 2026");
    assert_eq!(arguments(r#"{"region":"EMEA"}"#), "EMEA");
    assert_eq!(arguments(r#"{"kind":"bar","x":"region"}"#), r#"{"kind":"bar","x":"region"}"#);
    assert_eq!(arguments("not json"), "not json");
    assert_eq!(arguments(" {} "), "");
}

#[test]
fn previews_end_after_200_characters() {
    let long = "ß".repeat(300);
    let preview = arguments(&format!(r#"{{"query":"{long}"}}"#));
    assert_eq!(preview.chars().count(), PREVIEW_CHARS + 1);
    assert!(preview.ends_with('…'));
    assert_eq!(cut("abc", 3), ("abc", false));
    assert_eq!(cut("äbc", 1), ("ä", true));
}

#[test]
fn the_tail_is_the_newest_piece() {
    assert_eq!(tail(r#"{"a": 1"#), r#"{"a": 1"#);
    let long = "x".repeat(200);
    assert_eq!(tail(&long), format!("…{}", "x".repeat(80)));
}

#[test]
fn a_result_says_what_it_is() {
    let of = |text: &str| PreviewOutput::of(&Json::parse(text).unwrap());
    assert_eq!(of(r#"{"a":1,"b":2}"#).summary(), "JSON · 2 keys · 13 B");
    assert_eq!(of(r#""{\"a\":1}""#).summary(), "JSON · 1 key · 7 B");
    assert_eq!(of(r#""hello""#).summary(), "text · 5 B");
    assert!(of(r#""""#).is_empty());
    assert!(of("null").is_empty());
    assert!(of("{ }").text == "{ }" && !of("{\"a\":null}").is_empty());
}

#[test]
fn json_is_laid_out_and_keeps_its_spelling() {
    let text = joined(r#"{"a":1.0e5,"b":[true,{}],"c":"x:\"y\",{"}"#);
    assert_eq!(
        text,
        "{\n  \"a\": 1.0e5,\n  \"b\": [\n    true,\n    {}\n  ],\n  \"c\": \"x:\\\"y\\\",{\"\n}"
    );
    let kinds: Vec<_> = pretty(r#"{"k":"v"}"#).into_iter().map(|token| token.kind).collect();
    assert_eq!(
        kinds,
        [TokenKind::Plain, TokenKind::Key, TokenKind::Plain, TokenKind::Text, TokenKind::Plain]
    );
}

#[test]
fn i7_nested_brackets_do_not_make_much_of_little() {
    let json = format!("{}{}1{}", "[".repeat(60), "1,".repeat(100_000), "]".repeat(60));
    assert!(joined(&json).len() < 10 * json.len());
}

proptest! {
    #[test]
    fn laying_out_changes_only_white_space(text in "[ \\n{}\\[\\],:\"a1\\\\]{0,60}") {
        let solid = |text: &str| text.chars().filter(|c| !c.is_ascii_whitespace()).collect::<String>();
        prop_assert_eq!(solid(&joined(&text)), solid(&text));
    }

    #[test]
    fn previews_take_any_text(text in any::<String>()) {
        prop_assert!(arguments(&text).chars().count() <= PREVIEW_CHARS + 1);
        prop_assert!(tail(&text).chars().count() <= 81);
    }
}
