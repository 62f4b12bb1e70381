//! Decodes one recording at a time for the page, which is small without the dialects: bytes go in, events come out as
//! JSON, one a line, as a viewer gets them. The page folds them. The patterns that readers type for Find are matched here
//! too: the engine is as large as a quarter of the page, and few readers type one.

use dialects::{Decode, DecodeOptions, Decoded, decoder};

mod pattern;

pub use pattern::{PATTERN_BYTES_MAX, PLACES_MAX, Pattern, Places};

/// A recording that is being read.
#[derive(Debug)]
pub struct Reader {
    decoder: Box<dyn Decode>,
    decoded: Decoded,
}

impl Reader {
    /// One for a recording in `dialect`; nothing when there is no such dialect.
    pub fn of(dialect: &str) -> Option<Self> {
        let decoder = decoder(dialect, DecodeOptions::default())?;
        Some(Self { decoder, decoded: Decoded::default() })
    }

    /// The events that the next bytes complete.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.decoder.feed(bytes, &mut self.decoded);
        self.lines()
    }

    /// The events that the end of the recording completes.
    pub fn end(mut self) -> String {
        self.decoder.end(&mut self.decoded);
        self.lines()
    }

    fn lines(&mut self) -> String {
        let mut lines = String::new();
        for envelope in self.decoded.envelopes.drain(..) {
            // An event is always JSON.
            if let Ok(line) = serde_json::to_string(&envelope) {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests;
