//! Finds JSON values in a stream of bytes: one after the other, pretty-printed or not, with or without line
//! ends, or as the items of one array. Only brackets and strings are examined; whether a value is valid is
//! decided by its reader.
//!
//! ```text
//! {"a":1}{"b":[2]}          two values
//! [{"a":1},{"b":2}]         two values with ValueSplitter::items, one with ValueSplitter::whole
//! {"a":1} oops {"b":2}      a value, stray text up to the end of its line; the second value is lost with it,
//!                           except with ValueSplitter::in_text, which ignores text between objects
//! {"a":                     FramedItem::Cut at the end of the stream
//! ```
//!
//! Brackets of either kind close each other, so a value with crossed brackets is passed on whole and refused
//! by its reader.

use super::{FramedItem, StreamPiece, lossy};
use crate::scan::special;
use model::limits::LINE_BYTES_MAX;

/// How many bytes between values are kept for the anomaly.
const JUNK_BYTES_MAX: usize = 256;

/// Follows the brackets of JSON text, byte by byte. Its size does not depend on the length of the text.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonNesting {
    /// The number of brackets that are open.
    depth: u32,
    deepest: u32,
    /// The last byte was inside of a string.
    in_string: bool,
    /// The last byte was a backslash that makes the next one part of the string.
    escaped: bool,
}

impl JsonNesting {
    /// The state after `text`, from its beginning.
    pub fn of(text: &str) -> Self {
        let mut nesting = Self::default();
        nesting.scan(text);
        nesting
    }

    /// Updates the nesting with the next `text`.
    pub fn scan(&mut self, text: &str) {
        let mut bytes = text.as_bytes();
        while let [byte, rest @ ..] = bytes {
            self.push(*byte);
            bytes = self.within_string(rest);
        }
    }

    /// `bytes` without those at the beginning that only go on with an open string.
    fn within_string<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if !self.in_string || self.escaped {
            return bytes;
        }
        // Strings are short: most are passed with one look at eight bytes.
        bytes.get(special(bytes, 0).unwrap_or(bytes.len())..).unwrap_or_default()
    }

    /// Continues with one byte.
    pub fn push(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.deepest = self.deepest.max(self.depth);
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether a bracket or a string is open.
    pub fn is_open(&self) -> bool {
        self.depth > 0 || self.in_string
    }

    /// Whether a string is open.
    pub fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Whether an object or array is complete: there was a bracket, and all are closed.
    pub fn is_whole(&self) -> bool {
        self.deepest > 0 && !self.is_open()
    }

    /// The deepest nesting of brackets so far.
    pub fn deepest(&self) -> u32 {
        self.deepest
    }
}

/// The place of the last byte that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueState {
    /// Between two values, where white space and commas are skipped.
    Between,
    /// Inside of an object or array.
    Inside,
    /// Inside of text that is no value.
    Junk,
}

/// Splits a stream into JSON objects and arrays. Numbers, strings and other scalars at the top are stray.
#[derive(Debug)]
pub struct ValueSplitter {
    state: ValueState,
    /// A top-level array is divided into its items.
    unwrap: bool,
    /// Text between objects is ignored.
    in_text: bool,
    /// The splitter is inside of a top-level array.
    in_array: bool,
    nesting: JsonNesting,
    /// The open value so far.
    held: Vec<u8>,
    /// The number of dropped bytes of a value that is larger than [`LINE_BYTES_MAX`].
    dropped: u64,
    /// The line of the next byte.
    line: u64,
    /// The line on which the open value began.
    began: u64,
}

impl ValueSplitter {
    /// A splitter for values one after the other; an array at the top is divided into its items. The first
    /// byte is on `line`.
    pub fn items(line: u64) -> Self {
        Self {
            state: ValueState::Between,
            unwrap: true,
            in_text: false,
            in_array: false,
            nesting: JsonNesting::default(),
            held: Vec::new(),
            dropped: 0,
            line,
            began: line,
        }
    }

    /// A splitter for values one after the other; an array is one value.
    pub fn whole(line: u64) -> Self {
        Self { unwrap: false, ..Self::items(line) }
    }

