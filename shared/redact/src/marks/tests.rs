//! Tests of whole texts.

use model::Json;

use super::*;
use crate::find::Wanted;

pub(crate) fn redactor() -> Redactor {
    Redactor::new(MarkKey::new([7; 32]), Builtin::default(), &[]).unwrap()
}

const KEY: &str = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2";

#[test]
fn the_hash_is_that_of_rfc_4231() {
    let mut key = [0; 32];
    key[..4].copy_from_slice(b"Jefe");
    let hash = hmac(&key, b"what do ya want for nothing?");
    assert_eq!(hash[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
}

#[test]
fn equal_secrets_have_equal_marks_and_others_under_another_key() {
    let text = format!("a {KEY}, b {KEY} and {KEY}x");
    let marked = redactor().text(&text).unwrap();
    let marks: Vec<&str> =
        marked.split(['[', ']']).filter(|part| part.starts_with("redacted:openai-key:")).collect();
    assert_eq!(marks.len(), 3, "{marked}");
    assert_eq!(marks[0], marks[1]);
    assert_ne!(marks[0], marks[2]);
    let other = Redactor::new(MarkKey::new([8; 32]), Builtin::default(), &[]).unwrap();
    assert!(!other.text(&text).unwrap().contains(marks[0]));
}

#[test]
fn a_text_that_was_marked_stays_as_it_is() {
    let secrets = format!("Authorization: Bearer {KEY} api_key={KEY} 4111 1111 1111 1111 {KEY}");
    let marked = redactor().text(&secrets).unwrap();
    assert_eq!(redactor().text(&marked), None, "{marked}");
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "task-runner sk-learn sk-circle-fade-dot and xoxo-lots-of-love-to-you",
        "commit 4111111111111112 of 2024-11-25, pid 41",
        "the bearer of bad news; basic understanding; Authorization: required",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "eyJhbGciOiJIUzI1NiJ9 alone is no token",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBg\n-----END PUBLIC KEY-----",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "/usr/lib/python3/dist-packages/risk-assessment-framework-version-2019-final",
    ] {
        assert_eq!(redactor().text(text), None, "{text}");
    }
}

#[test]
fn json_stays_json() {
    for json in [
        format!(r#"{{"key":"{KEY}","n":4111111111111111,"s":"card 4111111111111111"}}"#),
        r#"[4111111111111111,{"a":5555555555554444}]"#.to_owned(),
        format!(r#"{{"{KEY}":"\u0073k-proj-a1B2c3D4e5F6g7H8i9J0k1L2"}}"#),
        format!(r#""Bearer {KEY}""#),
    ] {
        let mut value = Json::parse(&json).unwrap();
        redactor().json(&mut value);
        let text = value.as_str();
        assert!(Json::parse(text).is_some(), "{text}");
        assert!(!text.contains("a1B2") && !text.contains("1111") && !text.contains("4444"), "{text}");
    }
}

#[test]
fn what_is_counted_is_what_was_marked() {
    let redactor = redactor();
    redactor.text(&format!("{KEY} {KEY} 4111111111111111"));
    assert_eq!(redactor.findings(KEY).len(), 1);
    let counts: Vec<_> = redactor.counts().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts, [("openai-key", 2), ("card", 1)]);
}

#[test]
fn addresses_are_marked_where_that_is_wanted() {
    let builtin = Builtin { email: Wanted::Yes, ..Builtin::default() };
    let redactor = Redactor::new(MarkKey::new([7; 32]), builtin, &[]).unwrap();
    let marked = redactor.text("write to ann.b+c@mail.example.org, or @ann at a@b.").unwrap();
    assert!(
        marked.starts_with("write to [redacted:email:") && marked.ends_with("], or @ann at a@b."),
        "{marked}"
    );
    assert_eq!(self::redactor().text("ann@example.org"), None);
}

#[test]
fn patterns_of_the_operator_are_marked_and_bad_ones_are_named() {
    let with = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Redactor::new(MarkKey::new([7; 32]), Builtin::default(), &patterns)
    };
    let marked = with(&["ACME-[0-9]{6}", "(?i)hunter2"]).unwrap().text("ACME-123456 and Hunter2").unwrap();
    assert!(
        marked.contains("[redacted:pattern-1:") && marked.contains("] and [redacted:pattern-2:"),
        "{marked}"
    );
    assert!(with(&["a", "(b"]).unwrap_err().to_string().starts_with("pattern 2 (\"(b\") cannot be used: "));
    assert!(with(&["a*"]).unwrap_err().to_string().contains("fits an empty text"));
    assert!(with(&[r"(\w{1000}){1000}"]).unwrap_err().to_string().contains("cannot be used"));
    assert!(with(&["x".repeat(2000).as_str()]).unwrap_err().to_string().contains("1024 is the most"));
    assert!(with(&["x"; 65]).unwrap_err().to_string().contains("64 is the most"));
}
