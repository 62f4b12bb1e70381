//! The text around a match, as plain text with spans: nobody has to trust markup.

use super::super::documents::MATCH;
use crate::log::Span;

/// About how many bytes stand before the first match.
const BEFORE: usize = 60;

/// About how many bytes a snippet has.
const LENGTH: usize = 240;

/// The text around the first match of `marked`, in which matches stand between [`MATCH`], and where matches stand in it.
pub(super) fn around_first(marked: &str) -> (String, Vec<Span>) {
    let [open, close] = MATCH;
    let first = marked.find(open).unwrap_or(0);
    let begin = word_start(marked, marked.floor_char_boundary(first.saturating_sub(BEFORE)), first);
    let mut snippet = String::from(if begin > 0 { "…" } else { "" });
    let mut marks = Vec::new();
    let mut opened = None;
    let mut rest = marked.get(begin..).unwrap_or_default().chars();
    for c in rest.by_ref() {
        if c == open {
            opened = Some(snippet.len());
        } else if c == close {
            marks.extend(opened.take().map(|from| Span(from, snippet.len())));
        } else if snippet.len() + c.len_utf8() > LENGTH {
            // A match that is cut is marked as far as it goes.
            marks.extend(opened.take().map(|from| Span(from, snippet.len())));
            snippet.push('…');
            break;
        } else {
            snippet.push(c);
        }
    }
    (snippet, marks)
}

/// Where the first whole word after `begin` starts, if one does before `first`.
fn word_start(text: &str, begin: usize, first: usize) -> usize {
    if begin == 0 {
        return 0;
    }
    let before = text.get(begin..first).unwrap_or_default();
    before.split_once(char::is_whitespace).map_or(begin, |(_, words)| first - words.len())
}

#[cfg(test)]
mod tests;
