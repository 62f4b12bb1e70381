//! Tests that what is read quickly is what the general reader reads.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;

/// The items of a list by `serde_json`; nothing if it refuses the text.
fn general(text: &str) -> Option<Vec<String>> {
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(items.into_iter().map(|item| item.get().to_owned()).collect())
}

/// The items of a list as they are read here.
fn quick(text: &str) -> Option<Vec<String>> {
    let mut members = Members::of_list(text)?;
    let mut items = Vec::new();
    while let Some(item) = members.item().ok()? {
        items.push(item.to_owned());
    }
    Some(items)
}

#[test]
fn usual_values_are_taken_and_wrong_ones_are_not() {
    for item in ["null", "true", "-0.5e+3", "0", r#""a\u00e9\"b""#, r#"{"a":[1,{}],"b":"}"}"#, "[[],[1]]"] {
        let list = format!(" [ {item} ,{item}]\n");
        assert_eq!(quick(&list), general(&list), "{item}");
        assert!(quick(&list).is_some(), "{item}");
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
    }
}
