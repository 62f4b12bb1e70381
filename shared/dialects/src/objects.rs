//! What dialects of JSON objects have in common: SSE or a JSON body, a terminator that some send and others
//! add, errors in odd places, lines that are no event. A dialect says what an object means
//! ([`ObjectMeaning`]); the rest is here.
//!
//! What becomes of each piece of the stream:
//!
//! ```text
//! data: {…}  or  {…}              ObjectMeaning::object
//! data: [DONE]                    ObjectMeaning::done
//! error: {…}                      ObjectMeaning::fail
//! plain text                      ObjectMeaning::line; if it meant nothing, the first such line is kept
//! a piece over the limit          an anomaly, `too_large`; the next piece is read as usual
//! an object that is not closed    ObjectMeaning::cut, and an anomaly, `malformed`
//! ```
//!
//! If no run began until the end, the line that was kept becomes an anomaly: an error page of a gateway is
//! often all that a caller gets.

use super::fault::fault;
use super::field::ForeignField;
use super::framing::{BodyFraming, FramedItem, RecordSplitter, StreamPiece, excerpt};
use super::writer::EventWriter;
use super::{Decode, Decoded};
use model::anomaly::AnomalyCode;

/// What the objects of one dialect mean. The decoder owns the meaning and calls it for one stream, in order.
pub(super) trait ObjectMeaning: std::fmt::Debug + Send {
    /// The name of the dialect, as it is written into the details of anomalies.
    const NAME: &'static str;

    /// Takes the object `text` that began on line `line` (from 1), in an event called `name` (empty without
    /// one). `text` need not be valid JSON: the meaning parses it, and writes an anomaly if it cannot.
    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded);

    /// Takes an error, in whatever shape: from an `error:` field of SSE, or from an object that the meaning
    /// recognised as one. By default the failure is written to the run, which begins if there is none; it
    /// does not end the run.
    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.writer().fail(fault(whole), out);
    }

    /// Takes a line that is neither an SSE field nor JSON, and returns whether it meant something. A line
    /// that did not is kept for the end.
    fn line(&mut self, _line: u64, _text: &str, _out: &mut Decoded) -> bool {
        false
    }

    /// Takes the terminator `[DONE]`. Gateways add it to dialects that have none, so by default it is
    /// ignored.
    fn done(&mut self, _out: &mut Decoded) {}

    /// Notes that the bytes end inside of an object. [`ObjectMeaning::finish`] follows, and must not call the
    /// run complete.
    fn cut(&mut self) {}

    /// Takes the end of the bytes: whatever is open ends. It is called once, after the last object.
    fn finish(&mut self, out: &mut Decoded);

    /// The writer of the meaning's events, for the anomalies and failures that are written here.
    fn writer(&mut self) -> &mut EventWriter;
}

/// Decodes one stream of objects: a splitter, and the meaning that takes what it finds.
#[derive(Debug)]
pub(super) struct ObjectDecoder<M> {
    pieces: ObjectFraming,
    taking: ObjectReader<M>,
}

/// The framing of the objects: how the bytes are divided.
#[derive(Debug)]
enum ObjectFraming {
    /// An HTTP body: server-sent events, or JSON values one after the other.
    Body(BodyFraming),
    /// The output of a program: an object a line, among other lines.
    Records(RecordSplitter),
}

/// Passes each piece of the stream to the meaning.
#[derive(Debug)]
struct ObjectReader<M> {
    meaning: M,
    /// The first line that was no event, with its number: all that there may be of a foreign error page.
    stray: Option<(u64, String)>,
}

impl<M: ObjectMeaning> ObjectDecoder<M> {
    /// A decoder for a body of SSE or JSON; an array at the top is divided into its items.
    pub(super) fn new(meaning: M) -> Self {
        Self {
            pieces: ObjectFraming::Body(BodyFraming::default()),
            taking: ObjectReader { meaning, stray: None },
        }
    }

    /// A decoder for programs that print an object a line, between lines that are none.
    pub(super) fn records(meaning: M) -> Self {
        Self { pieces: ObjectFraming::Records(RecordSplitter::default()), ..Self::new(meaning) }
    }

    /// A decoder for a dialect whose objects may stand bare among events, such as joined messages of a
    /// WebSocket.
    pub(super) fn in_text(meaning: M) -> Self {
        Self { pieces: ObjectFraming::Body(BodyFraming::of_objects()), ..Self::new(meaning) }
    }

    /// A decoder for a dialect in which an array is an event, as a whole.
    pub(super) fn with_arrays(meaning: M) -> Self {
        Self { pieces: ObjectFraming::Body(BodyFraming::keeping_arrays()), ..Self::new(meaning) }
    }
}

impl<M: ObjectMeaning> Decode for ObjectDecoder<M> {
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        let Self { pieces, taking } = self;
        let take = &mut |frame: StreamPiece<'_>| taking.frame(frame, out);
        match pieces {
            ObjectFraming::Body(body) => body.feed(bytes, take),
            ObjectFraming::Records(records) => records.feed(bytes, take),
        }
    }

    fn end(&mut self, out: &mut Decoded) {
        let Self { pieces, taking } = self;
        let take = &mut |frame: StreamPiece<'_>| taking.frame(frame, out);
        match pieces {
            ObjectFraming::Body(body) => body.end(take),
            ObjectFraming::Records(records) => records.end(take),
        }
        taking.meaning.finish(out);
        if !taking.meaning.writer().has_begun()
            && let Some((line, text)) = taking.stray.take()
        {
            let detail = format!("line {line}: no event of {} in the stream: {text}", M::NAME);
            taking.meaning.writer().anomaly(AnomalyCode::Malformed, detail, out);
        }
    }
}

impl<M: ObjectMeaning> ObjectReader<M> {
    fn frame(&mut self, frame: StreamPiece<'_>, out: &mut Decoded) {
        let line = frame.line;
        match frame.body {
            FramedItem::Event { data, .. } if data.trim_start().starts_with("[DONE]") => {
                self.meaning.done(out);
            }
            FramedItem::Event { name, data } => self.meaning.object(line, name, data, out),
            FramedItem::Json(text) => self.meaning.object(line, "", text, out),
            FramedItem::ErrorField(text) => {
                self.meaning.fail(ForeignField::parse(text).unwrap_or_default(), out);
            }
            FramedItem::Stray(text) if text.starts_with('{') && ForeignField::parse(text).is_some() => {
                self.meaning.object(line, "", text, out);
            }
            FramedItem::Stray(text) if self.meaning.line(line, text, out) => {}
            FramedItem::Stray(text) => {
                self.stray.get_or_insert_with(|| (line, excerpt(text).to_owned()));
            }
            FramedItem::TooLarge(bytes) => {
                let detail = format!("line {line}: an event of {bytes} bytes was left out");
                self.meaning.writer().anomaly(AnomalyCode::TooLarge, detail, out);
            }
            FramedItem::Cut(text) => {
                self.meaning.cut();
                let writer = self.meaning.writer();
                writer.begin(None, out);
                let detail = format!("line {line}: cut off: {}", excerpt(text));
                writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        }
    }
}
