//! A stream that is not what its sender says: an error page, compressed bytes, another dialect. A decoder
//! that finds nothing it knows in a whole stream says so once, and what the bytes look like.

use super::{Decode, Decoded, detect};
use model::anomaly::{Anomaly, AnomalyCode};
use model::envelope::Envelope;
use model::event::{Kind, RunStatus};
use model::ids::RunId;

/// Bytes of the beginning that are kept until something is known of the stream.
const KEPT_BYTES: usize = 4 << 10;

/// A decoder around another one that checks whether any event had a meaning. It changes no event; at most it
/// adds one anomaly (`wrong_dialect`) at the end.
#[derive(Debug)]
pub(super) struct PlausibleDecoder {
    /// The dialect that the caller named.
    name: &'static str,
    decoder: Box<dyn Decode>,
    /// The first [`KEPT_BYTES`] of the stream, while nothing of it meant anything; nothing once it did.
    beginning: Option<Vec<u8>>,
}

impl PlausibleDecoder {
    /// A decoder around `decoder`, which decodes the dialect `name`.
    pub(super) fn new(name: &'static str, decoder: Box<dyn Decode>) -> Self {
        Self { name, decoder, beginning: Some(Vec::new()) }
    }

    /// Drops the beginning if one of the events from `before` on means something.
    fn look(&mut self, before: usize, out: &Decoded) {
        let new = out.envelopes.get(before..).unwrap_or_default();
        if self.beginning.is_some() && new.iter().any(means_something) {
            self.beginning = None;
        }
    }
}

impl Decode for PlausibleDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        let Some(beginning) = &mut self.beginning else { return self.decoder.feed(bytes, out) };
        let room = KEPT_BYTES.saturating_sub(beginning.len()).min(bytes.len());
        beginning.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let before = out.envelopes.len();
        self.decoder.feed(bytes, out);
        self.look(before, out);
    }

    fn end(&mut self, out: &mut Decoded) {
        let before = out.envelopes.len();
        self.decoder.end(out);
        self.look(before, out);
        if let Some(looks) = self.beginning.take().and_then(|beginning| looks_like(&beginning, self.name)) {
            let detail = format!("nothing in the stream is {}; {looks}", self.name);
            out.push(&RunId::none(), Kind::Anomaly(Anomaly { code: AnomalyCode::WrongDialect, detail }));
        }
    }
}

/// Whether the event says more than that something was sent. Runs that begin and break off, raw events,
/// errors and anomalies are written for any bytes.
fn means_something(envelope: &Envelope) -> bool {
    match &envelope.event.kind {
        Kind::RunStart(_) | Kind::Raw { .. } | Kind::Anomaly(_) | Kind::Error(_) => false,
        Kind::RunEnd(end) => !matches!(end.status, RunStatus::Interrupted | RunStatus::Error),
        _ => true,
    }
}

/// What the bytes look like, when that is something else than `name`: compressed, a page, another dialect.
/// Nothing if it is not recognised, and then there is no anomaly.
fn looks_like(beginning: &[u8], name: &str) -> Option<String> {
    let compressed: [(&[u8], &str); 3] =
        [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x78\x9c", "deflate")];
    if let Some((_, format)) = compressed.into_iter().find(|(magic, _)| beginning.starts_with(magic)) {
        return Some(format!("it is compressed with {format}: decompress it first"));
    }
    let text = String::from_utf8_lossy(beginning);
    let start: String = text.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return Some("it looks like an HTML page".to_owned());
    }
    let other = detect(beginning).filter(|other| *other != name)?;
    Some(format!("it looks like {other}"))
}

#[cfg(test)]
mod tests;
