//! What a person types, as a query of the index that cannot be malformed: every word stands in quotes there.

use shared::limits::SEARCH_QUERY_BYTES_MAX;

use crate::log::LogError;

/// Most words and phrases of one query.
const TERMS_MAX: usize = 32;

/// The query for `text`: all words, phrases in quotes, `wor*` for a beginning.
pub(super) fn parse(text: &str) -> Result<String, LogError> {
    if text.len() > SEARCH_QUERY_BYTES_MAX {
        let bytes = text.len();
        return Err(LogError::BadQuery(format!(
            "the query has {bytes} bytes, the limit is {SEARCH_QUERY_BYTES_MAX}"
        )));
    }
    let terms = terms(text);
    if terms.is_empty() {
        return Err(LogError::BadQuery(String::from("the query holds no word")));
    }
    if terms.len() > TERMS_MAX {
        return Err(LogError::BadQuery(format!(
            "the query has {} words, the limit is {TERMS_MAX}",
            terms.len()
        )));
    }
    Ok(format!("text : ({})", terms.join(" AND ")))
}

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    // Every second piece between quotes is a phrase; a quote that is never closed reaches to the end.
    for (place, piece) in text.split('"').enumerate() {
        if place % 2 == 1 {
            terms.extend(quoted(piece));
            continue;
        }
        for word in piece.split_whitespace() {
            let begin = word.trim_end_matches('*');
            let star = if begin.len() < word.len() { "*" } else { "" };
            terms.extend(quoted(begin).map(|quoted| quoted + star));
        }
    }
    terms
}

/// `words` in quotes; nothing when there is no word in it, since that would match nothing.
fn quoted(words: &str) -> Option<String> {
    // What the index takes for part of a word is a little more and a little less than this, but of what has neither a
    // letter nor a digit it makes no word.
    words.contains(char::is_alphanumeric).then(|| format!("\"{}\"", words.replace('\0', " ")))
}

#[cfg(test)]
mod tests;
