//! Tests of texts in pieces: 500 secrets, each cut at every place, each in every spelling, leave nothing of themselves.

use super::*;
use crate::find::tests::encode;
use crate::marks::tests::redactor;

mod samples;

use samples::{Dice, Sample, samples};

/// A spelling: how a text is written in it.
type Spelling = fn(&str) -> String;

fn plain(text: &str) -> String {
    text.to_owned()
}

fn json(text: &str) -> String {
    text.chars().fold(String::new(), |all, letter| all + &format!("\\u{:04x}", u32::from(letter)))
}

fn some_json(text: &str) -> String {
    let escape = |(at, letter): (usize, char)| match letter {
        '\n' => "\\n".to_owned(),
        '/' => "\\/".to_owned(),
        letter if at % 7 == 0 => format!("\\\\u{:04X}", u32::from(letter)),
        letter => letter.to_string(),
    };
    text.chars().enumerate().map(escape).collect()
}

fn percent(text: &str) -> String {
    let escape = |letter: char| {
        if letter.is_ascii_lowercase() { letter.to_string() } else { format!("%{:02X}", u32::from(letter)) }
    };
    text.chars().fold(String::new(), |all, letter| all + &escape(letter))
}

fn base64(text: &str) -> String {
    encode(text.as_bytes())
}

fn base64_inside(text: &str) -> String {
    encode(format!("x: {text}\n").as_bytes())
}

const SPELLINGS: [(&str, Spelling); 6] = [
    ("plain", plain),
    ("json", json),
    ("some json", some_json),
    ("percent", percent),
    ("base64", base64),
    ("inside base64", base64_inside),
];

const BEFORE: &str = "The key is \"";
const BEHIND: &str = "\", is it not?";

/// What is passed on of a text that comes in these pieces.
fn passed(redactor: &Redactor, pieces: &[&str]) -> String {
    let mut stream = TextStream::default();
    let mut out = String::new();
    for piece in pieces {
        match stream.push(redactor, piece) {
            Some(text) => out.push_str(&text),
            None => out.push_str(piece),
        }
        assert!(stream.held() <= HELD_BYTES_MAX);
    }
    out + &stream.finish(redactor)
}

/// Whether nothing of `written` is in `out` but the beginning of what everybody knows.
fn is_clean(out: &str, written: &str, known: usize) -> bool {
    let Some(rest) = out.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(BEHIND)) else {
        return false;
    };
    let Some((left, mark)) = rest.split_once("[redacted:") else { return false };
    // After the mark of base64 in which more stands the rest of that may follow.
    let behind = mark.split_once(']').map_or("?", |(_, behind)| behind);
    written.starts_with(left) && left.len() <= known && behind.len() <= 4
}

#[test]
fn of_500_secrets_nothing_is_left_wherever_and_however_they_are_cut() {
    let redactor = redactor();
    let mut dice = Dice(7);
    for Sample { known, secret } in samples(500) {
        for (name, spell) in SPELLINGS {
            // A mark in base64 takes the letter in which the secret begins.
            let written = spell(&format!("{known}{secret}"));
            let known_bytes = known_length(&known, name, spell);
            let text = format!("{BEFORE}{written}{BEHIND}");
            let whole = passed(&redactor, &[&text]);
            assert!(is_clean(&whole, &written, known_bytes), "{name}: {written} → {whole}");
            assert_eq!(redactor.text(&text).as_ref(), Some(&whole), "{name}");
            for cut in 0..text.len() {
                let (one, rest) = text.split_at(cut);
                let out = passed(&redactor, &[one, rest]);
                assert!(is_clean(&out, &written, known_bytes), "{name}: {one} | {rest} → {out}");
                let again = dice.roll(rest.len());
                let (two, three) = rest.split_at(again);
                let out = passed(&redactor, &[one, two, three]);
                assert!(is_clean(&out, &written, known_bytes), "{name}: {one} | {two} | {three} → {out}");
            }
            let each: Vec<&str> = text.split("").filter(|letter| !letter.is_empty()).collect();
            let out = passed(&redactor, &each);
            assert!(is_clean(&out, &written, known_bytes), "{name}: letter by letter → {out}");
        }
    }
}

/// Bytes at the beginning of the spelling in which nothing of the secret is.
fn known_length(known: &str, name: &str, spell: Spelling) -> usize {
    match name {
        "base64" => known.len() * 8 / 6,
        "inside base64" => (known.len() + 3) * 8 / 6,
        _ => spell(known).len(),
    }
}

#[test]
fn what_may_become_a_secret_is_held_and_passed_on_when_it_is_none() {
    let redactor = redactor();
    let mut stream = TextStream::default();
    assert_eq!(stream.push(&redactor, "see sk-"), None);
    assert_eq!(stream.push(&redactor, "lear").as_deref(), Some(""));
    assert_eq!(stream.held(), 4);
    assert_eq!(stream.push(&redactor, "n and").as_deref(), Some("learn and"));
    assert_eq!((stream.held(), stream.push(&redactor, " more")), (0, None));
}

