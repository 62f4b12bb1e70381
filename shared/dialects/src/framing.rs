//! Framing: divides a stream of bytes into pieces, before their meaning is read. Every splitter accepts the
//! bytes in pieces of any size (I11), costs O(1) for each byte and holds back at most
//! [`model::limits::LINE_BYTES_MAX`] bytes (I7).
//!
//! | splitter | for | pieces |
//! |---|---|---|
//! | [`LineSplitter`] | NDJSON, and the lines of SSE | lines of text |
//! | [`SseSplitter`] | server-sent events | events with name and data |
//! | [`ValueSplitter`] | JSON values one after the other, or the items of an array | objects and arrays |
//! | [`BodyFraming`] | the body of an HTTP answer: SSE or JSON | as the two above |
//! | [`RecordSplitter`] | the output of a program: an object a line among other lines | objects and stray lines |
//!
//! They all work alike: `feed` takes bytes and calls `take` for each piece that is complete, `end` calls it
//! for what is left. A piece borrows from the splitter and is valid during the call only.

use std::borrow::Cow;

pub mod body;
pub mod json;
pub mod lines;
pub mod records;
pub mod sse;

pub use body::BodyFraming;
pub use json::{JsonNesting, ValueSplitter};
pub use lines::{LineSplitter, StreamLine};
pub use records::RecordSplitter;
pub use sse::SseSplitter;

/// One piece of a stream, and where it begins, for anomalies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPiece<'a> {
    /// The line of the stream on which the piece begins, from 1.
    pub line: u64,
    /// The content of the piece.
    pub body: FramedItem<'a>,
}

/// The content of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramedItem<'a> {
    /// One server-sent event.
    Event {
        /// The name; empty if the stream gave none.
        name: &'a str,
        /// The data; its lines are joined with `\n`.
        data: &'a str,
    },
    /// A JSON value outside of SSE: a whole body, or a line of NDJSON.
    ///
    /// Only its brackets were checked.
    Json(&'a str),
    /// JSON in an SSE field called `error`: it is not in the standard, but some servers report failures so.
    ErrorField(&'a str),
    /// A line that has no meaning in the framing. The standards require readers to ignore it.
    Stray(&'a str),
    /// A piece was larger than the limit and left out. The number is its length in bytes, as far as it was
    /// received.
    TooLarge(u64),
    /// The stream ended inside this JSON value, or another line began before it was complete.
    Cut(&'a str),
}

/// The beginning of `text`, at most 120 bytes and never half a character, short enough for the detail of an
/// anomaly.
pub fn excerpt(text: &str) -> &str {
    const MOST: usize = 120;
    if text.len() <= MOST {
        return text;
    }
    let mut end = MOST;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

/// The text of `bytes`, with a replacement character for what is not UTF-8. Nearly every piece is UTF-8, which is checked many bytes at
/// once; only the others are searched for what is not.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests;