    /// A splitter for objects in any other text, which is ignored.
    pub fn in_text(line: u64) -> Self {
        Self { unwrap: false, in_text: true, ..Self::items(line) }
    }

    /// Takes the next bytes and passes each complete value to `take`.
    pub fn feed(&mut self, mut bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) {
        while !bytes.is_empty() {
            let used = match self.state {
                ValueState::Between => self.between(bytes),
                ValueState::Inside => self.inside(bytes, take),
                ValueState::Junk => self.junk(bytes, take),
            };
            bytes = bytes.get(used..).unwrap_or_default();
        }
    }

    /// Passes the rest to `take` at the end of the stream: an open value as cut, other text as stray. An
    /// array whose closing bracket is missing is cut as well, with an empty text.
    pub fn end(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match self.state {
            ValueState::Inside if self.dropped == 0 => self.give(|text| FramedItem::Cut(text), take),
            ValueState::Between if !self.in_array => {}
            ValueState::Between => take(StreamPiece { line: self.line, body: FramedItem::Cut("") }),
            ValueState::Inside | ValueState::Junk => self.give(|text| FramedItem::Stray(text), take),
        }
    }

    /// Skips what is between values, and returns the number of bytes that were used. The byte that begins a
    /// value is not used.
    fn between(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' => self.line = self.line.saturating_add(1),
                b' ' | b'\t' | b'\r' | b',' => {}
                byte if self.in_text && *byte != b'{' => {}
                b'[' if self.unwrap && !self.in_array => self.in_array = true,
                b']' if self.in_array => self.in_array = false,
                _ => {
                    self.state =
                        if matches!(byte, b'{' | b'[') { ValueState::Inside } else { ValueState::Junk };
                    self.nesting = JsonNesting::default();
                    self.began = self.line;
                    return at;
                }
            }
        }
        bytes.len()
    }

    /// Takes bytes of the open value up to its end, and returns how many were used.
    fn inside(&mut self, bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) -> usize {
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            self.nesting.push(*byte);
            rest = self.nesting.within_string(after);
            // What is passed over within a string holds no line break.
            self.line = self.line.saturating_add(u64::from(*byte == b'\n'));
            if self.nesting.is_whole() {
                let used = bytes.len().saturating_sub(rest.len());
                self.hold(bytes.get(..used).unwrap_or_default());
                self.give(|text| FramedItem::Json(text), take);
                return used;
            }
        }
        self.hold(bytes);
        bytes.len()
    }

    /// Passes over what is neither an object nor an array, up to the end of its line or, in an array, of its
    /// item.
    fn junk(&mut self, bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            let ends_item = self.in_array && !self.nesting.is_open() && matches!(byte, b',' | b']');
            if ends_item || *byte == b'\n' {
                self.give(|text| FramedItem::Stray(text), take);
                return at;
            }
            self.nesting.push(*byte);
            if self.held.len() < JUNK_BYTES_MAX {
                self.held.push(*byte);
            }
        }
        bytes.len()
    }

    /// Keeps bytes of the open value, or drops the value once it is too large.
    fn hold(&mut self, bytes: &[u8]) {
        let length = self.held.len().saturating_add(bytes.len());
        if self.dropped == 0 && length <= LINE_BYTES_MAX {
            self.held.extend_from_slice(bytes);
            return;
        }
        self.dropped = self.dropped.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        self.held = Vec::new();
    }

    /// Passes on what is held as `body`, or that it was too large, and goes back between values.
    fn give(
        &mut self,
        body: impl for<'a> FnOnce(&'a str) -> FramedItem<'a>,
        take: &mut dyn FnMut(StreamPiece<'_>),
    ) {
        if self.dropped > 0 {
            take(StreamPiece { line: self.began, body: FramedItem::TooLarge(self.dropped) });
        } else {
            take(StreamPiece { line: self.began, body: body(&lossy(&self.held)) });
        }
        self.state = ValueState::Between;
        self.dropped = 0;
        self.held.clear();
        if self.held.capacity() > super::lines::KEPT_BYTES_MAX {
            self.held = Vec::new();
        }
    }
}
