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
    /// Writes the next word into `word` and returns its range in bytes; `None` at the end of the text.
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

/// Appends `c` in lower case and without accents.
fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
    } else {
        out.extend(c.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)));
    }
}

/// What a query searches for: a word, or words that follow one another.
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

    /// How many words it has.
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

#[cfg(test)]
mod tests;
