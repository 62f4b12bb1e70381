//! Splits the body of an HTTP answer that should be SSE but may be JSON: an error before any event, an answer
//! that was not streamed, objects one after the other. The first byte that is not white space decides: `{`
//! and `[` begin JSON, anything else SSE.

use super::lines::BOM;
use super::{SseSplitter, StreamPiece, ValueSplitter};

/// Splits a body into pieces. The default divides an array at the top into its items.
#[derive(Debug)]
pub struct BodyFraming {
    state: BodyFormat,
    /// Makes the splitter for a JSON body that begins on the given line.
    values: fn(u64) -> ValueSplitter,
}

/// What the body is, as far as it is known. It is decided once.
#[derive(Debug)]
enum BodyFormat {
    /// Only white space so far, with the number of bytes of a byte order mark and the number of lines.
    Undecided { bom: usize, lines: u64 },
    /// The body consists of server-sent events.
    Sse(SseSplitter),
    /// The body consists of JSON values.
    Json(ValueSplitter),
}

impl Default for BodyFraming {
    fn default() -> Self {
        Self { state: BodyFormat::Undecided { bom: 0, lines: 0 }, values: ValueSplitter::items }
    }
}

impl BodyFraming {
    /// A splitter that passes on an array as one piece.
    pub fn keeping_arrays() -> Self {
        Self { values: ValueSplitter::whole, ..Self::default() }
    }

    /// A splitter for a body that may begin with a JSON object and continue as SSE, like joined messages of a
    /// WebSocket.
    pub fn of_objects() -> Self {
        Self { values: ValueSplitter::in_text, ..Self::default() }
    }

    /// Takes the next bytes and passes each complete piece to `take`.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) {
        let mut bytes = bytes;
        if let BodyFormat::Undecided { bom, lines } = &mut self.state {
            let Some((first, rest)) = first_byte(bytes, bom, lines) else { return };
            bytes = rest;
            self.state = if matches!(first, b'{' | b'[') {
                BodyFormat::Json((self.values)(lines.saturating_add(1)))
            } else {
                BodyFormat::Sse(SseSplitter::after(*lines))
            };
        }
        match &mut self.state {
            BodyFormat::Sse(sse) => sse.feed(bytes, take),
            BodyFormat::Json(values) => values.feed(bytes, take),
            BodyFormat::Undecided { .. } => {}
        }
    }

    /// Passes the rest to `take` at the end of the stream: an event without its blank line, a value that was
    /// cut. A body of white space has no piece.
    pub fn end(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match &mut self.state {
            BodyFormat::Sse(sse) => sse.end(take),
            BodyFormat::Json(values) => values.end(take),
            BodyFormat::Undecided { .. } => {}
        }
    }
}

/// The first byte that is not white space, and the bytes from there on; nothing if there is none yet. `bom`
/// and `lines` count what was skipped: the bytes of a byte order mark and the line ends. They carry over to
/// the next call, so that the mark may be cut.
pub(crate) fn first_byte<'a>(bytes: &'a [u8], bom: &mut usize, lines: &mut u64) -> Option<(u8, &'a [u8])> {
    for (at, byte) in bytes.iter().enumerate() {
        if BOM.get(*bom) == Some(byte) {
            *bom = bom.saturating_add(1);
            continue;
        }
        match byte {
            b'\n' => *lines = lines.saturating_add(1),
            b' ' | b'\t' | b'\r' => {}
            _ => return bytes.get(at..).map(|rest| (*byte, rest)),
        }
    }
    None
}
