//! Tests of texts in pieces: 500 secrets, each cut at every place, each in every spelling, leave nothing of themselves.

use super::*;
use crate::find::tests::encode;
use crate::marks::tests::redactor;

/// Random numbers of a fixed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn body(&mut self, alphabet: &str, count: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| letters[self.roll(letters.len())]).collect()
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

/// A secret: what everybody knows of it, and what nobody may.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) known: String,
    pub(crate) secret: String,
}

pub(crate) fn samples(count: usize) -> Vec<Sample> {
    let mut dice = Dice(20);
    let word = format!("{ALNUM}_-");
    (0..count)
        .map(|number| {
            let (known, secret) = match number % 20 {
                0 => ("sk-proj-", dice.body(&word, 44) + "7a4b9"),
                1 => ("sk-ant-", format!("api03-{}", dice.body(&word, 60))),
                2 => ("sk-", dice.body(ALNUM, 40) + "8a8b8"),
                3 => ("AIza", dice.body(&word, 35)),
                4 => ("AKIA", dice.body("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
                5 => ("ghp_", dice.body(ALNUM, 36)),
                6 => ("github_pat_", format!("{}_{}", dice.body(ALNUM, 22), dice.body(ALNUM, 59))),
                7 => ("glpat-", dice.body(ALNUM, 20)),
                8 => ("xoxb-", format!("123456789012-{}", dice.body(ALNUM, 24))),
                9 => ("sk_live_", dice.body(ALNUM, 24)),
                10 => ("hf_", dice.body(ALNUM, 34)),
                11 => ("npm_", dice.body(ALNUM, 36)),
                12 => ("pypi-AgE", format!("IcHlwaS5vcmc{}", dice.body(&word, 60))),
                13 => ("SG.", format!("{}.{}", dice.body(ALNUM, 22), dice.body(ALNUM, 43))),
                14 => ("SK4", dice.body(HEX, 31)),
                15 => ("Bearer ", dice.body(ALNUM, 40) + "123"),
                16 => (
                    "eyJ",
                    format!("hbGciOiJIUzI1NiJ9.eyJzdWIiOiI{}.{}", dice.body(ALNUM, 20), dice.body(&word, 43)),
                ),
                17 => ("aws_secret_access_key = ", dice.body(&format!("{ALNUM}/+"), 40)),
                18 => {
                    let lines = [dice.body(ALNUM, 64), dice.body(ALNUM, 64)].join("\n");
                    ("-----BEGIN RSA PRIVATE KEY-----", format!("\n{lines}\n-----END RSA PRIVATE KEY-----"))
                }
                _ => ("411111", card("411111", &mut dice)),
            };
            Sample { known: known.to_owned(), secret }
        })
        .collect()
}

/// The digits that make `begin` a card of 16 digits.
fn card(begin: &str, dice: &mut Dice) -> String {
    let rest = dice.body("0123456789", 9);
    let all = format!("{begin}{rest}");
    let sum: u32 = all
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    format!("{rest}{}", (10 - sum % 10) % 10)
}

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
