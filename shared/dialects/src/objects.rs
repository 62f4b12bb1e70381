//! What dialects of JSON objects have in common: SSE or a JSON body, a terminator that some send and others add, errors in
//! odd places, lines that are no event. A dialect says what an object means ([`ObjectMeaning`]); the rest is here.

use super::fault::fault;
use super::field::ForeignField;
use super::framing::{BodyFraming, FramedItem, RecordSplitter, StreamPiece, excerpt};
use super::writer::EventWriter;
use super::{Decode, Decoded};
use model::anomaly::AnomalyCode;

/// What the objects of one dialect mean.
pub(super) trait ObjectMeaning: std::fmt::Debug + Send {
    /// The name of the dialect.
    const NAME: &'static str;

    /// The object `text` that began on line `line`, in an event called `name` (empty without one).
    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded);

    /// An error, in whatever shape.
    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.writer().fail(fault(whole), out);
    }

    /// A line that is neither an SSE field nor JSON. Whether it meant something.
    fn line(&mut self, _line: u64, _text: &str, _out: &mut Decoded) -> bool {
        false
    }

    /// The terminator `[DONE]`. Gateways add it to dialects that have none.
    fn done(&mut self, _out: &mut Decoded) {}

    /// The bytes end inside of an object.
    fn cut(&mut self) {}

    /// The bytes are over: whatever is open ends.
    fn finish(&mut self, out: &mut Decoded);

    /// Where the events are written.
    fn writer(&mut self) -> &mut EventWriter;
}

/// Decodes one stream of objects.
#[derive(Debug)]
pub(super) struct ObjectDecoder<M> {
    pieces: ObjectFraming,
    taking: ObjectReader<M>,
}

/// How the bytes fall into objects.
#[derive(Debug)]
enum ObjectFraming {
    Body(BodyFraming),
    Records(RecordSplitter),
}

#[derive(Debug)]
struct ObjectReader<M> {
    meaning: M,
    /// The first line that was no event, with its number: all that there may be of a foreign error page.
    stray: Option<(u64, String)>,
}

impl<M: ObjectMeaning> ObjectDecoder<M> {
    /// A decoder for one stream.
    pub(super) fn new(meaning: M) -> Self {
        Self {
            pieces: ObjectFraming::Body(BodyFraming::default()),
            taking: ObjectReader { meaning, stray: None },
        }
    }

    /// The same for programs that print an object a line, between lines that are none.
    pub(super) fn records(meaning: M) -> Self {
        Self { pieces: ObjectFraming::Records(RecordSplitter::default()), ..Self::new(meaning) }
    }

    /// The same for a dialect whose objects may stand bare among events.
    pub(super) fn in_text(meaning: M) -> Self {
        Self { pieces: ObjectFraming::Body(BodyFraming::of_objects()), ..Self::new(meaning) }
    }

    /// The same for a dialect in which an array is an event.
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
