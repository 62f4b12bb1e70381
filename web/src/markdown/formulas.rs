//! Formulas in Markdown.
//!
//! The parser knows `$…$` and `$$…$$`. `\(…\)` and `\[…\]` are escapes to it, and what stands between them
//! would become emphasis and links. So it is given a text in which these marks are dollars, as many bytes as
//! the marks have; what comes of places that it does not take for formulas is read from the text as written.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag as Mark};

use super::parse::OPTIONS;

/// How far from a formula's mark its other mark is searched, in bytes.
const FORMULA_BYTES_MAX: usize = 4 << 10;

/// The most formulas of a text in backslashes.
const FORMULAS_MAX: usize = 2_000;

/// A text whose marks of formulas are masked.
pub(super) struct Masked {
    /// The text with dollars; `None` if it has no such marks.
    text: Option<String>,
    /// Where the marks are, each of two bytes, in order.
    marks: Vec<usize>,
}

impl Masked {
    /// Masks the marks of `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut masked = Self { text: None, marks: Vec::new() };
        if !text.contains("\\(") && !text.contains("\\[") {
            return masked;
        }
        let code = code_in(text);
        let mut at = 0;
        while let Some(open) =
            next_mark(text, at, &['(', '[']).filter(|_| masked.marks.len() < FORMULAS_MAX * 2)
        {
            at = open.saturating_add(2);
            let Some(close) = close_of(text, open, &code) else { continue };
            masked.marks.extend([open, close]);
            at = close.saturating_add(2);
        }
        if masked.marks.is_empty() {
            return masked;
        }
        let mut bytes = text.as_bytes().to_vec();
        for mark in &masked.marks {
            for at in [*mark, mark.saturating_add(1)] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = b'$';
                }
            }
        }
        // Marks are ASCII, so the text stays UTF-8.
        masked.text = String::from_utf8(bytes).ok();
        masked
    }

    /// The text for the parser.
    pub(super) fn text<'a>(&'a self, source: &'a str) -> &'a str {
        self.text.as_deref().unwrap_or(source)
    }

    /// `event` with the marks as they were written, if its range in `source` has any.
    pub(super) fn restored<'a>(&self, source: &'a str, event: Event<'a>, range: &Range<usize>) -> Event<'a> {
        // A range may begin within a mark: the parser reads dollars one by one.
        let from = self.marks.partition_point(|mark| mark.saturating_add(2) <= range.start);
        if self.marks.get(from).is_none_or(|mark| *mark >= range.end) {
            return event;
        }
        match event {
            Event::Text(_) => Event::Text(source.get(range.clone()).unwrap_or_default().into()),
            other => other,
        }
    }
}

/// The ranges of code and HTML, in order: nothing in them is a formula.
fn code_in(text: &str) -> Vec<Range<usize>> {
    let is_code = |event: &Event<'_>| {
        matches!(
            event,
            Event::Code(_) | Event::Html(_) | Event::InlineHtml(_) | Event::Start(Mark::CodeBlock(_))
        )
    };
    let found = Parser::new_ext(text, OPTIONS).into_offset_iter().filter(|(event, _)| is_code(event));
    found.map(|(_, range)| range).collect()
}

/// The next `\` at or after `from` that stands before one of `brackets` and is not itself escaped.
fn next_mark(text: &str, from: usize, brackets: &[char]) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at.saturating_add(text.get(at..)?.find('\\')?);
        let next = text.get(found.saturating_add(1)..)?.chars().next()?;
        if brackets.contains(&next) {
            return Some(found);
        }
        at = found.saturating_add(1).saturating_add(next.len_utf8());
    }
}

/// Where the mark is that closes the formula which begins at `open`. Square brackets are escaped for other
/// reasons too, so what stands between them must look like a formula.
fn close_of(text: &str, open: usize, code: &[Range<usize>]) -> Option<usize> {
    let from = open.saturating_add(2);
    let bracket = text.get(open.saturating_add(1)..from)?;
    let end = text.floor_char_boundary(from.saturating_add(FORMULA_BYTES_MAX).min(text.len()));
    let block = first_block(text.get(from..end)?);
    let close = next_mark(block, 0, &[if bracket == "(" { ')' } else { ']' }])?;
    let inside = block.get(..close)?;
    let is_formula = match bracket {
        "(" => !inside.trim().is_empty(),
        _ => inside.contains(['\\', '^', '_', '=']),
    };
    let close = from.saturating_add(close);
    let next = code.partition_point(|range| range.end <= open);
    let is_free = code.get(next).is_none_or(|range| range.start > close);
    (is_formula && is_free && !inside.contains('$')).then_some(close)
}

/// Whether `inside`, a text between two dollars, is a formula, and not about money or variables of a shell.
/// `after` is the character behind it.
pub(super) fn is_formula_in_dollars(inside: &str, after: Option<char>) -> bool {
    let is_word = inside.chars().count() <= 3 && inside.chars().all(char::is_alphanumeric);
    let has_letter = inside.contains(|c: char| c.is_alphabetic());
    let has_sign = inside.contains(['\\', '^', '_', '=', '<', '>', '+']);
    let has_minus = inside.contains('-') && !inside.contains(' ');
    !after.is_some_and(char::is_alphanumeric) && has_letter && (is_word || has_sign || has_minus)
}

/// Beginnings of lines that may begin a block. A formula does not extend over two blocks, and a final block
/// does not know the next one.
const BLOCK_STARTS: [&str; 15] =
    ["#", ">", "|", "`", "~", "<", "- ", "* ", "+ ", "---", "***", "___", "===", "1.", "1)"];

/// Whether `line` may begin a block; an empty line may.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || BLOCK_STARTS.iter().any(|start| line.starts_with(start))
}

/// The lines of `text` up to the first that may begin a block. The first line belongs to the text before it.
fn first_block(text: &str) -> &str {
    let mut end = 0_usize;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && begins_block(line) {
            break;
        }
        end = end.saturating_add(line.len());
    }
    text.get(..end).unwrap_or_default()
}
