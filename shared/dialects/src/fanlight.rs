//! The native dialect: one event or envelope in each line (NDJSON), as the items of a JSON array, or as the
//! data of SSE events; there also the hub's own `batch` frames, so that what a hub sends can be taken in
//! again.
//!
//! ```text
//! {"k":"part.delta","run":"r1","part":"p1","off":0,"text":"Hi"}                       an event
//! {"seq":4,"at":1770000000000,"k":"part.delta","run":"r1","part":"p1","text":"Hi"}    an envelope
//! {"t":"batch","ev":[…]}                                                              a frame of the hub
//! {"fanlight":"…"}                                                                    the first line of an export: skipped
//! ```
//!
//! The `at` of a recorded envelope becomes its `producer_at`: the hub that takes it now has a time of its
//! own. Its `seq` is left behind for the same reason. An event without a run gets that of the options, unless
//! it is about the conversation. A bad line costs only itself, and is an anomaly. A run that was started and
//! not ended stays open at the end of the stream: a native publisher may continue it in another body.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::field::is_too_deep;
use super::framing::body::first_byte;
use super::framing::{
    FramedItem, LineSplitter, SseSplitter, StreamLine, StreamPiece, ValueSplitter, excerpt,
};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::{Anomaly, AnomalyCode};
use model::envelope::Envelope;
use model::event::Kind;
use model::ids::RunId;

mod plain;

use plain::PlainDeltas;

/// The name of the dialect.
pub const NAME: &str = "fanlight";

/// Decodes native events. It keeps nothing between events but an incomplete line and what deltas look like.
#[derive(Debug)]
pub struct NativeDecoder {
    framing: NativeFraming,
    events: NativeEvents,
}

/// Reads the events.
#[derive(Debug)]
struct NativeEvents {
    /// The run of events that name none.
    run: RunId,
    /// The deltas that look like others before them.
    plain: PlainDeltas,
}

/// How the stream is divided; the first byte that is not white space decides.
#[derive(Debug)]
enum NativeFraming {
    /// Only white space so far, with the number of bytes of a byte order mark and the number of lines.
    Undecided { bom: usize, lines: u64 },
    /// `{`: one object a line.
    Lines(LineSplitter),
    /// `[`: the items of an array.
    Array(ValueSplitter),
    /// Anything else: server-sent events.
    Sse(SseSplitter),
}

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(NativeDecoder::new(options))
}

impl NativeDecoder {
    /// A decoder for one stream.
    pub fn new(options: DecodeOptions) -> Self {
        let events = NativeEvents { run: options.run, plain: PlainDeltas::default() };
        Self { framing: NativeFraming::Undecided { bom: 0, lines: 0 }, events }
    }
}

impl Decode for NativeDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        let mut bytes = bytes;
        if let NativeFraming::Undecided { bom, lines } = &mut self.framing {
            let Some((first, rest)) = first_byte(bytes, bom, lines) else { return };
            bytes = rest;
            self.framing = match first {
                b'{' => NativeFraming::Lines(LineSplitter::ndjson().after(*lines)),
                b'[' => NativeFraming::Array(ValueSplitter::items(lines.saturating_add(1))),
                _ => NativeFraming::Sse(SseSplitter::after(*lines)),
            };
        }
        let events = &mut self.events;
        match &mut self.framing {
            NativeFraming::Lines(lines) => {
                lines.feed(bytes, &mut |number, line| events.line(number, line, out));
            }
            NativeFraming::Array(values) => values.feed(bytes, &mut |frame| events.frame(frame, out)),
            NativeFraming::Sse(sse) => sse.feed(bytes, &mut |frame| events.frame(frame, out)),
            NativeFraming::Undecided { .. } => {}
        }
    }

    fn end(&mut self, out: &mut Decoded) {
        let events = &mut self.events;
        match &mut self.framing {
            NativeFraming::Lines(lines) => lines.end(&mut |number, line| events.line(number, line, out)),
            NativeFraming::Array(values) => values.end(&mut |frame| events.frame(frame, out)),
            NativeFraming::Sse(sse) => sse.end(&mut |frame| events.frame(frame, out)),
            NativeFraming::Undecided { .. } => {}
        }
    }
}

