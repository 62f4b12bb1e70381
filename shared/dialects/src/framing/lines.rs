//! Splits bytes into lines of text of bounded length. Bytes that are not UTF-8 become U+FFFD line by line, so
//! that the places where the stream was cut make no difference (I11): a line end is never part of a longer
//! character.

use std::borrow::Cow;

use super::lossy;
use model::limits::LINE_BYTES_MAX;

/// How much memory a splitter may keep between lines, in bytes. The buffer of a longer line is freed after
/// it, so that one huge line does not cost its memory for the rest of the stream.
pub(super) const KEPT_BYTES_MAX: usize = 64 << 10;

/// The byte order mark that may be at the beginning of a stream, in UTF-8. It is dropped from the first line.
pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamLine<'a> {
    /// The text of the line.
    Text(Cow<'a, str>),
    /// The line was longer than [`LINE_BYTES_MAX`] and left out. The number is its length in bytes. The lines
    /// after it are read as usual.
    TooLong(u64),
}

/// Splits a stream into lines. It is created with [`LineSplitter::sse`] or [`LineSplitter::ndjson`].
#[derive(Debug)]
pub struct LineSplitter {
    /// A lone `\r` ends a line too (SSE).
    lone_cr: bool,
    /// The last byte was a `\r` that ended a line: a `\n` right after it belongs to it.
    after_cr: bool,
    /// The received part of the open line.
    held: Vec<u8>,
    /// The number of bytes of the open line that were dropped, because it is too long.
    dropped: u64,
    /// The number of lines that were complete so far.
    number: u64,
}

impl LineSplitter {
    /// A splitter for SSE: `\n`, `\r\n` or a lone `\r` ends a line.
    pub fn sse() -> Self {
        Self { lone_cr: true, after_cr: false, held: Vec::new(), dropped: 0, number: 0 }
    }

    /// A splitter for NDJSON: `\n` ends a line, a `\r` before it is dropped.
    pub fn ndjson() -> Self {
        Self { lone_cr: false, ..Self::sse() }
    }

    /// Starts the count of lines after `lines` lines that another splitter has read. The next line has the number `lines + 1`.
    #[must_use]
    pub fn after(mut self, lines: u64) -> Self {
        self.number = lines;
        self
    }

    /// Takes the next bytes and passes each complete line to `take`, with its number from 1.
    ///
    /// A line that is complete in `bytes` is passed on without a copy.
    pub fn feed(&mut self, mut bytes: &[u8], take: &mut dyn FnMut(u64, StreamLine<'_>)) {
        if std::mem::take(&mut self.after_cr) {
            match bytes.split_first() {
                Some((b'\n', rest)) => bytes = rest,
                Some(_) => {}
                None => self.after_cr = true,
            }
        }
        while let Some(at) = self.end_of_line(bytes) {
            let (line, rest) = bytes.split_at(at);
            self.complete(line, take);
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => rest,
            };
            self.after_cr = rest == [b'\r'];
        }
        self.hold(bytes);
    }

    /// Passes the last line to `take` at the end of the stream, if it has no line end. An empty one is no
    /// line.
    pub fn end(&mut self, take: &mut dyn FnMut(u64, StreamLine<'_>)) {
        if !self.held.is_empty() || self.dropped > 0 {
            self.complete(&[], take);
        }
    }

    /// The place of the first byte in `bytes` that ends a line.
    fn end_of_line(&self, bytes: &[u8]) -> Option<usize> {
        if self.lone_cr { memchr::memchr2(b'\n', b'\r', bytes) } else { memchr::memchr(b'\n', bytes) }
    }

    /// Keeps bytes of the open line, or drops the whole line once it is over the limit. Dropped bytes are
    /// counted.
    fn hold(&mut self, bytes: &[u8]) {
        if self.dropped == 0 && self.held.len().saturating_add(bytes.len()) <= LINE_BYTES_MAX {
            self.held.extend_from_slice(bytes);
            return;
        }
        let added = self.held.len().saturating_add(bytes.len());
        self.dropped = self.dropped.saturating_add(u64::try_from(added).unwrap_or(u64::MAX));
        self.held = Vec::new();
    }

    /// Passes on the open line, whose last bytes are `rest`, and begins the next one.
    fn complete(&mut self, rest: &[u8], take: &mut dyn FnMut(u64, StreamLine<'_>)) {
        self.number = self.number.saturating_add(1);
        if self.held.is_empty() && self.dropped == 0 && rest.len() <= LINE_BYTES_MAX {
            return take(self.number, StreamLine::Text(self.text_of(rest)));
        }
        self.hold(rest);
        if self.dropped > 0 {
            take(self.number, StreamLine::TooLong(self.dropped));
        } else {
            take(self.number, StreamLine::Text(self.text_of(&self.held)));
        }
        self.dropped = 0;
        self.held.clear();
        if self.held.capacity() > KEPT_BYTES_MAX {
            self.held = Vec::new();
        }
    }

    /// The text of a line, without a byte order mark and, in NDJSON, without the `\r` before its end.
    fn text_of<'a>(&self, line: &'a [u8]) -> Cow<'a, str> {
        let mut line = line;
        if self.number == 1 {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if !self.lone_cr {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        lossy(line)
    }
}
