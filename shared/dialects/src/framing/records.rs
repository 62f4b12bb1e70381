//! Splits the output of programs that print one JSON object a line, with what gets between the lines. Other
//! output of the program is stray, SSE fields around the objects are removed, an object that is printed over
//! several lines is joined, and a line that breaks off does not affect other lines.
//!
//! ```text
//! Reading additional input from stdin...     stray
//! {"type":"thread.started"}                  an object
//! data: {"type":"turn.started"}              an object; a copy of an SSE stream
//! {"type":"item.star                         cut: the next line begins with {" and so another object
//! {"type":"turn.completed"}                  an object
//! ```

use super::body::first_byte;
use super::lines::{KEPT_BYTES_MAX, StreamLine};
use super::{FramedItem, JsonNesting, LineSplitter, StreamPiece, ValueSplitter};
use model::limits::LINE_BYTES_MAX;

/// Splits the output of a program into objects. If the output begins with `[`, the items of that array are
/// the objects.
#[derive(Debug)]
pub struct RecordSplitter(RecordFormat);

/// What the output is, decided by the first byte that is not white space.
#[derive(Debug)]
enum RecordFormat {
    /// Only white space so far, with the number of bytes of a byte order mark and the number of lines.
    Undecided { bom: usize, lines: u64 },
    /// An object a line.
    Lines(LineSplitter, JoinedLines),
    /// All objects in one array, as some programs print them at the end.
    Array(ValueSplitter),
}

impl Default for RecordSplitter {
    fn default() -> Self {
        Self(RecordFormat::Undecided { bom: 0, lines: 0 })
    }
}

impl RecordSplitter {
    /// Takes the next bytes and passes each complete piece to `take`.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) {
        let mut bytes = bytes;
        if let RecordFormat::Undecided { bom, lines } = &mut self.0 {
            let Some((first, rest)) = first_byte(bytes, bom, lines) else { return };
            bytes = rest;
            self.0 = if first == b'[' {
                RecordFormat::Array(ValueSplitter::items(lines.saturating_add(1)))
            } else {
                RecordFormat::Lines(LineSplitter::ndjson().after(*lines), JoinedLines::default())
            };
        }
        match &mut self.0 {
            RecordFormat::Lines(lines, joined) => {
                lines.feed(bytes, &mut |number, line| joined.line(number, line, take));
            }
            RecordFormat::Array(values) => values.feed(bytes, take),
            RecordFormat::Undecided { .. } => {}
        }
    }

    /// Passes the rest to `take` at the end of the stream: the last line, and an object that is not complete
    /// as cut.
    pub fn end(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match &mut self.0 {
            RecordFormat::Lines(lines, joined) => {
                lines.end(&mut |number, line| joined.line(number, line, take));
                joined.cut(take);
            }
            RecordFormat::Array(values) => values.end(take),
            RecordFormat::Undecided { .. } => {}
        }
    }
}

/// An object that was not complete at the end of its line; empty if there is none.
#[derive(Debug, Default)]
struct JoinedLines {
    /// The lines so far, trimmed and joined with `\n`.
    text: String,
    /// The brackets of `text`.
    nesting: JsonNesting,
    /// The line on which it began.
    began: u64,
}

impl JoinedLines {
    fn line(&mut self, number: u64, line: StreamLine<'_>, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match line {
            StreamLine::TooLong(bytes) => {
                self.cut(take);
                take(StreamPiece { line: number, body: FramedItem::TooLarge(bytes) });
            }
            StreamLine::Text(text) => self.text(number, &text, take),
        }
    }

    /// Takes a line: it is an object, begins one, continues the open one, or is stray.
    fn text(&mut self, number: u64, line: &str, take: &mut dyn FnMut(StreamPiece<'_>)) {
        let text = line.trim();
        let text = text.strip_prefix("data:").map_or(text, str::trim_start);
        if text.is_empty() {
            return;
        }
        // Lines inside of an object are indented, or close it.
        let begins = line.starts_with("{\"") || (self.text.is_empty() && text.starts_with('{'));
        if begins {
            self.cut(take);
            self.began = number;
            self.nesting = JsonNesting::of(text);
            if !self.nesting.is_open() {
                return take(StreamPiece { line: number, body: FramedItem::Json(text) });
            }
            self.text.push_str(text);
        } else if self.text.is_empty() {
            take(StreamPiece { line: number, body: FramedItem::Stray(text) });
        } else if self.text.len().saturating_add(text.len()) > LINE_BYTES_MAX {
            self.cut(take);
        } else {
            self.text.push('\n');
            self.nesting.push(b'\n');
            self.nesting.scan(text);
            self.text.push_str(text);
            if !self.nesting.is_open() {
                take(StreamPiece { line: self.began, body: FramedItem::Json(&self.text) });
                self.clear();
            }
        }
    }

    /// Passes on the object as cut: it will not be complete any more.
    fn cut(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        if !self.text.is_empty() {
            take(StreamPiece { line: self.began, body: FramedItem::Cut(&self.text) });
            self.clear();
        }
    }

    /// Forgets the object, and frees its memory if that was large.
    fn clear(&mut self) {
        self.text.clear();
        if self.text.capacity() > KEPT_BYTES_MAX {
            self.text = String::new();
        }
    }
}
