//! Recognises an object that is the same text as one that was read before, but for a few values. Nearly all lines of an
//! answer are: they repeat ids, the model and the fields that say nothing, and have another piece of the text. So a
//! dialect reads one such line in general, says which of its values may be others ([`Gap`]), and from then on a line is
//! compared with what is between them:
//!
//! ```text
//! {"id":"c-1","model":"m","choices":[{"index":0,"delta":{"content":"Hel"}}]}     read in general, and learned
//! {"id":   ¹  ,"model":"m","choices":[{"index":0,"delta":{"content":  ²  }}]}     its shape: ¹ unread, ² a text
//! {"id":"c-2","model":"m","choices":[{"index":0,"delta":{"content":"lo"}}]}      the same shape with "lo"
//! ```
//!
//! A text of the same shape is valid JSON with the same fields, since in the place of each value there is a valid one.
//! What the line means besides its values was found out when it was learned, and is kept with the shape.

use std::ops::Range;

use super::ForeignField;
use crate::scan::{string_end, value_end};

/// Most values of one shape.
pub(crate) const VALUES_MAX: usize = 5;
/// Most shapes that are known at the same time. An answer has one for its text, one for reasoning, one for each call.
const SHAPES_MAX: usize = 4;
/// Longest text that is learned, in bytes. With the number of shapes it bounds their memory.
const SHAPE_BYTES_MAX: usize = 8 << 10;
/// How many texts are looked at in vain before none is any more. A text that is recognised gives one back.
const ATTEMPTS_MAX: u32 = 16;
/// Longest number that is recognised, in digits: all such numbers are below [`model::limits::NUMBER_MAX`].
const DIGITS_MAX: usize = 15;

/// A value that may be another one in the next text. `Text` and `Number` say where in the list of values it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// A string.
    Text(usize),
    /// A whole number of at most 15 digits, without a sign.
    Number(usize),
    /// Any value: nobody reads it.
    Unread,
}

/// The values of a text that has a known shape: absent where the shape has none.
pub(crate) type Values<'a> = [ForeignField<'a>; VALUES_MAX];

/// The shapes that one stream has, each with what a text of it means besides its values. They are learned, a bounded
/// number of them, and a stream in which nothing repeats soon costs nothing more.
#[derive(Debug)]
pub(crate) struct Shapes<M> {
    known: Vec<Shape<M>>,
    /// The one that was recognised or learned last.
    recent: usize,
    /// How many more texts may be looked at.
    attempts: u32,
}

/// One shape: what stands before each gap, and after the last one.
#[derive(Debug)]
struct Shape<M> {
    gaps: Vec<(Box<str>, Gap)>,
    rest: Box<str>,
    meaning: M,
}

impl<M> Default for Shapes<M> {
    fn default() -> Self {
        Self { known: Vec::new(), recent: 0, attempts: ATTEMPTS_MAX }
    }
}

impl<M> Shapes<M> {
    /// Shapes that stay unknown: every text is read in general.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { attempts: 0, ..Self::default() }
    }

    /// What a text of a known shape means, and its values; nothing if its shape is not known.
    pub(crate) fn find<'a>(&mut self, text: &'a str) -> Option<(&M, Values<'a>)> {
        let values = |at: usize| self.known.get(at)?.values(text);
        let others = (0..self.known.len()).filter(|at| *at != self.recent);
        let (at, values) = match values(self.recent) {
            Some(found) => (self.recent, found),
            None => others.into_iter().find_map(|at| Some((at, values(at)?)))?,
        };
        self.recent = at;
        self.attempts = self.attempts.saturating_add(1).min(ATTEMPTS_MAX);
        self.known.get(at).map(|shape| (&shape.meaning, values))
    }

    /// Whether another text should be looked at, to learn its shape. It counts them, so ask once for each.
    pub(crate) fn is_learning(&mut self) -> bool {
        let left = self.attempts.checked_sub(1);
        self.attempts = left.unwrap_or(0);
        left.is_some()
    }

    /// Learns the shape of `text`, which is valid JSON, with `gaps` where the values are that may be others: pieces of
    /// `text`, in any order. If there are too many shapes, another one is forgotten.
    pub(crate) fn learn(&mut self, text: &str, gaps: &[(ForeignField<'_>, Gap)], meaning: M) {
        let Some(shape) = Shape::of(text, gaps, meaning) else { return };
        if self.known.len() < SHAPES_MAX {
            self.recent = self.known.len();
            self.known.push(shape);
            return;
        }
        self.recent = self.recent.saturating_add(1) % SHAPES_MAX;
        if let Some(place) = self.known.get_mut(self.recent) {
            *place = shape;
        }
    }
}

impl<M> Shape<M> {
    /// The shape of `text`; nothing if it is too long, or the gaps are no values in it.
    fn of(text: &str, gaps: &[(ForeignField<'_>, Gap)], meaning: M) -> Option<Self> {
        if text.len() > SHAPE_BYTES_MAX {
            return None;
        }
        let places = gaps.iter().map(|(value, gap)| Some((place(text, value.as_json_text())?, *gap)));
        let mut places: Vec<(Range<usize>, Gap)> = places.collect::<Option<_>>()?;
        places.sort_by_key(|(place, _)| place.start);
        let (mut at, mut before) = (0, Vec::new());
        for (place, gap) in places {
            before.push((Box::from(text.get(at..place.start)?), gap));
            at = place.end;
        }
        let shape = Self { gaps: before, rest: Box::from(text.get(at..)?), meaning };
        shape.values(text).is_some().then_some(shape)
    }

    /// The values of `text` if it has this shape.
    fn values<'a>(&self, text: &'a str) -> Option<Values<'a>> {
        let bytes = text.as_bytes();
        let (mut at, mut values) = (0_usize, Values::default());
        for (before, gap) in &self.gaps {
            let begin = at.saturating_add(before.len());
            if bytes.get(at..begin)? != before.as_bytes() {
                return None;
            }
            let slot;
            (at, slot) = match *gap {
                Gap::Text(slot) if bytes.get(begin) == Some(&b'"') => {
                    (string_end(bytes, begin.saturating_add(1))?, slot)
                }
                Gap::Text(_) => return None,
                Gap::Number(slot) => (number_end(bytes, begin)?, slot),
                Gap::Unread => {
                    at = value_end(bytes, begin)?;
                    continue;
                }
            };
            *values.get_mut(slot)? = ForeignField::of_checked(text.get(begin..at)?);
        }
        (bytes.get(at..)? == self.rest.as_bytes()).then_some(values)
    }
}

/// Where `piece` stands in `text`; nothing if it is no piece of it.
fn place(text: &str, piece: &str) -> Option<Range<usize>> {
    let begin = piece.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let place = begin..begin.checked_add(piece.len())?;
    (!piece.is_empty() && text.get(place.clone())? == piece).then_some(place)
}

/// The place behind the whole number that begins at `at`.
fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_zero = bytes.get(at) == Some(&b'0');
    let is_usual = if has_zero { count == 1 } else { (1..=DIGITS_MAX).contains(&count) };
    is_usual.then(|| at.saturating_add(count))
}

#[cfg(test)]
pub(crate) mod tests;
