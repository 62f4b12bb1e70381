//! A text of which each piece comes together with all the text so far. If the two do not fit to what was
//! received, something was missed, and the whole counts.
//!
//! Tokens are pieces of words, and the whole answer at the end (`complete.response`) may differ from their
//! sum in white space; then the text is replaced.

use crate::Decoded;
use crate::writer::{EventWriter, OpenPart};
use model::event::PartKind;
use model::limits::PART_BYTES_MAX;

/// All text of one kind in a run. It is divided into parts, with calls between them.
#[derive(Debug)]
pub(super) struct CumulativeText {
    kind: PartKind,
    /// The text so far. It is dropped when it is longer than [`PART_BYTES_MAX`]; then nothing can be repaired
    /// any more.
    told: String,
    /// The text was dropped.
    is_too_long: bool,
    /// Where in `told` the last part begins, in bytes.
    last: usize,
    /// The part that is being written.
    open: Option<OpenPart>,
}

impl CumulativeText {
    /// Makes a text of `kind` that is empty so far.
    pub(super) fn new(kind: PartKind) -> Self {
        Self { kind, told: String::new(), is_too_long: false, last: 0, open: None }
    }

    /// Takes more text: a piece, and the text so far with it. After a call some servers count from the
    /// beginning again.
    pub(super) fn add(&mut self, piece: &str, whole: Option<&str>, w: &mut EventWriter, out: &mut Decoded) {
        let Some(whole) = whole.filter(|_| !self.is_too_long) else { return self.append(piece, w, out) };
        if let Some(rest) = whole.strip_prefix(self.told.as_str()) {
            return self.append(rest, w, out);
        }
        let current = self.told.get(self.begin()..).unwrap_or_default();
        // After a call some servers count anew.
        match whole.strip_prefix(current).filter(|_| !current.is_empty()) {
            Some(rest) => self.append(rest, w, out),
            None => self.heal(piece, whole, w, out),
        }
    }

    /// Takes the whole text, which is that of the run, or that since the last call, and ends the part.
    pub(super) fn finish(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        let begin = self.begin();
        let (before, current) = self.told.split_at_checked(begin).unwrap_or((&self.told, ""));
        let last = self.told.get(self.last..).unwrap_or_default();
        if whole.is_empty() || self.is_too_long || whole == self.told || whole == last {
            return self.close(w, out);
        }
        if let Some(rest) = whole.strip_prefix(before).filter(|_| !before.is_empty()) {
            self.replace(rest, w, out);
        } else if is_alike(whole, last) && current.is_empty() {
            // The text stands before a call and differs only in white space.
        } else if !is_alike(whole, &self.told) || before.is_empty() {
            self.replace(whole, w, out);
        }
        self.close(w, out);
    }

    /// Ends the open part.
    pub(super) fn close(&mut self, w: &EventWriter, out: &mut Decoded) {
        if let Some(part) = self.open.take() {
            part.end(false, w, out);
        }
    }

    /// Where in `told` the open part begins, or the next one would.
    fn begin(&self) -> usize {
        if self.open.is_some() { self.last } else { self.told.len() }
    }

    /// Writes more text, in the open part or a new one.
    fn append(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() || (self.open.is_none() && !w.has_room(out)) {
            return;
        }
        let at = self.told.len();
        let part = self.open.get_or_insert_with(|| {
            self.last = at;
            w.open_part(self.kind, None, out)
        });
        part.delta(text, w, out);
        self.is_too_long |= at.saturating_add(text.len()) > PART_BYTES_MAX;
        if self.is_too_long {
            self.told = String::new();
        } else {
            self.told.push_str(text);
        }
    }

    /// Replaces the text of the open part; without one the text begins a part.
    fn replace(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        let begin = self.begin();
        let Some(part) = &mut self.open else { return self.append(text, w, out) };
        part.replace(text, w, out);
        self.told.truncate(begin);
        self.told.push_str(text);
    }

    /// Repairs the text, since something was missed: `whole` does not begin with what was received.
    fn heal(&mut self, piece: &str, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        let begin = self.begin();
        if common(&self.told, whole) >= begin
            && let Some(text) = whole.get(begin..)
        {
            return self.replace(text, w, out);
        }
        let current = self.told.get(begin..).unwrap_or_default();
        let before = whole.strip_suffix(piece).and_then(|before| before.strip_suffix(current));
        if before.is_some_and(|before| !before.is_empty()) {
            // What differs stands before the last call, in a part that is over.
            return self.append(piece, w, out);
        }
        self.replace(whole, w, out);
    }
}

/// How many bytes two texts have in common from their beginning on.
fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    one.floor_char_boundary(same).min(other.floor_char_boundary(same))
}

/// Whether two texts differ at most in white space.
fn is_alike(one: &str, other: &str) -> bool {
    let words = |text| str::chars(text).filter(|c| !c.is_whitespace());
    words(one).eq(words(other))
}
