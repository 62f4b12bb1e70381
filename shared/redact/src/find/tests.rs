//! Tests of what is found where.

use super::{Builtin, Finder};
use crate::marks::tests::redactor;
use crate::patterns::Patterns;

#[test]
fn base64_is_found_in_the_middle_of_other_base64_and_over_broken_lines() {
    // "the password is sk-ant-REDACTABLE-0123456789-abcdefghij, keep it", at each of three places.
    for (before, text) in [("", "the key: "), ("", "the key:  "), ("", "the key:   ")] {
        let plain = format!("{before}{text}sk-ant-REDACTABLE-0123456789-abcdefghij, keep it");
        let whole = encode(plain.as_bytes());
        let (first, last) = whole.split_at(40);
        for written in [whole.clone(), format!("{first}\n{last}")] {
            let marked = redactor().text(&written).unwrap();
            assert!(marked.contains("[redacted:anthropic-key:"), "{marked}");
            let rest = marked.split("[redacted:anthropic-key:").next().unwrap();
            assert!(plain.as_bytes().starts_with(&crate::base64::bytes(rest.as_bytes())[..8]), "{marked}");
            assert!(!marked.contains(encode(b"012345678").as_str()), "{marked}");
        }
    }
}

#[test]
fn a_letter_of_an_escape_is_no_beginning_of_a_word() {
    let text = r#"{\"a\":\"one\nsk-proj-a1B2c3D4e5F6g7H8i9J0k1L2\"}"#;
    assert!(redactor().text(text).unwrap().contains(r"one\n[redacted:openai-key:"));
}

#[test]
fn few_places_of_a_text_may_begin_a_secret() {
    let finder = Finder::new(Builtin::default(), Patterns::parse(&[]).unwrap());
    let text = include_str!("../find.rs").as_bytes();
    let fours: Vec<_> = text.windows(4).step_by(2).collect();
    let hits = fours.iter().filter(|four| finder.starts.may_hold_word(four)).count();
    assert!(hits * 100 < fours.len() * 3, "{hits} of {}", fours.len());
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let joined =
            group.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = ALPHABET[usize::try_from(joined >> (18 - 6 * at) & 63).unwrap()];
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