#[test]
fn what_is_waited_for_too_long_is_marked_and_its_rest_left_out() {
    let redactor = redactor();
    let mut stream = TextStream::default();
    assert_eq!(stream.push(&redactor, "sk-proj-a1b2c3").as_deref(), Some(""));
    let released = stream.release(&redactor);
    assert!(released.starts_with("[redacted:openai-key:"), "{released}");
    assert_eq!(stream.push(&redactor, "d4e5f6g7h8i9").as_deref(), Some(""));
    assert_eq!(stream.push(&redactor, "j0 done").as_deref(), Some(" done"));
}

#[test]
fn i7_what_is_held_is_bounded_and_nothing_of_it_comes_out() {
    let redactor = redactor();
    let mut stream = TextStream::default();
    let mut out = stream.push(&redactor, "sk-proj-").unwrap();
    for _ in 0..4_000 {
        out += &stream.push(&redactor, "a1B2c3D4").unwrap();
        assert!(stream.held() <= HELD_BYTES_MAX);
    }
    out += &stream.push(&redactor, " end").unwrap_or(" end".to_owned());
    assert!(out.starts_with("[redacted:openai-key:") && out.ends_with("] end"), "{out}");
    assert!(out.len() < 60, "{out}");
}

#[test]
fn a_number_in_arguments_becomes_a_string() {
    let redactor = redactor();
    for (text, wanted) in [
        (r#"{"card":4111111111111111,"a":"#, r#"{"card":"[redacted:"#),
        (r#"{"card":"4111111111111111","#, r#"{"card":"[redacted:"#),
    ] {
        let mut stream = TextStream::new(TextKind::Json);
        let out = stream.push(&redactor, text).unwrap();
        let (_, behind) = out.split_once(']').unwrap();
        assert!(out.starts_with(wanted) && behind.starts_with(r#"","#), "{out}");
    }
}

/// What pieces are made of: words, numbers, beginnings of secrets and of escapes, letters of several bytes.
const BITS: [&str; 31] = [
    " word",
    "a",
    "of it",
    "345",
    "4111",
    " ",
    "11",
    "-",
    "4111 1111 1111 111",
    "MjIy",
    "sk-",
    "s",
    "k-",
    "proj-a1B2c3D4",
    "E5f6G7h8I9",
    "\\",
    "n",
    "\"",
    "%",
    "73",
    "\\u00",
    "é",
    "漢字",
    "🦀",
    "c2st",
    "Bearer ",
    "task-based",
    "-----BEGIN ",
    ", ",
    "\n",
    "eyJ",
];

/// Whether both know the same: of what was passed on without a search more may be kept, never more than a few short pieces.
fn assert_same(stream: &TextStream, searched: &TextStream, piece: &str) {
    let more = stream.buffer.len() - searched.buffer.len();
    assert!(stream.buffer.ends_with(&searched.buffer), "{piece:?}: {stream:?} and {searched:?}");
    assert!(more == 0 || stream.buffer.len() <= QUIET_BYTES_MAX, "{piece:?}: {stream:?}");
    let same = TextStream {
        kind: stream.kind,
        buffer: searched.buffer.clone(),
        passed: stream.passed - more,
        from: stream.from - more,
        open: stream.open,
        swallows: stream.swallows,
        escapes: stream.escapes,
        quotes: stream.quotes,
    };
    assert_eq!(format!("{same:?}"), format!("{searched:?}"), "{piece:?}");
}

#[test]
fn a_piece_that_needs_no_search_is_taken_as_if_it_were_searched() {
    let redactor = redactor();
    let mut dice = Dice(41);
    let mut quiet = 0;
    for kind in [TextKind::Text, TextKind::Json] {
        for _ in 0..3_000 {
            let (mut stream, mut searched) = (TextStream::new(kind), TextStream::new(kind));
            for _ in 0..12 {
                let count = dice.roll(6);
                let piece: String = (0..count).map(|_| BITS[dice.roll(BITS.len())]).collect();
                quiet += usize::from(stream.quiet(&redactor, &piece).is_some());
                let passed = stream.push(&redactor, &piece).unwrap_or_else(|| piece.clone());
                let wanted = searched.push_searched(&redactor, &piece).unwrap_or_else(|| piece.clone());
                assert_eq!(passed, wanted, "{piece:?}");
                assert_same(&stream, &searched, &piece);
            }
            assert_eq!(stream.finish(&redactor), searched.finish(&redactor));
        }
    }
    // Enough of both that the comparison means something.
    assert!((10_000..62_000).contains(&quiet), "{quiet} of 72,000");
}
