//! Ollama: a line of JSON for each piece of an answer (`/api/chat` and `/api/generate`), or one object where the answer was
//! not streamed or failed. The line that is `done` ends the run.

use compact_str::CompactString;
use serde::Deserialize;

use super::agents::AgentParts;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{PartKind, Usage};

/// The name of the dialect.
pub const NAME: &str = "ollama";

/// A decoder for one answer.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::records(OllamaMeaning {
        writer: EventWriter::new(NAME, options),
        parts: AgentParts::default(),
    }))
}

/// What the objects mean.
#[derive(Debug)]
struct OllamaMeaning {
    writer: EventWriter,
    parts: AgentParts,
}

/// A piece of the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaChunk<'a> {
    #[serde(borrow)]
    model: ForeignField<'a>,
    #[serde(borrow)]
    created_at: ForeignField<'a>,
    /// Of a chat.
    #[serde(borrow)]
    message: ForeignField<'a>,
    /// Of a completion.
    #[serde(borrow)]
    response: ForeignField<'a>,
    /// Of a completion.
    #[serde(borrow)]
    thinking: ForeignField<'a>,
    /// A picture, by models that draw.
    #[serde(borrow)]
    image: ForeignField<'a>,
    #[serde(borrow)]
    done: ForeignField<'a>,
    #[serde(borrow)]
    done_reason: ForeignField<'a>,
    #[serde(borrow)]
    prompt_eval_count: ForeignField<'a>,
    #[serde(borrow)]
    eval_count: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaMessage<'a> {
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    thinking: ForeignField<'a>,
    #[serde(borrow)]
    tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    images: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaToolCall<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    function: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaFunction<'a> {
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    arguments: ForeignField<'a>,
}

impl ObjectMeaning for OllamaMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let piece: OllamaChunk<'_> = match serde_json::from_str(text) {
            Ok(piece) => piece,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        self.writer.set_time(piece.created_at.time());
        let whole = ForeignField::parse(text).unwrap_or_default();
        if piece.error.is_truthy() {
            return self.fail(whole, out);
        }
        let is_piece = piece.message.is_object() || piece.response.text().is_some() || piece.done.is_some();
        if !is_piece {
            return self.unknown(whole, out);
        }
        let says_nothing = !piece.message.is_object() && !piece.response.is_truthy();
        if says_nothing && self.writer.has_begun() && !self.writer.is_running() {
            // The end of a run that is over already.
            return;
        }
        self.writer.begin(piece.model.text().as_deref(), out);
        self.message(&piece.message.object(), out);
        self.write(PartKind::Thinking, piece.thinking, out);
        self.write(PartKind::Text, piece.response, out);
        self.picture(piece.image, out);
        if piece.done.is_true() {
            let finish_reason = piece.done_reason.word().map(|reason| CompactString::new(&reason));
            let usage = usage(&piece);
            self.close(RunEnding { is_whole: true, finish_reason, usage, ..RunEnding::default() }, out);
        }
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(RunEnding::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl OllamaMeaning {
    fn message(&mut self, message: &OllamaMessage<'_>, out: &mut Decoded) {
        self.write(PartKind::Thinking, message.thinking, out);
        self.write(PartKind::Text, message.content, out);
        for picture in message.images.list() {
            self.picture(picture, out);
        }
        for call in message.tool_calls.list() {
            self.call(&call.object(), out);
        }
    }

    fn write(&mut self, kind: PartKind, text: ForeignField<'_>, out: &mut Decoded) {
        self.parts.write(kind, &text.text().unwrap_or_default(), None, &mut self.writer, out);
    }

    /// The picture comes without its type.
    fn picture(&mut self, picture: ForeignField<'_>, out: &mut Decoded) {
        let Some(picture) = picture.word() else { return };
        self.parts.close(None, &self.writer, out);
        if self.writer.has_room(out) {
            let url = format!("data:image/png;base64,{picture}");
            self.writer.whole_part(PartKind::File, &url, false, None, out);
        }
    }

    /// Calls come whole. Old servers give them no id.
    fn call(&mut self, call: &OllamaToolCall<'_>, out: &mut Decoded) {
        self.parts.close(None, &self.writer, out);
        if !self.writer.has_room(out) {
            return;
        }
        let (id, function) =
            (call.id.words().unwrap_or_default(), call.function.object::<OllamaFunction<'_>>());
        let name = function.name.text().unwrap_or_default();
        let mut open = self.writer.open_call(&id, &name, false, None, out);
        open.args(&function.arguments.words().unwrap_or_default(), &self.writer, out);
        open.written(None, &mut self.writer, out);
    }

    /// Something that is no piece of an answer, such as the progress of a download.
    fn unknown(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        if whole.is_truthy() && (self.writer.is_running() || !self.writer.has_begun()) {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        if self.writer.is_running() {
            self.parts.close(None, &self.writer, out);
            self.writer.end(ending, out);
        }
    }
}

/// Tokens; a prompt that was cached as a whole is not counted.
fn usage(piece: &OllamaChunk<'_>) -> Option<Usage> {
    let (input, output) = (piece.prompt_eval_count.count(), piece.eval_count.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input_tokens, output_tokens) = (input.unwrap_or(0), output.unwrap_or(0));
    Some(Usage { input_tokens, output_tokens, ..Usage::default() })
}
