//! Snippets: the text around a match, as plain text with spans, so that nobody has to trust markup. The text
//! is read up to its first match and a window after it, word by word, so a text with very many matches costs
//! no more than another one.

use std::collections::VecDeque;
use std::ops::Range;

use super::words::{Term, words};
use crate::TextRange;

/// About how many bytes of the text come before the first match.
const BEFORE: usize = 60;

/// About how many bytes of the text a snippet has.
const LENGTH: usize = 240;

/// The text around the first match of any of `terms`, and the spans of all matches in it. Without a match,
/// the beginning of the text. The spans count bytes of the snippet, rise and do not overlap. A snippet has at
/// most about 240 bytes and an ellipsis at each end where the text goes on.
pub(crate) fn around_first(text: &str, terms: &[Term]) -> (String, Vec<TextRange>) {
    let mut matches = Matches::of(text, terms);
    let first = matches.next();
    let start = first.as_ref().map_or(0, |found| found.start);
    let begin = word_start(text, text.floor_char_boundary(start.saturating_sub(BEFORE)), start);
    let end = text.floor_char_boundary(begin.saturating_add(LENGTH));
    let mut snippet = String::from(if begin > 0 { "…" } else { "" });
    let shift = snippet.len();
    snippet.push_str(text.get(begin..end).unwrap_or_default());
    if end < text.len() {
        snippet.push('…');
    }
    let mut marks: Vec<TextRange> = Vec::new();
    for found in first.into_iter().chain(matches).take_while(|found| found.start < end) {
        // A match that is cut off is marked up to the cut.
        let (from, to) = (found.start.max(begin) - begin + shift, found.end.min(end) - begin + shift);
        match marks.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => marks.push(TextRange(from, to)),
        }
    }
    (snippet, marks)
}

/// The beginning of the first whole word after `begin`, if there is one before `first`; otherwise `begin`.
fn word_start(text: &str, begin: usize, first: usize) -> usize {
    if begin == 0 {
        return 0;
    }
    let before = text.get(begin..first).unwrap_or_default();
    before.split_once(char::is_whitespace).map_or(begin, |(_, words)| first - words.len())
}

/// The places in a text where a term matches, ordered by their ends.
#[derive(Debug)]
struct Matches<'a> {
    words: super::words::Words<'a>,
    terms: &'a [Term],
    /// The words that were read last, the newest at the end: as many as the longest term has.
    latest: VecDeque<(String, Range<usize>)>,
    /// The number of words in the longest term.
    longest: usize,
}

impl<'a> Matches<'a> {
    /// Begins before the first word. A text without terms has no matches.
    fn of(text: &'a str, terms: &'a [Term]) -> Self {
        let longest = terms.iter().map(Term::len).max().unwrap_or(1);
        Self { words: words(text), terms, latest: VecDeque::new(), longest }
    }

    /// The word that was read `back` words before the newest.
    fn back(&self, back: usize) -> Option<&(String, Range<usize>)> {
        self.latest.iter().rev().nth(back)
    }
}

impl Iterator for Matches<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            // The buffer of the oldest word is used for the newest.
            let reused = if self.latest.len() < self.longest { None } else { self.latest.pop_front() };
            let mut word = reused.map(|(word, _)| word).unwrap_or_default();
            let range = self.words.next_into(&mut word)?;
            let end = range.end;
            self.latest.push_back((word, range));
            let ending = |term: &&Term| term.ends(|back| self.back(back).map(|(word, _)| word.as_str()));
            let longest = self.terms.iter().filter(ending).map(Term::len).max();
            let first = longest.and_then(|words| self.back(words.saturating_sub(1)));
            if let Some((_, begin)) = first {
                return Some(begin.start..end);
            }
        }
    }
}

#[cfg(test)]
mod tests;
