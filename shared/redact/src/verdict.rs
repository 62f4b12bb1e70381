//! Judges one place of a text: whether a secret of one kind begins there. A text that may go on can leave that open.

use crate::rules::{Rule, Set, Start};

/// Whether more text may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The text is whole.
    Last,
    /// More text may follow.
    Open,
}

/// How sure it is that an open place becomes a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// Nothing of it is secret yet: what everybody knows of such a secret, or a part of that.
    Known,
    /// The candidate can be anything that a pattern begins with.
    Possible,
    /// The candidate begins as a secret does, and something of it may be one.
    Begun,
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No secret of that kind.
    No,
    /// A secret, from one byte to another, counted from the place.
    Secret {
        /// The first byte of the secret.
        from: usize,
        /// The byte behind it.
        to: usize,
    },
    /// What follows decides, with this strength.
    Open(Strength),
}

/// Most bytes between what a value is known by and the value.
const GAP_BYTES_MAX: usize = 16;

impl Rule {
    /// Judges `text`, which begins as `start` or as the beginning of it.
    pub(crate) fn judge(&self, start: &str, text: &[u8], end: End) -> Verdict {
        let start = start.as_bytes();
        if !text.starts_with(start) {
            let is_cut = end == End::Open && start.starts_with(text);
            return if is_cut { Verdict::Open(Strength::Known) } else { Verdict::No };
        }
        let Some(gap) = self.gap(text.get(start.len()..).unwrap_or_default(), end) else {
            return Verdict::No;
        };
        let at = start.len() + gap;
        let rest = text.get(at..).unwrap_or_default();
        let body = rest.iter().take_while(|byte| self.body.has(**byte)).count();
        if at + body == text.len() && end == End::Open {
            return match body {
                0 => Verdict::Open(Strength::Known),
                body if body > self.max => Verdict::No,
                _ => Verdict::Open(Strength::Begun),
            };
        }
        // A narrow body that ends within a word is a part of something else.
        if rest.get(body).is_some_and(u8::is_ascii_alphanumeric) {
            return Verdict::No;
        }
        let body = rest.get(..body).unwrap_or_default();
        // A sentence may end behind a key.
        let body = if self.body.has(b'.') { trimmed(body) } else { body };
        if body.len() < self.min || body.len() > self.max || !self.shape.fits(body) {
            return Verdict::No;
        }
        let from = if self.start == Start::Prefix { 0 } else { at };
        Verdict::Secret { from, to: at + body.len() }
    }

    /// The bytes between what a value is known by and the value; nothing where no value follows.
    fn gap(&self, rest: &[u8], end: End) -> Option<usize> {
        if self.start != Start::Value {
            return Some(0);
        }
        let is_gap =
            |byte: &u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b':' | b'=' | b'\\' | b'>');
        let gap = rest.iter().take(GAP_BYTES_MAX).take_while(|byte| is_gap(byte)).count();
        let assigns = rest.iter().take(gap).any(|byte| matches!(byte, b':' | b'=' | b'>'));
        (assigns || gap == rest.len() && end == End::Open).then_some(gap)
    }
}

fn trimmed(body: &[u8]) -> &[u8] {
    let dots = body.iter().rev().take_while(|byte| **byte == b'.').count();
    body.get(..body.len() - dots).unwrap_or_default()
}

/// The beginning and the end of a private key.
pub(crate) const BEGIN: &[u8] = b"-----BEGIN ";
const PRIVATE: &[u8] = b"PRIVATE KEY";
const DASHES: &[u8] = b"-----";
const FINISH: &[u8] = b"-----END ";

/// Most bytes of the words between `BEGIN` and the dashes behind it.
const LABEL_BYTES_MAX: usize = 48;

/// Judges whether a private key in PEM or in armour begins with `text`.
pub(crate) fn private_key(text: &[u8], end: End) -> Verdict {
    let open = |strength| if end == End::Open { Verdict::Open(strength) } else { Verdict::No };
    let Some(rest) = text.strip_prefix(BEGIN) else {
        return if BEGIN.starts_with(text) { open(Strength::Known) } else { Verdict::No };
    };
    let label = rest
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
        .count();
    if label > LABEL_BYTES_MAX {
        return Verdict::No;
    }
    let dashes = rest.get(label..).unwrap_or_default();
    if !dashes.starts_with(DASHES) {
        return if DASHES.starts_with(dashes) { open(Strength::Known) } else { Verdict::No };
    }
    let is_private =
        rest.get(..label).is_some_and(|label| label.windows(PRIVATE.len()).any(|part| part == PRIVATE));
    if !is_private {
        return Verdict::No;
    }
    let body = BEGIN.len() + label + DASHES.len();
    let inside = text.get(body..).unwrap_or_default();
    let Some(finish) = memchr::memmem::find(inside, FINISH) else {
        // Whoever cuts a key in two has half of it.
        return match end {
            End::Open if inside.is_empty() => Verdict::Open(Strength::Known),
            End::Open => Verdict::Open(Strength::Begun),
            End::Last if inside.len() < 16 => Verdict::No,
            End::Last => Verdict::Secret { from: 0, to: body + material(inside) },
        };
    };
    let behind = inside.get(finish + FINISH.len()..).unwrap_or_default();
    let words = behind
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ')
        .count();
    let last = behind.get(words..).unwrap_or_default();
    let dashes = last.iter().take(DASHES.len()).take_while(|byte| **byte == b'-').count();
    if words + dashes == behind.len() && dashes < DASHES.len() && end == End::Open {
        return Verdict::Open(Strength::Begun);
    }
    Verdict::Secret { from: 0, to: body + finish + FINISH.len() + words + dashes }
}

/// How much of `inside` is of a key that has no end: base64, in lines, perhaps with headers.
fn material(inside: &[u8]) -> usize {
    inside
        .iter()
        .take_while(|byte| {
            Set::Base64.has(**byte) || matches!(byte, b'\n' | b'\r' | b' ' | b'\\' | b':' | b'-' | b',')
        })
        .count()
}

#[cfg(test)]
mod tests;
