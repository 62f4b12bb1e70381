//! Programs that print one JSON object a line: NDJSON, with what gets between the lines. Other output of the program is
//! stray, SSE fields around the objects are taken off, an object that is printed over several lines is put together
//! again, and a line that breaks off costs no other line.

use super::body::first_byte;
use super::lines::{KEPT_BYTES_MAX, Line};
use super::{Frame, FrameBody, Lines, Nesting, Values};
use model::limits::LINE_BYTES_MAX;

/// Splits the output of a program into objects.
#[derive(Debug)]
pub struct Records(State);

#[derive(Debug)]
enum State {
    /// Only white space so far; how many bytes of a byte order mark and how many lines there were.
    Undecided {
        bom: usize,
        lines: u64,
    },
    Lines(Lines, Joined),
    /// All objects in one array, as printed at the end.
    Array(Values),
}

impl Default for Records {
    fn default() -> Self {
        Self(State::Undecided { bom: 0, lines: 0 })
    }
}

impl Records {
    /// Takes the next bytes and gives each piece that is whole.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Frame<'_>)) {
        let mut bytes = bytes;
        if let State::Undecided { bom, lines } = &mut self.0 {
            let Some((first, rest)) = first_byte(bytes, bom, lines) else { return };
            bytes = rest;
            self.0 = if first == b'[' {
                State::Array(Values::items(lines.saturating_add(1)))
            } else {
                State::Lines(Lines::ndjson().after(*lines), Joined::default())
            };
        }
        match &mut self.0 {
            State::Lines(lines, joined) => {
                lines.feed(bytes, &mut |number, line| joined.line(number, line, take));
            }
            State::Array(values) => values.feed(bytes, take),
            State::Undecided { .. } => {}
        }
    }

    /// The stream is over.
    pub fn end(&mut self, take: &mut dyn FnMut(Frame<'_>)) {
        match &mut self.0 {
            State::Lines(lines, joined) => {
                lines.end(&mut |number, line| joined.line(number, line, take));
                joined.cut(take);
            }
            State::Array(values) => values.end(take),
            State::Undecided { .. } => {}
        }
    }
}

/// An object that was not whole at the end of its line.
#[derive(Debug, Default)]
struct Joined {
    text: String,
    nesting: Nesting,
    /// The line that it began on.
    began: u64,
}

impl Joined {
    fn line(&mut self, number: u64, line: Line<'_>, take: &mut dyn FnMut(Frame<'_>)) {
        match line {
            Line::TooLong(bytes) => {
                self.cut(take);
                take(Frame { line: number, body: FrameBody::TooLarge(bytes) });
            }
            Line::Text(text) => self.text(number, &text, take),
        }
    }

    fn text(&mut self, number: u64, line: &str, take: &mut dyn FnMut(Frame<'_>)) {
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
            self.nesting = Nesting::of(text);
            if !self.nesting.is_open() {
                return take(Frame { line: number, body: FrameBody::Json(text) });
            }
            self.text.push_str(text);
        } else if self.text.is_empty() {
            take(Frame { line: number, body: FrameBody::Stray(text) });
        } else if self.text.len().saturating_add(text.len()) > LINE_BYTES_MAX {
            self.cut(take);
        } else {
            self.text.push('\n');
            self.nesting.push(b'\n');
            self.nesting.scan(text);
            self.text.push_str(text);
            if !self.nesting.is_open() {
                take(Frame { line: self.began, body: FrameBody::Json(&self.text) });
                self.clear();
            }
        }
    }

    /// The object is not whole and will not be.
    fn cut(&mut self, take: &mut dyn FnMut(Frame<'_>)) {
        if !self.text.is_empty() {
            take(Frame { line: self.began, body: FrameBody::Cut(&self.text) });
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        if self.text.capacity() > KEPT_BYTES_MAX {
            self.text = String::new();
        }
    }
}
