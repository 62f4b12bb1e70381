//! Regular expressions that readers type, matched in time that grows with the text and not with what the pattern could mean:
//! a browser's own expressions try alternatives one after the other, and a pattern such as `(a+)+$` then takes minutes.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// Largest compiled pattern, in bytes. It bounds what one byte of text can cost.
pub const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Most places that are found in one text.
pub const PLACES_MAX: usize = 10_000;

/// Fewest bytes of a text that are searched before the clock is looked at; a piece ends with a line. A match that begins in
/// one piece does not reach into the next one.
const PIECE_BYTES: usize = 64 << 10;

/// A compiled pattern. Upper and lower case are the same, `^` and `$` are those of a line.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
}

/// Where a pattern stands in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Places {
    /// In bytes, in order; none is empty.
    pub ranges: Vec<Range<usize>>,
    /// Whether the text was searched to its end, or up to [`PLACES_MAX`].
    pub is_whole: bool,
}

impl Pattern {
    /// Compiles `source`; fails with what is wrong with it.
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

    /// Where it stands in `text`. `is_late` is asked now and then, and ends the search.
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

/// Where the piece that begins at `start` ends: behind a line, since `^` and `$` are those of lines.
fn piece_end(text: &str, start: usize) -> usize {
    let wanted = start.saturating_add(PIECE_BYTES).min(text.len());
    let line = text.as_bytes().get(wanted..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'));
    line.map_or(text.len(), |at| wanted.saturating_add(at).saturating_add(1))
}
