//! What is looked for: a word, or anything else that finds its places in a text.

use std::ops::Range;

/// Shortest word that is looked for, in bytes: one letter is everywhere.
const QUERY_BYTES_MIN: usize = 2;

/// What is looked for.
pub trait Matcher {
    /// Where it stands in `text`, in bytes, in order. Places do not overlap, and none is empty.
    fn places(&self, text: &str) -> Vec<Range<usize>>;

    /// Whether the search was ended before it had read everything, because it took too long.
    fn is_cut(&self) -> bool {
        false
    }
}

/// A word; upper and lower case are the same.
#[derive(Debug)]
pub struct Word(String);

impl Word {
    /// The word that is typed as `query`; nothing where it is too short.
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

/// Where `query`, in lower case, stands in `text`; hits do not overlap.
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

/// How many bytes of `text` are `query` when case does not count; nothing when it begins otherwise.
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
