//! Finds secrets in one text. Nearly all of a text is passed over by looking up three bytes at a time in a table of how secrets begin
//! ([`Starts`]); only where they are there the rules are asked.

use std::ops::RangeInclusive;

use crate::base64::{self, Bits, Encoded};
use crate::card::{BANK_DIGITS, card};
use crate::email;
use crate::patterns::Patterns;
use crate::plain::Plain;
use crate::rules::{CARD, EMAIL, KEYS, PRIVATE_KEY, Rule, VALUES};
use crate::starts::Starts;
use crate::verdict::{BEGIN as PRIVATE_KEY_BEGIN, End, Strength, Verdict, private_key};

mod quiet;

/// A kind of secret: its name in marks, and the place of its count.
pub(crate) type KindIndex = usize;

/// What a search finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A secret that was found.
    Secret {
        /// The first byte of the secret in what is searched.
        from: usize,
        /// The byte behind the secret.
        to: usize,
        /// The kind of the secret.
        kind: KindIndex,
        /// The secret without the encoding that it stood in.
        value: Vec<u8>,
    },
    /// The end of the text cuts what may be one.
    Open {
        /// The first byte of the candidate in what is searched.
        from: usize,
        /// The kind of the candidate, as far as that is known.
        kind: KindIndex,
        /// How sure it is that the candidate becomes a secret.
        strength: Strength,
    },
}

/// The built-in kinds of secrets that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Keys of vendors, what is behind `Bearer` and the like, private keys.
    pub keys: Wanted,
    /// Numbers of payment cards.
    pub cards: Wanted,
    /// E-mail addresses.
    pub email: Wanted,
}

/// Whether something is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The kind is looked for.
    Yes,
    /// The kind is not looked for.
    No,
}

impl Default for Builtin {
    fn default() -> Self {
        Self { keys: Wanted::Yes, cards: Wanted::Yes, email: Wanted::No }
    }
}

/// The part of a text that is searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// What begins before it is not looked at.
    pub(crate) from: usize,
    /// What stands before it is not there: a secret ended here, or the text begins.
    pub(crate) floor: usize,
}

/// What may begin with three bytes.
#[derive(Debug, Clone)]
struct Entry {
    what: What,
    kind: KindIndex,
    /// How it looks in base64; nothing where it stands as it is.
    encoded: Option<Encoded>,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Key(&'static Rule, &'static str),
    PrivateKey,
    Card,
}

/// The first three digits of payment cards.
const CARD_NUMBERS: RangeInclusive<u32> = 222..=660;

/// Looks for the kinds that are wanted.
#[derive(Debug)]
pub(crate) struct Finder {
    starts: Starts<Entry>,
    names: Vec<&'static str>,
    email: Option<KindIndex>,
    /// Behind the others: one kind for each pattern.
    patterns: Patterns,
}

impl Finder {
    /// Makes a finder of these kinds and patterns.
    pub(crate) fn new(builtin: Builtin, patterns: Patterns) -> Self {
        let mut finder = Self { starts: Starts::default(), names: Vec::new(), email: None, patterns };
        if builtin.keys == Wanted::Yes {
            for rule in KEYS.iter().chain(&VALUES) {
                let kind = finder.kind(rule.name);
                for start in rule.starts {
                    finder.enter(What::Key(rule, start), kind, start.as_bytes());
                }
            }
            let kind = finder.kind(PRIVATE_KEY);
            finder.enter(What::PrivateKey, kind, PRIVATE_KEY_BEGIN);
        }
        if builtin.cards == Wanted::Yes {
            let kind = finder.kind(CARD);
            finder.starts.enter_numbers(CARD_NUMBERS, Entry { what: What::Card, kind, encoded: None });
            for number in CARD_NUMBERS {
                finder.enter_encoded(What::Card, kind, number.to_string().as_bytes());
            }
        }
        if builtin.email == Wanted::Yes {
            finder.email = Some(finder.kind(EMAIL));
        }
        finder
    }

    fn kind(&mut self, name: &'static str) -> KindIndex {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    fn enter(&mut self, what: What, kind: KindIndex, start: &[u8]) {
        self.starts.enter(start, Entry { what, kind, encoded: None });
        self.enter_encoded(what, kind, start);
    }

    fn enter_encoded(&mut self, what: What, kind: KindIndex, start: &[u8]) {
        for encoded in base64::encoded(start) {
            let letters = encoded.letters.clone();
            self.starts.enter(&letters, Entry { what, kind, encoded: Some(encoded) });
        }
    }

    /// The names of the kinds that are built in; the patterns' kinds follow.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The first secret in `plain` that begins at `part.from` or behind; where `end` is open, also what the end cuts.
    pub(crate) fn find(&self, plain: &Plain<'_>, part: Part, end: End) -> Option<Found> {
        let (bytes, from) = (plain.bytes(), part.from);
        let known = self.find_known(bytes, part, end);
        let known = first(known, self.email.and_then(|kind| email::find(bytes, from, end, kind)));
        if self.patterns.is_empty() { known } else { first(known, self.find_pattern(bytes, from, end)) }
    }

