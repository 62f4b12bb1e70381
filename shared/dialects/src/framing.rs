//! Framing: how a stream of bytes falls into pieces, before anybody asks what the pieces mean. All of it takes the
//! bytes however they are cut and costs O(1) for each byte.

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

/// One piece of a stream, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPiece<'a> {
    /// The line of the stream that the piece begins on, from 1.
    pub line: u64,
    /// The piece.
    pub body: FramedItem<'a>,
}

/// See [`StreamPiece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramedItem<'a> {
    /// An SSE event.
    Event {
        /// Its name; empty when the stream gave none.
        name: &'a str,
        /// Its data, lines joined with `\n`.
        data: &'a str,
    },
    /// A JSON value that stands for itself: a body that is no SSE, or a line of NDJSON.
    Json(&'a str),
    /// JSON in an SSE field called `error`: no standard knows it, some servers fail that way.
    ErrorField(&'a str),
    /// A line that the framing has no meaning for. Standards say to ignore it.
    Stray(&'a str),
    /// A piece over the limit was left out; its length in bytes, as far as it was seen.
    TooLarge(u64),
    /// The stream ended inside this JSON value.
    Cut(&'a str),
}

/// The beginning of `text`, short enough for the detail of an anomaly.
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

#[cfg(test)]
mod tests;
