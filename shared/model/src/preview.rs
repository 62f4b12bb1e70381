//! What a tool call shows in one line, and its arguments and result made readable.
//!
//! Nothing here trusts its input: texts come from tools and models. The result is plain text and tokens, never markup.

use crate::Json;
use serde_json::Value;

use crate::format;

mod pretty;

pub use pretty::{JsonToken, TokenKind, pretty};

/// Characters of a preview; the whole is one click away.
pub const PREVIEW_CHARS: usize = 200;

/// Longest JSON that is taken apart for a preview, in bytes: previews are made for every card.
const PARSED_BYTES_MAX: usize = 64 << 10;

/// Arguments that say best what a call is about, the best first.
const TELLING: [&str; 16] = [
    "query",
    "q",
    "command",
    "cmd",
    "url",
    "pattern",
    "sql",
    "path",
    "file_path",
    "filename",
    "code",
    "prompt",
    "question",
    "description",
    "title",
    "name",
];

/// The first `limit` characters of `text`, and whether that is not all of it.
pub fn cut(text: &str, limit: usize) -> (&str, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

/// `text` on one line, cut for a preview.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() > PREVIEW_CHARS * 4 {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match cut(&line, PREVIEW_CHARS) {
        (_, false) => line,
        (start, true) => format!("{start}…"),
    }
}

/// Arguments that are still being written: their newest piece.
pub fn tail(text: &str) -> String {
    const CHARS: usize = 80;
    let from = text.char_indices().rev().nth(CHARS - 1).map_or(0, |(at, _)| at);
    let newest = text.get(from..).unwrap_or(text);
    let line: Vec<&str> = newest.split_whitespace().collect();
    if from > 0 { format!("…{}", line.join(" ")) } else { line.join(" ") }
}

/// Final arguments in one line: the one that says most, else all of them as they were written.
pub fn arguments(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text == "{}" {
        return String::new();
    }
    if text.len() <= PARSED_BYTES_MAX
        && let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text)
    {
        let telling = TELLING.iter().find_map(|key| fields.get(*key).and_then(Value::as_str));
        let only = || fields.values().next().filter(|_| fields.len() == 1).and_then(Value::as_str);
        if let Some(value) = telling.or_else(only) {
            return one_line(value);
        }
    }
    one_line(text)
}

/// A result: its text, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewOutput {
    /// The text that is shown and copied: the content of a string, else the JSON as it came.
    pub text: String,
    /// Whether the text is a JSON object or array.
    pub is_json: bool,
}

impl PreviewOutput {
    /// The form in which `result` is shown.
    pub fn of(result: &Json) -> Self {
        let text = result.to_text().into_owned();
        let is_json = looks_like_json(&text);
        Self { text, is_json }
    }

    /// Whether there is nothing to show: then a card says "completed".
    pub fn is_empty(&self) -> bool {
        matches!(self.text.trim(), "" | "null" | "{}" | "[]" | "\"\"")
    }

    /// Whether it begins as Python writes a command of a tool to its graph (`LangGraph`), perhaps within quotes. That the call is
    /// done is all that this says in one line; the state that it changes comes behind.
    pub fn is_command(&self) -> bool {
        self.text.trim_start().trim_start_matches('"').starts_with("Command(")
    }

    /// What and how much it is: `JSON · 12 keys · 8.1 KB`, `text · 3.4 KB`.
    pub fn summary(&self) -> String {
        let size = format::bytes(self.text.len() as u64);
        if !self.is_json {
            return format!("text · {size}");
        }
        if self.text.len() > PARSED_BYTES_MAX {
            return format!("JSON · {size}");
        }
        match serde_json::from_str(&self.text) {
            Ok(Value::Object(fields)) => format!("JSON · {} · {size}", format::counted(fields.len(), "key")),
            Ok(Value::Array(items)) => format!("JSON · {} · {size}", format::counted(items.len(), "item")),
            _ => format!("JSON · {size}"),
        }
    }
}

/// Whether `text` is a JSON object or array.
fn looks_like_json(text: &str) -> bool {
    let text = text.trim();
    let shaped =
        (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('[') && text.ends_with(']'));
    shaped && text.len() <= PARSED_BYTES_MAX * 16 && Json::parse(text).is_some()
}

/// `url` where it may be followed from a model's text: absolute, and http, https or mailto. Nothing else: relative
/// links would point into the page that shows it, `javascript:` and `data:` into its origin.
pub fn safe_link(url: &str) -> Option<String> {
    let clean: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let scheme = clean.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase())?;
    let known = matches!(scheme.as_str(), "http" | "https" | "mailto");
    (known && clean == url).then_some(clean)
}

/// Marks of Markdown that mean nothing on a single line.
const MARKS: [char; 3] = ['*', '_', '`'];

/// What may stand between a word and a mark.
const BESIDE: [char; 9] = ['.', ',', ';', ':', '!', '?', '(', ')', '"'];

/// The words of a Markdown text without the marks that mean nothing on a single line: `**twice**,` is `twice,`.
pub fn plain_words(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_mark = |word: &&str| word.chars().all(|letter| "#|-:=`*_".contains(letter)) && *word != "-";
    let words = text.split_whitespace().filter(move |word| !is_mark(word)).map(|word| {
        let begun = word.trim_start_matches(BESIDE);
        let core = begun.trim_end_matches(BESIDE);
        let (front, back) = (word.strip_suffix(begun), begun.strip_prefix(core));
        [front.unwrap_or_default(), core.trim_matches(MARKS), back.unwrap_or_default()].concat()
    });
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