    fn find_known(&self, bytes: &[u8], part: Part, end: End) -> Option<Found> {
        let mut cut: Option<Found> = None;
        let rest = bytes.get(part.from..).unwrap_or_default();
        for (at, entries) in self.starts.places(rest) {
            match Self::judge(entries, bytes, part, part.from + at, end) {
                None => {}
                // What is only known may hold more that is more than known.
                Some(found @ Found::Open { strength: Strength::Known, .. }) => {
                    cut.get_or_insert(found);
                }
                Some(found) => return Some(found),
            }
        }
        cut
    }

    /// Judges the place `at`, at which one of `entries` may begin. Of several, the first that is not excluded decides.
    fn judge(entries: &[Entry], bytes: &[u8], part: Part, at: usize, end: End) -> Option<Found> {
        let mut open: Option<Found> = None;
        for entry in entries {
            let found = match &entry.encoded {
                None => entry.judge_plain(bytes, part, at, end),
                Some(encoded) => entry.judge_encoded(encoded, bytes, part, at, end),
            };
            match (found, &mut open) {
                (None, _) => {}
                (Some(found), None) if matches!(found, Found::Secret { .. }) => return Some(found),
                (Some(Found::Secret { .. }), Some(_)) => {}
                (Some(found), None) => open = Some(found),
                (
                    Some(Found::Open { strength, from, .. }),
                    Some(Found::Open { strength: before, from: first, .. }),
                ) => {
                    *before = (*before).max(strength);
                    *first = (*first).min(from);
                }
                (Some(Found::Open { .. }), Some(Found::Secret { .. })) => {}
            }
        }
        open
    }

    fn find_pattern(&self, bytes: &[u8], from: usize, end: End) -> Option<Found> {
        let text = std::str::from_utf8(bytes).ok()?;
        let from = text.ceil_char_boundary(from);
        let built_in = self.names.len();
        let open = (end == End::Open).then(|| self.patterns.open(bytes, from)).flatten();
        let open = open.map(|(from, number)| Found::Open {
            from,
            kind: built_in + number,
            strength: Strength::Possible,
        });
        let found = self.patterns.find(text, from).map(|(from, to, number)| Found::Secret {
            from,
            to,
            kind: built_in + number,
            value: bytes.get(from..to).unwrap_or_default().to_vec(),
        });
        match (&found, &open) {
            // It may become longer.
            (Some(Found::Secret { from: start, to, .. }), Some(Found::Open { from: open_from, .. }))
                if open_from <= start && *to == bytes.len() =>
            {
                open
            }
            (Some(_), _) => found,
            (None, _) => open,
        }
    }
}

/// What of the two begins first.
fn first(one: Option<Found>, other: Option<Found>) -> Option<Found> {
    let place = |found: &Found| match found {
        Found::Secret { from, .. } => (*from, 0),
        Found::Open { from, strength: Strength::Known, .. } => (*from, 2),
        Found::Open { from, .. } => (*from, 1),
    };
    match (one, other) {
        (Some(one), Some(other)) => {
            // What is only known ends with the text and so stands behind every whole secret.
            let known = |found: &Found| matches!(found, Found::Open { strength: Strength::Known, .. });
            match (known(&one), known(&other)) {
                (true, false) => Some(other),
                (false, true) => Some(one),
                _ if place(&one) <= place(&other) => Some(one),
                _ => Some(other),
            }
        }
        (one, other) => one.or(other),
    }
}

impl Entry {
    /// Bytes at the beginning of such a secret that everybody knows, at least.
    fn known_bytes(&self) -> usize {
        match self.what {
            What::Key(_, start) => start.len(),
            What::PrivateKey => PRIVATE_KEY_BEGIN.len(),
            What::Card => BANK_DIGITS,
        }
    }

    /// Judges a text that begins like a secret of this kind; `before` stands before it.
    fn verdict(&self, text: &[u8], end: End, before: &[u8]) -> Verdict {
        match self.what {
            What::Key(rule, start) => rule.judge(start, text, end),
            What::PrivateKey => private_key(text, end),
            What::Card => card(text, end, before),
        }
    }

    fn judge_plain(&self, bytes: &[u8], part: Part, at: usize, end: End) -> Option<Found> {
        if at > part.floor && !self.may_begin(bytes, at) {
            return None;
        }
        let text = bytes.get(at..)?;
        let before = bytes.get(part.floor.min(at)..at).unwrap_or_default();
        match self.verdict(text, end, before) {
            Verdict::No => None,
            Verdict::Secret { from, to } => {
                let value = text.get(from..to)?.to_vec();
                Some(Found::Secret { from: at + from, to: at + to, kind: self.kind, value })
            }
            Verdict::Open(strength) => Some(Found::Open { from: at, kind: self.kind, strength }),
        }
    }