impl NativeEvents {
    /// Takes one line of NDJSON.
    fn line(&mut self, number: u64, line: StreamLine<'_>, out: &mut Decoded) {
        match line {
            StreamLine::Text(text) => self.text(number, &text, out),
            StreamLine::TooLong(bytes) => too_large(number, bytes, out),
        }
    }

    /// Takes one item of an array, or one SSE event.
    fn frame(&mut self, frame: StreamPiece<'_>, out: &mut Decoded) {
        let line = frame.line;
        match frame.body {
            // A line without a field name is how NDJSON looks that has a line of something else before it.
            FramedItem::Event { data: text, .. }
            | FramedItem::Json(text)
            | FramedItem::ErrorField(text)
            | FramedItem::Stray(text) => self.text(line, text, out),
            FramedItem::TooLarge(bytes) => too_large(line, bytes, out),
            FramedItem::Cut(text) => malformed(line, "the stream ends inside of it", text, out),
        }
    }

    /// Takes one object: an envelope, a frame of the hub, or the first line of an export. Anything else is an
    /// anomaly.
    fn text(&mut self, line: u64, text: &str, out: &mut Decoded) {
        if let Some(envelope) = self.plain.read(text) {
            return out.envelopes.push(envelope);
        }
        if text.trim().is_empty() {
            return;
        }
        if !text.trim_start().starts_with('{') {
            return malformed(line, "it is not a JSON object", text, out);
        }
        if is_too_deep(text) {
            return malformed(line, "it nests too deep", text, out);
        }
        match Envelope::received(text) {
            Ok(envelope) => {
                let envelope = self.placed(envelope);
                self.plain.learn(text, &envelope);
                out.envelopes.push(envelope);
            }
            // The first line of an export says what the file is.
            Err(_) if line == 1 && serde_json::from_str::<ExportHeader<'_>>(text).is_ok() => {}
            Err(error) => match serde_json::from_str::<HubFrame<'_>>(text) {
                Ok(frame) => self.hub_frame(line, &frame, out),
                Err(_) => malformed(line, &error.to_string(), text, out),
            },
        }
    }

    /// Takes the events of a frame. A snapshot has none, which is an anomaly; any other frame without events is
    /// ignored.
    fn hub_frame(&self, line: u64, frame: &HubFrame<'_>, out: &mut Decoded) {
        if frame.t == "snap" {
            return malformed(line, "a snapshot holds no events", "", out);
        }
        for event in &frame.ev {
            match Envelope::received(event.get()) {
                Ok(envelope) => out.envelopes.push(self.placed(envelope)),
                Err(error) => malformed(line, &error.to_string(), event.get(), out),
            }
        }
    }

    /// The envelope in its run, without the numbers that another hub gave it.
    fn placed(&self, mut envelope: Envelope) -> Envelope {
        if envelope.event.run.is_none() && belongs_to_a_run(&envelope.event.kind) {
            envelope.event.run = self.run.clone();
        }
        envelope.producer_at = envelope.producer_at.or(Some(envelope.at).filter(|at| *at > 0));
        (envelope.seq, envelope.at) = (0, 0);
        envelope
    }
}

/// The first line of an export, as far as it is known by it.
#[derive(Deserialize)]
struct ExportHeader<'a> {
    #[serde(borrow, rename = "fanlight")]
    _format: Cow<'a, str>,
}

/// A frame of the hub, with the fields by which it has events.
#[derive(Deserialize)]
struct HubFrame<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
    #[serde(borrow, default)]
    ev: Vec<&'a RawValue>,
}

/// Whether an event of this kind belongs to a run. Those about the conversation do not; nor does what a later
/// version says of no run.
fn belongs_to_a_run(kind: &Kind) -> bool {
    !kind.is_of_conversation() && !matches!(kind, Kind::Unknown(_))
}

/// Writes an anomaly about an object that is no event; `why` says why not.
fn malformed(line: u64, why: &str, text: &str, out: &mut Decoded) {
    let detail = format!("line {line}: {why}: {}", excerpt(text));
    out.push(&RunId::none(), Kind::Anomaly(Anomaly { code: AnomalyCode::Malformed, detail }));
}

fn too_large(line: u64, bytes: u64, out: &mut Decoded) {
    let detail = format!("line {line}: {bytes} bytes in one event");
    out.push(&RunId::none(), Kind::Anomaly(Anomaly { code: AnomalyCode::TooLarge, detail }));
}

#[cfg(test)]
mod tests;
