//! Finds keywords, strings, comments and numbers in code, for the languages that models write most. There is
//! no grammar: in the rare forms of a language, something else may be taken for a string.
//!
//! `languages` describes the languages.

use std::ops::Range;

mod languages;

use languages::{Language, language};

/// The longest code that is coloured, in bytes.
pub const BYTES_MAX: usize = 20 << 10;

/// The kind of a coloured stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A keyword of the language.
    Keyword,
    /// A string of the language.
    Text,
    /// A comment of the language.
    Comment,
    /// A number of the language.
    Number,
}

impl Token {
    /// The CSS class of the token.
    pub fn class(self) -> &'static str {
        match self {
            Self::Keyword => "kw",
            Self::Text => "str",
            Self::Comment => "com",
            Self::Number => "no",
        }
    }
}

/// The byte ranges of the coloured stretches of `code`, in order. Empty for an unknown language and for code
/// that is too long.
pub fn tokens(name: &str, code: &str) -> Vec<(Range<usize>, Token)> {
    let Some(language) = language(name).filter(|_| code.len() <= BYTES_MAX) else { return Vec::new() };
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        let (len, token) = next(&language, rest, before);
        let len = len.max(1);
        if let Some(token) = token {
            tokens.push((at..at.saturating_add(len), token));
        }
        at = at.saturating_add(len);
    }
    tokens
}

/// Splits `piece`, a byte range of the code, where tokens begin or end. Returns all of it, each range with
/// its token.
pub fn cuts(tokens: &[(Range<usize>, Token)], piece: Range<usize>) -> Vec<(Range<usize>, Option<Token>)> {
    let mut cuts = Vec::new();
    let mut at = piece.start;
    for (token, kind) in tokens {
        let (start, end) = (token.start.max(at), token.end.min(piece.end));
        if start >= end {
            continue;
        }
        if at < start {
            cuts.push((at..start, None));
        }
        cuts.push((start..end, Some(*kind)));
        at = end;
    }
    if at < piece.end {
        cuts.push((at..piece.end, None));
    }
    cuts
}

/// The length in bytes of the stretch at the beginning of `rest`, and its kind. `before` is the character
/// before it.
fn next(language: &Language, rest: &str, before: Option<char>) -> (usize, Option<Token>) {
    if let Some(len) = comment(language, rest, before) {
        return (len, Some(Token::Comment));
    }
    if let Some(len) = string(language, rest) {
        return (len, Some(Token::Text));
    }
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        return (rest.find(|c| !is_number(c)).unwrap_or(rest.len()), Some(Token::Number));
    }
    if first.is_alphabetic() || first == '_' {
        let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        // A field with the name of a keyword is not a keyword.
        let is_keyword = before != Some('.') && language.has(word);
        return (len, is_keyword.then_some(Token::Keyword));
    }
    (first.len_utf8(), None)
}

/// The length of a comment at the beginning of `rest`.
fn comment(language: &Language, rest: &str, before: Option<char>) -> Option<usize> {
    if let Some((open, close)) = language.block
        && let Some(inside) = rest.strip_prefix(open)
    {
        let end = inside.find(close).map_or(inside.len(), |end| end.saturating_add(close.len()));
        return Some(open.len().saturating_add(end));
    }
    // `#` begins a comment only after a space, not in `$#`, `a#b` or `:#fff`.
    let is_at_word = before.is_none_or(char::is_whitespace);
    let begins = |mark: &&&str| rest.starts_with(**mark) && (**mark != "#" || is_at_word);
    language.line.iter().find(begins).map(|_| rest.find('\n').unwrap_or(rest.len()))
}

/// The length of a string at the beginning of `rest`.
fn string(language: &Language, rest: &str) -> Option<usize> {
    let quote = language.quotes.iter().find(|quote| rest.starts_with(**quote))?;
    let mut at = quote.len();
    while let Some(inside) = rest.get(at..).filter(|inside| !inside.is_empty()) {
        if inside.starts_with(*quote) {
            return Some(at.saturating_add(quote.len()));
        }
        let mut letters = inside.chars();
        let first = letters.next()?;
        // A quote without a second one on its line is an apostrophe or a lifetime.
        if first == '\n' && quote.len() == 1 && *quote != "`" {
            return None;
        }
        at = at.saturating_add(first.len_utf8());
        if first == '\\' && language.escapes {
            at = at.saturating_add(letters.next().map_or(0, char::len_utf8));
        }
    }
    (quote.len() > 1 || *quote == "`").then_some(rest.len())
}

#[cfg(test)]
mod tests;
