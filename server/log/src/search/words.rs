//! Words as the index compares them: sequences of letters and digits, in lower case and without accents. This
//! follows the tokenizer of the index (`unicode61 remove_diacritics 2`) closely enough to mark matches in a
//! text. Which texts match is decided by the index.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Reads the words of a text one after the other.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    text: &'a str,
    /// The byte at which the next word is searched.
    at: usize,
}

/// The words of `text`.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

impl Words<'_> {
    /// Writes the next word into `word` and returns its range in bytes; `None` at the end of the text. `word`
    /// is overwritten; its memory is used again.
    pub(crate) fn next_into(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        let rest = self.text.get(self.at..)?;
        let begin = self.at + rest.find(char::is_alphanumeric)?;
        let mut end = self.text.len();
        for (at, c) in self.text.get(begin..)?.char_indices() {
            if !c.is_alphanumeric() && !is_combining_mark(c) {
                end = begin + at;
                break;
            }
            fold(c, word);
        }
        self.at = end;
        Some(begin..end)
    }
}

/// Appends `c` in lower case and without accents. One character may become several, or none if it is an
/// accent by itself.
fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
    } else {
        out.extend(c.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)));
    }
}

/// Most bytes of a word in an index that bounds them; longer words are found by how they begin.
const LEXEME_BYTES_MAX: usize = 255;

/// `word` as it stands in an index that bounds words. It is cut at a character.
pub(crate) fn lexeme(word: &str) -> &str {
    word.get(..word.floor_char_boundary(LEXEME_BYTES_MAX)).unwrap_or_default()
}

/// Adds the words of `text` to `out`, each once and with a space before it, as they stand in an index that bounds words.
pub(crate) fn lexemes(text: &str, out: &mut String) {
    let (mut words, mut word) = (words(text), String::new());
    let mut seen = std::collections::HashSet::new();
    while words.next_into(&mut word).is_some() {
        let lexeme = lexeme(&word);
        if !lexeme.is_empty() && seen.insert(lexeme.to_owned()) {
            out.push(' ');
            out.push_str(lexeme);
        }
    }
}

/// What a query searches for: a word, or words that follow one another. Made of what a person typed, so it
/// has at least one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    words: Vec<String>,
    /// Whether the last word is only the beginning of a word.
    is_beginning: bool,
}

impl Term {
    /// Makes a term of the words of `text`; `None` if it has none.
    pub(crate) fn of(text: &str, is_beginning: bool) -> Option<Self> {
        let (mut found, mut word, mut all) = (words(text), String::new(), Vec::new());
        while found.next_into(&mut word).is_some() {
            all.push(word.clone());
        }
        (!all.is_empty()).then_some(Self { words: all, is_beginning })
    }

    /// The words of the term, and whether each is only how a word begins.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, bool)> {
        let last = self.words.len().saturating_sub(1);
        self.words
            .iter()
            .enumerate()
            .map(move |(place, word)| (word.as_str(), self.is_beginning && place == last))
    }

    /// Whether an index of single, bounded words cannot tell if it matches. The log then compares the texts
    /// that the index has found.
    pub(crate) fn is_more_than_a_word(&self) -> bool {
        self.words.len() > 1 || self.words.iter().any(|word| lexeme(word).len() < word.len())
    }

    /// The number of words in the term.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether the term matches the words that were read last. `latest` returns the word that came `back`
    /// words before the newest.
    pub(crate) fn ends<'a>(&self, latest: impl Fn(usize) -> Option<&'a str>) -> bool {
        self.words.iter().rev().enumerate().all(|(back, wanted)| match latest(back) {
            Some(word) if back == 0 && self.is_beginning => word.starts_with(wanted.as_str()),
            Some(word) => word == wanted,
            None => false,
        })
    }
}

/// Whether each of `terms` matches somewhere in `text`. Reads the text once, however many terms there are,
/// and only up to the word at which all are found.
pub(crate) fn has_all(text: &str, terms: &[Term]) -> bool {
    let longest = terms.iter().map(Term::len).max().unwrap_or(1);
    let (mut words, mut latest) = (words(text), std::collections::VecDeque::<String>::new());
    let mut open: Vec<&Term> = terms.iter().collect();
    while !open.is_empty() {
        let reused = if latest.len() < longest { None } else { latest.pop_front() };
        let mut word = reused.unwrap_or_default();
        if words.next_into(&mut word).is_none() {
            return false;
        }
        latest.push_back(word);
        open.retain(|term| !term.ends(|back| latest.iter().rev().nth(back).map(String::as_str)));
    }
    true
}

#[cfg(test)]
mod tests;
