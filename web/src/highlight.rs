//! Which stretches of a code block are keywords, strings, comments or numbers: enough to read it by, for the languages
//! that models write most. No grammar: what looks like a string inside a language's odd corners may be taken for one.

use std::ops::Range;

mod languages;

use languages::{Language, language};

/// Longest code that is coloured, in bytes.
pub const BYTES_MAX: usize = 20 << 10;

/// What a stretch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A word of the language.
    Keyword,
    /// A string.
    Text,
    /// A comment.
    Comment,
    /// A number.
    Number,
}

impl Token {
    /// Its class, as styles know it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Keyword => "kw",
            Self::Text => "str",
            Self::Comment => "com",
            Self::Number => "no",
        }
    }
}

/// The stretches of `code`, in bytes, in order; none for a language that is not known or code that is too long.
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

/// All of `piece`, cut where a token begins or ends; each cut with the token that it belongs to.
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

/// How long the stretch at the beginning of `rest` is, in bytes, and what it is. `before` is the letter before it.
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
        // A field that is called like a keyword is none.
        let is_keyword = before != Some('.') && language.has(word);
        return (len, is_keyword.then_some(Token::Keyword));
    }
    (first.len_utf8(), None)
}

fn comment(language: &Language, rest: &str, before: Option<char>) -> Option<usize> {
    if let Some((open, close)) = language.block
        && let Some(inside) = rest.strip_prefix(open)
    {
        let end = inside.find(close).map_or(inside.len(), |end| end.saturating_add(close.len()));
        return Some(open.len().saturating_add(end));
    }
    // "#" within a word is none: `$#`, `a#b`, `#fff` behind a colon stay.
    let is_at_word = before.is_none_or(char::is_whitespace);
    let begins = |mark: &&&str| rest.starts_with(**mark) && (**mark != "#" || is_at_word);
    language.line.iter().find(begins).map(|_| rest.find('\n').unwrap_or(rest.len()))
}

fn string(language: &Language, rest: &str) -> Option<usize> {
    let quote = language.quotes.iter().find(|quote| rest.starts_with(**quote))?;
    let mut at = quote.len();
    while let Some(inside) = rest.get(at..).filter(|inside| !inside.is_empty()) {
        if inside.starts_with(*quote) {
            return Some(at.saturating_add(quote.len()));
        }
        let mut letters = inside.chars();
        let first = letters.next()?;
        // A quote that is not closed on its line was none: an apostrophe, a lifetime.
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
