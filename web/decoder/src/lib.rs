//! The decoder module of the page: it decodes one recording at a time.
//!
//! Bytes of a recording go in; events come out as JSON, one per line, in the form in which the hub sends them
//! to viewers. The page folds them. The module also matches the patterns that readers type for Find. It is
//! loaded on demand, because the dialects and the pattern engine would make the page much larger and few
//! readers need them.
//!
//! It must never know how events are folded or drawn, who reads, or a hub: of the workspace it names `dialects` and `model`, and
//! no Leptos. It neither waits nor reads a clock; `main` passes one to the search for a pattern.
//!
//! ```text
//! Reader::of("anthropic") ─▶ feed(bytes), as often as there are bytes ─▶ end()
//!        feed and end return lines such as {"k":"run.start","run":"r1",…}
//! ```
//!
//! The bytes may be divided anywhere.
//!
//! Reading order: [`Reader`] here → `pattern` (patterns of Find) → `main` (the functions that the page calls).

use dialects::{Decode, DecodeOptions, Decoded, decoder};

mod pattern;

pub use pattern::{PATTERN_BYTES_MAX, PLACES_MAX, Pattern, Places};

/// A recording that is being decoded.
///
/// It owns the decoder and the events that were not taken yet; dropping it forgets both.
#[derive(Debug)]
pub struct Reader {
    /// The decoder of the dialect.
    decoder: Box<dyn Decode>,
    /// Where the decoder puts events. It is empty between two calls.
    decoded: Decoded,
}

impl Reader {
    /// A reader for a recording in `dialect`; `None` if no dialect has this name.
    ///
    /// It decodes with the default options: the run is `r1` unless the stream names its runs, and texts are
    /// left unchanged.
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
