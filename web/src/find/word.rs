//! What is searched for: a word, or any other matcher.

use std::ops::Range;

/// The shortest word that is searched, in bytes; a single letter would match everywhere.
const QUERY_BYTES_MIN: usize = 2;

/// Finds matches in a text.
pub trait Matcher {
    /// The byte ranges of the matches in `text`, in order. They do not overlap, and none is empty.
    fn places(&self, text: &str) -> Vec<Range<usize>>;

    /// Whether the search ended before it had searched everything, because it took too long.
    fn is_cut(&self) -> bool {
        false
    }
}

/// A word, compared without case.
#[derive(Debug)]
pub struct Word(String);

impl Word {
    /// The word typed as `query`; `None` if it is too short.
    pub fn new(query: &str) -> Option<Self> {
        let word = query.trim().to_lowercase();
        (word.len() >= QUERY_BYTES_MIN).then_some(Self(word))
    }
}

impl Matcher for Word {
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        ranges(text, &self.0).collect()
    }
}

/// The byte ranges of `query`, which must be in lower case, in `text`. They do not overlap.
pub(super) fn ranges<'a>(text: &'a str, query: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let first = query.chars().next();
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = first?;
        let rest = text.get(from..)?;
        for (at, c) in rest.char_indices() {
            if (c == first
                || (!c.is_ascii() || c.is_ascii_uppercase()) && c.to_lowercase().next() == Some(first))
                && let Some(len) = begins(rest.get(at..)?, query)
            {
                let start = from.saturating_add(at);
                from = start.saturating_add(len.max(1));
                return Some(start..start.saturating_add(len));
            }
        }
        from = text.len().saturating_add(1);
        None
    })
}

/// The length in bytes of the beginning of `text` that equals `query` without case; `None` if they differ.
fn begins(text: &str, query: &str) -> Option<usize> {
    let mut wanted = query.chars();
    let mut next = wanted.next();
    for (at, c) in text.char_indices() {
        if next.is_none() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            if next != Some(lower) {
                return None;
            }
            next = wanted.next();
        }
    }
    next.is_none().then_some(text.len())
}
