//! Tests that what is read quickly is what the general reader reads.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::value::RawValue;

use super::*;

/// The items of a list by `serde_json`; nothing if it refuses the text.
fn general(text: &str) -> Option<Vec<String>> {
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(items.into_iter().map(|item| item.get().to_owned()).collect())
}

/// The items of a list as they are read here.
fn quick(text: &str) -> Option<Vec<String>> {
    items(Members::within(text, b'[', b']', value_end)?)
}

/// The items of a list that was checked, as they are read here.
fn checked(text: &str) -> Option<Vec<String>> {
    items(Members::of_checked_list(text)?)
}

fn items(mut members: Members<'_>) -> Option<Vec<String>> {
    let mut items = Vec::new();
    while let Some(item) = members.item().ok()? {
        items.push(item.to_owned());
    }
    Some(items)
}

/// Values of each kind, short and long, with what ends a value inside of their strings.
const ITEMS: &[&str] = &[
    "null",
    "-0.5e+3",
    "12",
    "true",
    "\"\"",
    "\"a\\\"]\"",
    "\"abcdefg\\\\\"",
    "\"\\u00e9 and so on, [ and { \\\" until the end\"",
    "[]",
    "{}",
    "[ 1 , [ \"]\" ] ]",
    "{\"a\":[{\"}\":\"\\\\\"}],\"b\\\"\" : null }",
];

#[test]
fn usual_values_are_taken_and_wrong_ones_are_not() {
    for item in ["null", "true", "-0.5e+3", "0", r#""a\u00e9\"b""#, r#"{"a":[1,{}],"b":"}"}"#, "[[],[1]]"] {
        let list = format!(" [ {item} ,{item}]\n");
        assert_eq!(quick(&list), general(&list), "{item}");
        assert!(quick(&list).is_some(), "{item}");
        assert_eq!(checked(&list), general(&list), "{item}");
    }
    for item in
        ["01", "-", "1.", "1e", "nul", r#""\x""#, r#""\u12g4""#, "\"\n\"", "{\"a\"}", "[1,]", "{,}", "", "+1"]
    {
        let list = format!("[{item},1]");
        assert_eq!(general(&list), None, "{item}");
        assert_eq!(quick(&list), None, "{item}");
    }
    assert_eq!(quick("[1] 2"), None);
    assert_eq!(quick(&format!("[{}{}]", "[".repeat(62), "]".repeat(62))), None);
}

proptest! {
    #[test]
    fn nothing_is_taken_that_the_general_reader_refuses(text in r#"\[([\[\]{}:, "\\nulretf01eE.+\-a\t\u{1}é]|"[ab\\"é]*"|"a":|null|true|12){0,12}\]"#) {
        if let Some(items) = quick(&text) {
            prop_assert_eq!(Some(items), general(&text));
        }
        let whole = general(&text);
        if whole.is_some() {
            prop_assert_eq!(checked(&text), whole);
            prop_assert_eq!(value(&text), Some(text.trim_matches([' ', '\n', '\t', '\r'])));
        } else {
            prop_assert_eq!(value(&text), None);
        }
    }

    #[test]
    fn lists_are_divided_as_in_general(items in prop::collection::vec(select(ITEMS), 0..8), white in "[ \n\t\r]{0,2}") {
        let text = format!("{white}[{white}{}{white}]{white}", items.join(&format!("{white},{white}")));
        prop_assert!(general(&text).is_some(), "{text}");
        prop_assert_eq!(quick(&text), general(&text));
        prop_assert_eq!(checked(&text), general(&text));
        prop_assert_eq!(value(&text), Some(text.trim_matches([' ', '\n', '\t', '\r'])));
    }
}
