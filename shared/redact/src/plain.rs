//! A text without the escapes that can hide a secret in it: those of JSON (`\u0073`, `\/`), however often they were escaped
//! themselves, and those of addresses (`%73`). Most texts have none and are looked at as they are.

use std::borrow::Cow;

use memchr::{memchr2, memchr2_iter};

use crate::verdict::End;

/// A text as it is searched, and where each of its bytes stands in what was given.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where each byte begins in what was given; empty where nothing was escaped.
    at: Vec<usize>,
    given: usize,
}

impl<'a> Plain<'a> {
    /// `text` without escapes. Where more of it may come, an escape that its end cuts is left out.
    pub(crate) fn of(text: &'a str, end: End) -> Self {
        let given = text.as_bytes();
        let cut = if end == End::Open { cut_escape(given) } else { 0 };
        let raw = given.get(..given.len() - cut).unwrap_or_default();
        if hides(raw) {
            return Self::unescaped(raw);
        }
        Self { bytes: Cow::Borrowed(raw), at: Vec::new(), given: raw.len() }
    }

    fn unescaped(raw: &[u8]) -> Self {
        let (mut bytes, mut at) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len()));
        let mut from = 0;
        while let Some(rest) = raw.get(from..).filter(|rest| !rest.is_empty()) {
            let (byte, width) = first(rest);
            bytes.push(byte);
            at.push(from);
            from += width;
        }
        Self { bytes: Cow::Owned(bytes), at, given: raw.len() }
    }

    /// Where what is searched ends in what was given.
    pub(crate) fn end(&self) -> usize {
        self.given
    }

    /// The bytes that are searched.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the byte `index` of what is searched begins in what was given.
    pub(crate) fn given_at(&self, index: usize) -> usize {
        if self.at.is_empty() {
            index.min(self.given)
        } else {
            self.at.get(index).copied().unwrap_or(self.given)
        }
    }

    /// The first byte of what is searched that begins at `given` or behind.
    pub(crate) fn index_of(&self, given: usize) -> usize {
        if self.at.is_empty() { given } else { self.at.partition_point(|at| *at < given) }
    }
}

/// Bytes at the end of a text in which an escape may be cut.
const ESCAPE_BYTES: usize = 24;

/// The length of an escape that the end of `raw` cuts.
fn cut_escape(raw: &[u8]) -> usize {
    let tail = raw.get(raw.len().saturating_sub(ESCAPE_BYTES)..).unwrap_or_default();
    let Some(last) = tail.iter().rposition(|byte| matches!(byte, b'\\' | b'%')) else { return 0 };
    let escape = tail.get(last..).unwrap_or_default();
    let is_cut = match escape {
        [b'\\'] | [b'\\', b'u'] | [b'\\', b'u', b'0'] | [b'\\', b'u', b'0', b'0'] => true,
        [b'\\', b'u', b'0', b'0', high] => matches!(high, b'2'..=b'7'),
        [b'%', digits @ ..] => {
            let rest = digits.chunks(2).skip_while(|pair| *pair == b"25").collect::<Vec<_>>();
            match rest.as_slice() {
                [] => true,
                [[digit]] => digit.is_ascii_hexdigit(),
                _ => false,
            }
        }
        _ => false,
    };
    if !is_cut {
        return 0;
    }
    // All the slashes before it belong to it.
    let slashes =
        tail.get(..last).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\').count();
    escape.len() + slashes
}

/// What a text has of escapes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// No byte with which one begins.
    #[default]
    None,
    /// Some, of which none can be a part of a secret and none is cut.
    Harmless,
    /// Escapes that may be a part of a secret, or one that is cut.
    Some,
}

impl Escapes {
    /// Classifies the escapes of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        if !has_either(bytes, b'\\', b'%') {
            Self::None
        } else if hides(bytes) || cut_escape(bytes) > 0 {
            Self::Some
        } else {
            Self::Harmless
        }
    }
}

/// Whether one of two bytes stands in `bytes`. Most texts are a few bytes, for which a search costs more than looking at all of them, some twice.
#[inline]
pub(crate) fn has_either(bytes: &[u8], one: u8, other: u8) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        let middle = bytes.get(16..bytes.len() - 16).unwrap_or_default();
        let ends = either_of(first, one, other) | either_of(last, one, other);
        ends || !middle.is_empty() && memchr2(one, other, middle).is_some()
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        either_of(first, one, other) | either_of(last, one, other)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        either_of(first, one, other) | either_of(last, one, other)
    } else {
        bytes.iter().any(|byte| *byte == one || *byte == other)
    }
}

/// Whether one of two bytes stands in `bytes`, of a length that is known, which are compared at once.
#[inline]
fn either_of<const N: usize>(bytes: &[u8; N], one: u8, other: u8) -> bool {
    bytes.iter().fold(0, |any, byte| any | u8::from(*byte == one) | u8::from(*byte == other)) != 0
}

