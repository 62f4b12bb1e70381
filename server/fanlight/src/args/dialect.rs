//! The argument `--dialect`: a known dialect, or a file that describes one.

use std::str::FromStr;

use dialects::custom::UserDialect;
use dialects::{Decode, DecodeOptions, Decoded, decoder, detect};
use model::dialect::DECODED;

/// The name under which the dialect is detected from the stream.
pub(crate) const AUTO: &str = "auto";

/// How much of a stream is examined before the detection gives up, in bytes.
const LOOKED_BYTES_MAX: usize = 64 << 10;

/// A decoder that first detects the dialect.
#[derive(Debug)]
struct DetectingDecoder {
    /// For the decoder that is going to be made; `None` once it is.
    options: Option<DecodeOptions>,
    /// The bytes that arrived before the dialect was known.
    beginning: Vec<u8>,
    /// The decoder of the dialect, once that is known.
    known: Option<Box<dyn Decode>>,
}

impl DetectingDecoder {
    /// Examines the beginning. If it is not recognized although there are `enough` bytes of it, it is decoded
    /// as native events, so that its anomalies are reported.
    fn look(&mut self, enough: usize, out: &mut Decoded) {
        let found = detect(&self.beginning);
        if found.is_none() && self.beginning.len() < enough {
            return;
        }
        let Some(options) = self.options.take() else { return };
        self.known = decoder(found.unwrap_or("fanlight"), options);
        if let Some(known) = &mut self.known {
            known.feed(&std::mem::take(&mut self.beginning), out);
        }
    }
}

impl Decode for DetectingDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        if let Some(known) = &mut self.known {
            return known.feed(bytes, out);
        }
        self.beginning.extend_from_slice(bytes);
        self.look(LOOKED_BYTES_MAX, out);
    }

    fn end(&mut self, out: &mut Decoded) {
        self.look(0, out);
        if let Some(known) = &mut self.known {
            known.end(out);
        }
    }
}

/// The dialect of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamDialect {
    /// A known name, [`AUTO`], or the name in the user's file.
    name: String,
    /// The description of a user's own dialect.
    own: Option<UserDialect>,
}

impl StreamDialect {
    /// The name of the dialect, as given on the command line.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A decoder for one stream. `None` for an unknown name, which no [`StreamDialect`] has.
    pub(crate) fn decoder(&self, options: DecodeOptions) -> Option<Box<dyn Decode>> {
        match &self.own {
            Some(own) => Some(own.decoder(options)),
            None if self.name == AUTO => Some(Box::new(DetectingDecoder {
                options: Some(options),
                beginning: Vec::new(),
                known: None,
            })),
            None => decoder(&self.name, options),
        }
    }
}

impl FromStr for StreamDialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == AUTO || DECODED.contains(&text) {
            return Ok(Self { name: text.to_owned(), own: None });
        }
        if !is_file_name(text) {
            let known = DECODED.join(", ");
            return Err(format!(
                "no such dialect; there are {known}, {AUTO} where the stream itself tells, and files that describe one (FILE.yaml)"
            ));
        }
        let own = described(std::path::Path::new(text))?;
        Ok(Self { name: own.name().to_owned(), own: Some(own) })
    }
}

/// Whether it names a YAML file.
fn is_file_name(text: &str) -> bool {
    let path = std::path::Path::new(text);
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// Reads the dialect that the file at `path` describes. The error names the file and what is wrong in it.
pub(crate) fn described(path: &std::path::Path) -> Result<UserDialect, String> {
    let shown = path.display();
    let yaml = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    UserDialect::parse(&yaml).map_err(|error| format!("{shown}: {error}"))
}

#[cfg(test)]
mod tests {
    //! What is told from a stream.

    use model::event::Kind;

    use super::*;

    #[test]
    fn a_stream_tells_its_dialect_by_itself_however_it_is_cut() {
        let stream = r#"data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#;
        for size in [1, 7, stream.len()] {
            let mut out = Decoded::default();
            let mut decoder =
                StreamDialect::from_str(AUTO).unwrap().decoder(DecodeOptions::default()).unwrap();
            for piece in stream.as_bytes().chunks(size) {
                decoder.feed(piece, &mut out);
            }
            decoder.end(&mut out);
            let kinds = || out.envelopes.iter().map(|it| &it.event.kind);
            let dialect = kinds().find_map(|kind| match kind {
                Kind::RunStart(start) => start.dialect.clone(),
                _ => None,
            });
            assert_eq!(dialect.as_deref(), Some("openai-chat"), "{size}");
            assert!(kinds().any(|kind| matches!(kind, Kind::PartDelta { .. })), "{size}");
        }
    }
}