    /// Whether a secret can begin at `at`: not within a word.
    fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at));
        let Some(last) = before(1) else { return true };
        match self.what {
            What::Key(rule, _) if rule.start == crate::rules::Start::Value => true,
            What::PrivateKey => true,
            What::Card => {
                !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'.')) || is_escape(before(2), *last)
            }
            What::Key(..) => !last.is_ascii_alphanumeric() || is_escape(before(2), *last),
        }
    }

    /// Judges a place at which the base64 of this kind may begin.
    fn judge_encoded(
        &self,
        encoded: &Encoded,
        bytes: &[u8],
        part: Part,
        at: usize,
        end: End,
    ) -> Option<Found> {
        let text = bytes.get(at..)?;
        let given = text.iter().zip(&encoded.letters).take_while(|(is, letter)| is == letter).count();
        if given < encoded.letters.len() {
            let is_cut = given == text.len() && end == End::Open;
            return is_cut.then_some(Found::Open { from: at, kind: self.kind, strength: Strength::Known });
        }
        let (first, skip) = match encoded.skip {
            None => (at, 0),
            Some(skip) => (at.checked_sub(1).filter(|first| *first >= part.floor)?, skip),
        };
        let (Decoded { bytes: decoded, letters, .. }, verdict) =
            self.decoded_verdict(bytes.get(first..)?, skip, end);
        match verdict {
            Verdict::No => None,
            Verdict::Open(strength) => {
                let skip = usize::try_from(skip).unwrap_or_default();
                // The last letter can have bits of the first byte that is secret.
                let has_more =
                    letters.len() * 6 > skip + decoded.len() * 8 && decoded.len() >= self.known_bytes();
                let strength = if has_more { strength.max(Strength::Begun) } else { strength };
                Some(Found::Open { from: first, kind: self.kind, strength })
            }
            Verdict::Secret { from, to } => {
                let bits = |bytes: usize| usize::try_from(skip).unwrap_or_default() + 8 * bytes;
                let start = letters.get(bits(from) / 6)?;
                // The letter behind the last that has a bit of it, with padding where the text ends there.
                let last = letters.get((bits(to) - 1) / 6)? + 1;
                let behind = bytes.get(first + last..).unwrap_or_default();
                let padding = behind.iter().take(2).take_while(|byte| **byte == b'=').count();
                let value = decoded.get(from..to)?.to_vec();
                Some(Found::Secret {
                    from: first + start,
                    to: first + last + padding,
                    kind: self.kind,
                    value,
                })
            }
        }
    }
}

impl Entry {
    /// Decodes as much of `text` as tells what stands in it.
    fn decoded_verdict(&self, text: &[u8], skip: u32, end: End) -> (Decoded, Verdict) {
        let mut most = DECODED_LETTERS;
        loop {
            let decoded = Decoded::of(text, skip, most);
            let open = match decoded.end {
                DecodedEnd::Other => End::Last,
                DecodedEnd::OfText => end,
                DecodedEnd::Cut => End::Open,
            };
            let verdict = self.verdict(&decoded.bytes, open, &[]);
            let wants_more = decoded.end == DecodedEnd::Cut && matches!(verdict, Verdict::Open(_));
            if !wants_more {
                return (decoded, verdict);
            }
            if most >= DECODED_LETTERS_MAX {
                let verdict = self.verdict(&decoded.bytes, End::Last, &[]);
                return (decoded, verdict);
            }
            most *= 8;
        }
    }
}

/// Whether the letter before a place is one of an escape, such as the `n` of `\n`.
fn is_escape(before: Option<&u8>, last: u8) -> bool {
    before == Some(&b'\\') && matches!(last, b'n' | b'r' | b't' | b'b' | b'f')
}

/// Letters of base64 that are decoded at first, and at most, at one place.
const DECODED_LETTERS: usize = 64;
const DECODED_LETTERS_MAX: usize = 32 << 10;

/// What a text stands for in base64.
struct Decoded {
    bytes: Vec<u8>,
    /// The place of each letter.
    letters: Vec<usize>,
    end: DecodedEnd,
}

/// The reason why decoding stopped.
#[derive(PartialEq, Eq)]
enum DecodedEnd {
    /// Something other than base64 follows.
    Other,
    /// The text ended.
    OfText,
    /// Enough was decoded, so the rest was not.
    Cut,
}

impl Decoded {
    /// Decodes `most` letters of `text` at most. Lines may be broken.
    fn of(text: &[u8], skip: u32, most: usize) -> Self {
        let mut bits = Bits::after(skip);
        let (mut bytes, mut letters) = (Vec::new(), Vec::new());
        let mut end = DecodedEnd::OfText;
        for (at, byte) in text.iter().enumerate() {
            match base64::value(*byte) {
                Some(_) if letters.len() == most => {
                    end = DecodedEnd::Cut;
                    break;
                }
                Some(value) => {
                    letters.push(at);
                    bytes.extend(bits.push(value));
                }
                None if matches!(byte, b'\n' | b'\r') => {}
                None => {
                    end = DecodedEnd::Other;
                    break;
                }
            }
        }
        Self { bytes, letters, end }
    }
}

#[cfg(test)]
pub(crate) mod tests;