/// Whether an escape stands in `raw` that can be a part of a secret.
fn hides(raw: &[u8]) -> bool {
    memchr2_iter(b'\\', b'%', raw).any(|at| match raw.get(at..).unwrap_or_default() {
        [b'\\', b'u', b'0', b'0', b'2'..=b'7', ..] | [b'\\', b'/', ..] => true,
        [b'%', b'2'..=b'7', digit, ..] => digit.is_ascii_hexdigit(),
        _ => false,
    })
}

/// The first byte of `rest`, which is not empty, without escapes, and how many bytes of `rest` stand for it.
fn first(rest: &[u8]) -> (u8, usize) {
    match rest {
        [b'\\', ..] => escape(rest),
        [b'%', ..] => percent(rest),
        [byte, ..] => (*byte, 1),
        [] => (0, 1),
    }
}

fn escape(rest: &[u8]) -> (u8, usize) {
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    match rest.get(slashes..).unwrap_or_default() {
        [b'u', b'0', b'0', high, low, ..] => match hex(*high, *low) {
            Some(byte) if byte < 0x80 => (byte, slashes + 5),
            _ => (b'\\', slashes),
        },
        [b'n', ..] => (b'\n', slashes + 1),
        [b'r', ..] => (b'\r', slashes + 1),
        [b't', ..] => (b'\t', slashes + 1),
        [byte @ (b'/' | b'"'), ..] => (*byte, slashes + 1),
        _ => (b'\\', slashes),
    }
}

fn percent(rest: &[u8]) -> (u8, usize) {
    // What was encoded several times has its `%` as `%25`.
    let mut digits = 1;
    while let Some([b'2', b'5', high, low]) = rest.get(digits..digits + 4)
        && hex(*high, *low).is_some()
    {
        digits += 2;
    }
    match rest.get(digits..digits + 2) {
        Some([high, low]) => match hex(*high, *low) {
            Some(byte) if byte < 0x80 => (byte, digits + 2),
            _ => (b'%', 1),
        },
        _ => (b'%', 1),
    }
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    //! Tests of what is searched.

    use super::*;

    #[test]
    fn escapes_stand_for_their_bytes() {
        for text in [
            r"sk-a/b",
            r"\u0073k-a\/b",
            r"\\u0073k-a\\\/b",
            "%73k-a%2fb",
            "%2573k%2525252Da%2Fb",
            r"\u0073k\u002Da%2fb",
        ] {
            assert_eq!(Plain::of(text, End::Last).bytes(), b"sk-a/b", "{text}");
        }
    }

    #[test]
    fn a_byte_is_seen_at_each_place_of_texts_of_each_length() {
        for length in 0..50 {
            for at in 0..length {
                let mut bytes = vec![b'x'; length];
                for byte in [b'%', b'\\'] {
                    bytes[at] = byte;
                    assert!(
                        has_either(&bytes, b'\\', b'%') && has_either(&bytes, b'%', b'\\'),
                        "{length} {at}"
                    );
                    assert!(!has_either(&bytes, b'\'', b'"'));
                }
            }
            assert!(!has_either(&vec![b'x'; length], b'\\', b'%'));
        }
    }

    #[test]
    fn places_lead_back_to_what_was_given() {
        let plain = Plain::of(r"a\u0073k%2Db", End::Last);
        assert_eq!(plain.bytes(), b"ask-b");
        assert_eq!((0..7).map(|at| plain.given_at(at)).collect::<Vec<_>>(), [0, 1, 7, 8, 11, 12, 12]);
        assert_eq!([0, 1, 2, 7, 12].map(|at| plain.index_of(at)), [0, 1, 2, 2, 5]);
    }

    #[test]
    fn an_escape_that_is_cut_is_waited_for() {
        for cut in [r"\", r"\u", r"\u0", r"\u00", r"\u007", r"\\\u00", "%", "%7", "%25", "%252", "%25257"] {
            let text = format!("abc{cut}");
            let plain = Plain::of(&text, End::Open);
            assert_eq!((plain.bytes(), plain.end()), (&b"abc"[..], 3), "{cut}");
        }
        for whole in [r"\n", r"\u0073", "%73", "%x", "%2573", "100 % "] {
            assert_eq!(Plain::of(whole, End::Open).end(), whole.len(), "{whole}");
        }
    }

    #[test]
    fn what_hides_nothing_is_looked_at_as_it_is() {
        for text in [r"C:\new\table", r#"{\"a\":\"b\"}"#, "100 % of %d", r"\u4e2d"] {
            assert_eq!(Plain::of(text, End::Last).bytes(), text.as_bytes());
        }
    }
}
