//! A text that comes in pieces. What may be the beginning of a secret is held back until more has come; everything else goes on at once.
//!
//! ```text
//!                 buffer: ──── was passed on ────┬──── is held ────
//!  piece ──▶ ... "the key is "            "sk-pr" "oj-a1B2"  ──▶ more: the mark, once the key has ended
//!                                                            ──▶ more that shows that it is none: as it is
//! ```
//!
//! What everybody knows of a secret, such as `sk-`, is passed on; what would follow it is not. So the beginning of a key that was cut
//! within it can stand before its mark, and no byte of what is secret does.

use crate::card;
use crate::find::{Found, KindIndex, Part};
use crate::marks::Redactor;
use crate::plain::{Escapes, Plain, has_either};
use crate::verdict::{End, Strength};

/// Most bytes of one text that are held back. What is longer and may be a secret is taken for one where it is one as far as it goes.
pub const HELD_BYTES_MAX: usize = 16 << 10;

/// Bytes at the end of a text that the beginning of a secret can stand in without being seen: two of three.
const UNSEEN_BYTES: usize = 2;

/// Bytes before those that say whether a word begins there, and whether a number is one of a list.
const BEFORE_BYTES: usize = card::BEFORE_BYTES;

/// Bytes that are kept of a text in which nothing is open.
const KEPT_BYTES: usize = BEFORE_BYTES + UNSEEN_BYTES;

/// Most bytes that are kept of one of which several short pieces in a row were passed on without a search.
const QUIET_BYTES_MAX: usize = 4 * KEPT_BYTES;

/// The kind of a streamed text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextKind {
    /// Plain text.
    #[default]
    Text,
    /// JSON, perhaps: a mark in the place of a number is a string.
    Json,
}

/// What is known of a text that comes in pieces.
#[derive(Debug, Default)]
pub struct TextStream {
    kind: TextKind,
    /// The end of what came, as far as it still matters.
    buffer: String,
    /// Bytes of it that were passed on.
    passed: usize,
    /// The index in it from which the next search begins.
    from: usize,
    /// What is held back, and how sure it is.
    open: Option<(KindIndex, Strength)>,
    /// What follows belongs to a secret that was marked, as far as it could.
    swallows: bool,
    /// The escapes in the buffer.
    escapes: Escapes,
    quotes: Quotes,
}

/// Whether what was passed on ends within a string of JSON.
#[derive(Debug, Clone, Copy, Default)]
struct Quotes {
    inside: bool,
    escaped: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str) {
        if !has_either(text.as_bytes(), b'"', b'\\') {
            self.escaped &= text.is_empty();
            return;
        }
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.inside,
                b'"' => self.inside = !self.inside,
                _ => {}
            }
        }
    }
}

impl TextStream {
    /// A text of that kind, of which nothing has come.
    pub fn new(kind: TextKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Bytes that are held back.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.passed
    }

    /// Takes a piece. What is passed on of the text comes back; nothing where that is the piece as it is.
    pub fn push(&mut self, redactor: &Redactor, piece: &str) -> Option<String> {
        match self.quiet(redactor, piece) {
            Some(escapes) => {
                self.pass_quiet(piece, escapes);
                None
            }
            None => self.push_searched(redactor, piece),
        }
    }

    /// The escapes of `piece`, if nothing is held back and nothing of it will be: so it is with nearly every piece of most texts.
    #[inline]
    fn quiet(&self, redactor: &Redactor, piece: &str) -> Option<Escapes> {
        let is_settled = !self.swallows
            && self.open.is_none()
            && self.passed == self.buffer.len()
            && self.escapes == Escapes::None;
        let escapes = Escapes::of(piece);
        let before = self.buffer.as_bytes().get(self.from..).unwrap_or_default();
        let is_quiet = is_settled && escapes != Escapes::Some && redactor.is_quiet(before, piece.as_bytes());
        is_quiet.then_some(escapes)
    }

    /// Takes a piece that is passed on as it is: of it only the end is kept, as after a search that found nothing.
    #[inline]
    fn pass_quiet(&mut self, piece: &str, escapes: Escapes) {
        if self.kind == TextKind::Json {
            self.quotes.pass(piece);
        }
        if let Some(unkept) = piece.len().checked_sub(KEPT_BYTES) {
            let end = piece.floor_char_boundary(unkept);
            self.buffer.clear();
            self.buffer.push_str(piece.get(end..).unwrap_or_default());
        } else {
            self.buffer.push_str(piece);
            // Of what is short little is moved often otherwise.
            if self.buffer.len() > QUIET_BYTES_MAX || escapes != Escapes::None {
                let start = self.buffer.floor_char_boundary(self.buffer.len().saturating_sub(KEPT_BYTES));
                drop(self.buffer.drain(..start));
            }
        }
        self.from = self.buffer.floor_char_boundary(self.buffer.len().saturating_sub(UNSEEN_BYTES));
        self.passed = self.buffer.len();
        if escapes != Escapes::None {
            self.escapes = Escapes::of(&self.buffer);
        }
    }

