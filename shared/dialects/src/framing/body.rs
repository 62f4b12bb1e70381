//! The body of an HTTP answer that should be SSE but may be JSON: an error that came before any event, an answer that
//! was not streamed, objects one after the other. The first byte that is no white space decides.

use super::lines::BOM;
use super::{SseSplitter, StreamPiece, ValueSplitter};

/// Splits a body into pieces.
#[derive(Debug)]
pub struct BodyFraming {
    state: BodyFormat,
    /// How a JSON body falls into values, from its first line on.
    values: fn(u64) -> ValueSplitter,
}

#[derive(Debug)]
enum BodyFormat {
    /// Only white space so far; how many bytes of a byte order mark and how many lines there were.
    Undecided {
        bom: usize,
        lines: u64,
    },
    Sse(SseSplitter),
    Json(ValueSplitter),
}

impl Default for BodyFraming {
    fn default() -> Self {
        Self { state: BodyFormat::Undecided { bom: 0, lines: 0 }, values: ValueSplitter::items }
    }
}

impl BodyFraming {
    /// A body whose arrays are values like any other.
    pub fn keeping_arrays() -> Self {
        Self { values: ValueSplitter::whole, ..Self::default() }
    }

    /// A body that may begin with a JSON object and go on as SSE, as messages of a WebSocket do when they are joined.
    pub fn of_objects() -> Self {
        Self { values: ValueSplitter::in_text, ..Self::default() }
    }

    /// Takes the next bytes and gives each piece that is whole.
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

    /// The stream is over.
    pub fn end(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match &mut self.state {
            BodyFormat::Sse(sse) => sse.end(take),
            BodyFormat::Json(values) => values.end(take),
            BodyFormat::Undecided { .. } => {}
        }
    }
}

/// The first byte that says something, and the bytes from there on.
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
