//! Turns what a person types into a query of the index that cannot be malformed, because every word in it is
//! quoted.

use model::limits::SEARCH_QUERY_BYTES_MAX;

use super::words::Term;
use crate::LogError;

/// Most words and phrases of one query.
const TERMS_MAX: usize = 32;

/// A query, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedQuery {
    /// The query in the language of the index. SQLite's FTS5, with every word quoted: `text : ("revenue" AND
    /// "gro"*)`. PostgreSQL's is made of the terms.
    pub(crate) index: String,
    /// The words and phrases, for marking them in snippets. At most [`TERMS_MAX`].
    pub(crate) terms: Vec<Term>,
}

/// Parses `text`: all words, phrases in quotes, `wor*` for a beginning. Fails if it has no word, or too many
/// words or bytes. The error is [`LogError::BadQuery`], whose text is meant for whoever typed the query.
pub(crate) fn parse(text: &str) -> Result<ParsedQuery, LogError> {
    if text.len() > SEARCH_QUERY_BYTES_MAX {
        let bytes = text.len();
        return Err(LogError::BadQuery(format!(
            "the query has {bytes} bytes, the limit is {SEARCH_QUERY_BYTES_MAX}"
        )));
    }
    let pieces = pieces(text);
    if pieces.is_empty() {
        return Err(LogError::BadQuery(String::from("the query contains no word")));
    }
    if pieces.len() > TERMS_MAX {
        return Err(LogError::BadQuery(format!(
            "the query has {} words, the limit is {TERMS_MAX}",
            pieces.len()
        )));
    }
    let quoted: Vec<String> = pieces.iter().map(QueryPiece::quoted).collect();
    let terms = pieces.iter().filter_map(|piece| Term::of(piece.text, piece.is_beginning)).collect();
    Ok(ParsedQuery { index: format!("text : ({})", quoted.join(" AND ")), terms })
}

/// A word or phrase as it was typed.
struct QueryPiece<'a> {
    text: &'a str,
    /// Whether it was typed as `wor*`.
    is_beginning: bool,
}

impl<'a> QueryPiece<'a> {
    /// Makes a piece; `None` if there is no word in it, because it would match nothing.
    fn of(text: &'a str, is_beginning: bool) -> Option<Self> {
        // The index has slightly other rules for the letters of a word, but it makes no word of a text with
        // neither a letter nor a digit.
        text.contains(char::is_alphanumeric).then_some(Self { text, is_beginning })
    }

    /// The piece as a quoted phrase of the index.
    fn quoted(&self) -> String {
        let star = if self.is_beginning { "*" } else { "" };
        format!("\"{}\"{star}", self.text.replace('\0', " "))
    }
}

/// Splits `text` into words and quoted phrases.
fn pieces(text: &str) -> Vec<QueryPiece<'_>> {
    let mut pieces = Vec::new();
    // Every second piece between quotes is a phrase; a quote that is never closed reaches to the end.
    for (place, piece) in text.split('"').enumerate() {
        if place % 2 == 1 {
            pieces.extend(QueryPiece::of(piece, false));
            continue;
        }
        for word in piece.split_whitespace() {
            let begin = word.trim_end_matches('*');
            pieces.extend(QueryPiece::of(begin, begin.len() < word.len()));
        }
    }
    pieces
}

#[cfg(test)]
mod tests;
