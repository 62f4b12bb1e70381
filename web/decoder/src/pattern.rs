//! Regular expressions that readers type, matched in time linear in the length of the text.
//!
//! A browser's own expressions try alternatives one after the other, so that a pattern such as `(a+)+$` can
//! take minutes.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// The largest compiled pattern, in bytes. It bounds the work per byte of text.
pub const PATTERN_BYTES_MAX: usize = 256 << 10;

/// The most matches that are found in one text.
pub const PLACES_MAX: usize = 10_000;

/// The fewest bytes of a text that are searched between two looks at the clock. A piece ends with a line; a
/// match cannot continue in the next piece.
const PIECE_BYTES: usize = 64 << 10;

/// A compiled pattern. It ignores case, and `^` and `$` match at the ends of lines.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
}

/// The matches of a pattern in a text.
///
/// The ranges are in bytes of the UTF-8 text, not in the units of the page's strings.
#[derive(Debug, PartialEq, Eq)]
pub struct Places {
    /// The byte ranges of the matches, in order; none is empty.
    pub ranges: Vec<Range<usize>>,
    /// Whether the text was searched to its end or until [`PLACES_MAX`] matches were found.
    pub is_whole: bool,
}

impl Pattern {
    /// Compiles `source`. The error says what is wrong with it.
    ///
    /// Refused are patterns that are no valid expressions (references to groups and looking around are not
    /// part of the syntax) and those whose compiled form is larger than [`PATTERN_BYTES_MAX`].
    pub fn new(source: &str) -> Result<Self, String> {
        let mut builder = RegexBuilder::new(source);
        builder.case_insensitive(true).multi_line(true);
        builder.size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX.saturating_mul(4));
        let regex = builder.build().map_err(|error| match error {
            regex::Error::CompiledTooBig(bytes) => format!("It needs more than {bytes} bytes when compiled"),
            // The last line says what is wrong; those above it repeat the pattern.
            error => error.to_string().lines().last().unwrap_or_default().replacen("error: ", "", 1),
        })?;
        Ok(Self { regex })
    }

    /// Finds the matches in `text`. `is_late` is called after each piece; the search ends once it returns
    /// true.
    pub fn places(&self, text: &str, is_late: &mut dyn FnMut() -> bool) -> Places {
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < text.len() {
            if start > 0 && is_late() {
                return Places { ranges, is_whole: false };
            }
            let end = piece_end(text, start);
            let piece = text.get(start..end).unwrap_or_default();
            for found in self.regex.find_iter(piece).filter(|found| !found.is_empty()) {
                if ranges.len() >= PLACES_MAX {
                    return Places { ranges, is_whole: true };
                }
                ranges.push(start.saturating_add(found.start())..start.saturating_add(found.end()));
            }
            start = end;
        }
        Places { ranges, is_whole: true }
    }
}

/// The end of the piece that begins at `start`: after a line, since `^` and `$` match at the ends of lines.
fn piece_end(text: &str, start: usize) -> usize {
    let wanted = start.saturating_add(PIECE_BYTES).min(text.len());
    let line = text.as_bytes().get(wanted..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'));
    line.map_or(text.len(), |at| wanted.saturating_add(at).saturating_add(1))
}