    /// Takes a piece with a search, whatever the piece is.
    #[inline(never)]
    fn push_searched(&mut self, redactor: &Redactor, piece: &str) -> Option<String> {
        let rest = if self.swallows { self.swallow(piece) } else { piece };
        let is_cut = rest.len() != piece.len();
        self.buffer.push_str(rest);
        let mut out =
            Output { is_same: !is_cut && self.passed + rest.len() == self.buffer.len(), ..Output::default() };
        self.search(redactor, End::Open, &mut out);
        if self.buffer.len() > HELD_BYTES_MAX && self.held() > 0 {
            self.search(redactor, End::Last, &mut out);
            self.swallows = out.ends_with_mark;
        }
        (!out.is_same).then_some(out.text)
    }

    /// The text has ended: what is held back is no secret, or all of one.
    pub fn finish(&mut self, redactor: &Redactor) -> String {
        let mut out = Output::default();
        self.search(redactor, End::Last, &mut out);
        *self = Self::new(self.kind);
        out.text
    }

    /// Nothing came for long: what is held back is passed on where that may be, and marked where it begins as a secret does.
    pub fn release(&mut self, redactor: &Redactor) -> String {
        let mut out = Output::default();
        let Some((kind, strength)) = self.open.take() else { return out.text };
        if strength == Strength::Begun {
            let held = self.buffer.get(self.passed..).unwrap_or_default().to_owned();
            self.mark(redactor, kind, held.as_bytes(), &mut out);
            *self = Self { swallows: true, quotes: self.quotes, ..Self::new(self.kind) };
        } else {
            let held = self.buffer.get(self.passed..).unwrap_or_default().to_owned();
            self.pass(&held, &mut out);
            self.passed = self.buffer.len();
        }
        out.text
    }

    /// Leaves out what can belong to a secret that was marked before it had ended.
    fn swallow<'a>(&mut self, piece: &'a str) -> &'a str {
        let belongs = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%')
        };
        let count = piece.bytes().take_while(belongs).count();
        self.swallows = count == piece.len();
        piece.get(count..).unwrap_or_default()
    }

    /// Passes on what can be passed on of the buffer.
    fn search(&mut self, redactor: &Redactor, end: End, out: &mut Output) {
        self.open = None;
        let buffer = std::mem::take(&mut self.buffer);
        let plain = Plain::of(&buffer, end);
        let mut part = Part { from: plain.index_of(self.from), floor: 0 };
        let mut done = self.passed;
        let mut floor = 0;
        let rest = loop {
            match redactor.find(&plain, part, end) {
                Some(Found::Secret { from, to, kind, value }) => {
                    part = Part { from: to, floor: to };
                    let (from, to) = (plain.given_at(from), plain.given_at(to));
                    floor = to;
                    // What was passed on in time cannot be taken back.
                    if to > done {
                        out.is_same = false;
                        self.pass(buffer.get(done..from).unwrap_or_default(), out);
                        self.mark(redactor, kind, &value, out);
                        done = to;
                    }
                }
                Some(Found::Open { from, kind, strength }) => break Some((from, kind, strength)),
                None => break None,
            }
        };
        let (from, passed) = match rest {
            Some((from, _, Strength::Known)) if plain.end() == buffer.len() => (from, buffer.len()),
            // What follows is an escape that is cut: a piece of what is secret.
            Some((from, kind, Strength::Known)) => {
                self.open = Some((kind, Strength::Begun));
                (from, plain.end().max(done))
            }
            Some((from, kind, strength)) => {
                self.open = Some((kind, strength));
                (from, plain.given_at(from).max(done))
            }
            None => (plain.bytes().len().saturating_sub(UNSEEN_BYTES), buffer.len()),
        };
        // Nearly every piece: nothing was held, and nothing is.
        out.is_same &= !out.is_marked && passed == buffer.len();
        self.pass(buffer.get(done..passed).unwrap_or_default(), out);
        let before = plain.given_at(from.saturating_sub(BEFORE_BYTES));
        let start = buffer.floor_char_boundary(before.max(floor));
        let from = buffer.floor_char_boundary(plain.given_at(from).max(floor));
        drop(plain);
        let mut buffer = buffer;
        drop(buffer.drain(..start));
        self.escapes = Escapes::of(&buffer);
        self.buffer = buffer;
        self.from = from.saturating_sub(start);
        self.passed = passed.saturating_sub(start);
    }

    fn pass(&mut self, text: &str, out: &mut Output) {
        if text.is_empty() {
            return;
        }
        if self.kind == TextKind::Json {
            self.quotes.pass(text);
        }
        if !out.is_same {
            out.text.push_str(text);
        }
        out.ends_with_mark = false;
    }

    fn mark(&self, redactor: &Redactor, kind: KindIndex, value: &[u8], out: &mut Output) {
        let mark = redactor.mark(kind, value);
        if self.kind == TextKind::Json && !self.quotes.inside {
            out.text.extend(["\"", &mark, "\""]);
        } else {
            out.text.push_str(&mark);
        }
        (out.is_marked, out.ends_with_mark) = (true, true);
    }
}

/// What is passed on.
#[derive(Debug, Default)]
struct Output {
    text: String,
    /// The output is the piece as it came; then `text` is empty.
    is_same: bool,
    is_marked: bool,
    ends_with_mark: bool,
}

#[cfg(test)]
pub(crate) mod tests;
