//! The decoder module of the page: it decodes one recording at a time.
//!
//! Bytes of a recording go in; events come out as JSON, one per line, in the form in which the hub sends them
//! to viewers. The page folds them. The module also matches the patterns that readers type for Find. It is
//! loaded on demand, because the dialects and the pattern engine would make the page much larger and few
//! readers need them.

use dialects::{Decode, DecodeOptions, Decoded, decoder};

mod pattern;

pub use pattern::{PATTERN_BYTES_MAX, PLACES_MAX, Pattern, Places};

/// A recording that is being decoded.
#[derive(Debug)]
pub struct Reader {
    decoder: Box<dyn Decode>,
    decoded: Decoded,
}

impl Reader {
    /// A reader for a recording in `dialect`; `None` if no dialect has this name.
    pub fn of(dialect: &str) -> Option<Self> {
        let decoder = decoder(dialect, DecodeOptions::default())?;
        Some(Self { decoder, decoded: Decoded::default() })
    }

    /// Decodes the next bytes and returns the events that they complete, as JSON lines.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        self.decoder.feed(bytes, &mut self.decoded);
        self.lines()
    }

    /// Ends the recording and returns the events that its end completes, as JSON lines.
    pub fn end(mut self) -> String {
        self.decoder.end(&mut self.decoded);
        self.lines()
    }

    /// Takes the decoded events out, as JSON lines.
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
