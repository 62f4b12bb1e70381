//! What is handed on of foreign objects.

use proptest::prelude::*;

use super::{ForeignField, SECRET_NAME_END, SECRET_NAMES, may_hold_secrets, names_secret, without_secrets};

fn clean(text: &str) -> String {
    without_secrets(ForeignField::parse(text).unwrap()).as_str().to_owned()
}

#[test]
fn what_has_no_secret_stays_as_it_came() {
    for text in [r#"{"b": 1, "a": [2.50, "cooking"]}"#, "null", "7", r#""api""#] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn secrets_go_wherever_they_stand() {
    let text = r#"{"headers":{"Authorization":"Bearer abc","X-Api-Key":"k","Set-Cookie":["a=1"]},"n":1}"#;
    let value: serde_json::Value = serde_json::from_str(&clean(text)).unwrap();
    assert_eq!(value["headers"]["Authorization"], "[redacted]");
    assert_eq!(value["headers"]["X-Api-Key"], "[redacted]");
    assert_eq!(value["headers"]["Set-Cookie"], "[redacted]");
    assert_eq!(value["n"], 1);
    assert_eq!(
        clean(r#"[["OPENAI_API_KEY"],{"openai_api_key":"sk"},"Bearer xyz"]"#).matches("redacted").count(),
        2
    );
}

#[test]
fn schemas_and_empty_fields_are_no_secrets() {
    let text = r#"{"properties":{"password":{"type":"string"}},"api_key":null,"cookie":""}"#;
    assert!(!clean(text).contains("redacted"));
}

#[test]
fn what_nests_too_deep_to_be_looked_at_is_left_out() {
    let text = format!("{}{{\"cookie\":\"a\"}}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(clean(&text), "null");
}

#[test]
fn each_name_has_one_of_the_ends() {
    for name in SECRET_NAMES.into_iter().chain([SECRET_NAME_END, "bearer "]) {
        assert!(may_hold_secrets(&format!("x{}y", name.to_uppercase())), "{name}");
    }
}

proptest! {
    #[test]
    fn the_look_for_ends_overlooks_nothing(text in "([a-z_ é\"-]{0,3}|pass|word|WORD|_api|-Key|bear|er |to|ken|access|cookie|client|secret|authoriza|tion){0,12}") {
        prop_assert_eq!(may_hold_secrets(&text), names_secret(&text));
    }
}
