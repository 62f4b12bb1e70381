//! Tests of single places.

use super::*;
use crate::rules::{KEYS, VALUES};

fn judge(start: &str, text: &str, end: End) -> Verdict {
    let rule = KEYS.iter().chain(&VALUES).find(|rule| rule.starts.contains(&start)).unwrap();
    rule.judge(start, text.as_bytes(), end)
}

const BODY: &str = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";

#[test]
fn a_key_is_whole_when_its_body_ends() {
    let key = format!("sk-proj-{BODY}");
    let secret = Verdict::Secret { from: 0, to: key.len() };
    for behind in ["", " ", ".", "\"", ")", ". And"] {
        assert_eq!(judge("sk-proj-", &format!("{key}{behind}"), End::Last), secret, "{behind}");
    }
    assert_eq!(judge("sk-proj-", &key, End::Open), Verdict::Open(Strength::Begun));
    assert_eq!(judge("sk-proj-", "sk-p", End::Open), Verdict::Open(Strength::Known));
    assert_eq!(judge("sk-proj-", "sk-p", End::Last), Verdict::No);
    assert_eq!(judge("sk-", "sk-learn and more", End::Open), Verdict::No);
}

#[test]
fn a_value_is_known_by_what_stands_before_it() {
    for gap in [": ", "=", "\": \"", " = '", "\\\": \\\"", " => "] {
        let text = format!("api_key{gap}{BODY}");
        let from = text.len() - BODY.len();
        assert_eq!(judge("api_key", &text, End::Last), Verdict::Secret { from, to: text.len() }, "{text}");
    }
    assert_eq!(judge("api_key", &format!("api_key {BODY}"), End::Last), Verdict::No);
    assert_eq!(judge("api_key", "api_key: ", End::Open), Verdict::Open(Strength::Known));
    assert_eq!(judge("Basic ", "Basic dXNlcjpwYXNzd29yZA==", End::Last), Verdict::Secret { from: 6, to: 26 });
    assert_eq!(judge("Basic ", "Basic understanding of it", End::Last), Verdict::No);
}

#[test]
fn a_private_key_goes_to_its_end_and_a_public_one_is_none() {
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----");
    assert_eq!(private_key(key.as_bytes(), End::Open), Verdict::Secret { from: 0, to: key.len() });
    for cut in 1..key.len() {
        let verdict = private_key(&key.as_bytes()[..cut], End::Open);
        assert!(matches!(verdict, Verdict::Open(_)), "{cut}: {verdict:?}");
    }
    let public = key.replace("RSA PRIVATE", "PUBLIC");
    assert_eq!(private_key(public.as_bytes(), End::Open), Verdict::No);
    let half = &key.as_bytes()[..key.len() - 40];
    assert!(matches!(private_key(half, End::Last), Verdict::Secret { .. }));
}
