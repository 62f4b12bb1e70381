//! Ollama: a line of JSON for each piece of an answer (`/api/chat` and `/api/generate`), or one object where
//! the answer was not streamed or failed.
//!
//! ```json
//! {"model":"qwen3","created_at":"2026-08-04T10:00:00Z","message":{"role":"assistant","thinking":"Hm."},"done":false}
//! {"model":"qwen3","message":{"content":"It is "},"done":false}
//! {"model":"qwen3","message":{"content":"","tool_calls":[{"function":{"name":"now","arguments":{}}}]},"done":false}
//! {"model":"qwen3","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":90}
//! ```
//!
//! | line | becomes |
//! |---|---|
//! | `message.content`, `response` | text; `/api/generate` has `response` |
//! | `message.thinking`, `thinking` | reasoning |
//! | `message.tool_calls` | a call for each, complete at once and handed over to the caller; several lines with one call each are parallel calls |
//! | `message.images`, `image` | a file each, as a `data:` URL |
//! | `done: true` | the end of the run: complete, with `done_reason` and the tokens |
//! | `error` | a failure; the server sends nothing after it |
//! | anything else | raw, unless a run is over already |
//!
//! Bytes that end without `done: true` leave the run interrupted. Durations (`total_duration`,
//! `eval_duration`, …) and `context` are not decoded.

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

/// The meaning of one stream of lines.
#[derive(Debug)]
struct OllamaMeaning {
    writer: EventWriter,
    /// The open text or reasoning of the answer.
    parts: AgentParts,
}

/// A piece of the answer: one line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaLine<'a> {
    #[serde(borrow)]
    model: ForeignField<'a>,
    /// The time of the server's clock, in RFC 3339; it becomes the time of the events.
    #[serde(borrow)]
    created_at: ForeignField<'a>,
    /// What is new of a chat ([`OllamaMessage`]).
    #[serde(borrow)]
    message: ForeignField<'a>,
    /// What is new of a completion: text.
    #[serde(borrow)]
    response: ForeignField<'a>,
    /// What is new of a completion: reasoning.
    #[serde(borrow)]
    thinking: ForeignField<'a>,
    /// A picture of a completion, by models that draw: base64.
    #[serde(borrow)]
    image: ForeignField<'a>,
    /// Whether this is the last line.
    #[serde(borrow)]
    done: ForeignField<'a>,
    /// Why the model stopped: `stop`, `length`, `load` or `unload`. It is `stop` after calls too.
    #[serde(borrow)]
    done_reason: ForeignField<'a>,
    /// Input tokens; absent if the prompt was cached as a whole.
    #[serde(borrow)]
    prompt_eval_count: ForeignField<'a>,
    /// The number of output tokens.
    #[serde(borrow)]
    eval_count: ForeignField<'a>,
    /// What went wrong, as a text.
    #[serde(borrow)]
    error: ForeignField<'a>,
}

/// The message of a chat, with what is new in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaMessage<'a> {
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    thinking: ForeignField<'a>,
    #[serde(borrow)]
    tool_calls: ForeignField<'a>,
    /// Pictures, each base64 without its type.
    #[serde(borrow)]
    images: ForeignField<'a>,
}

/// A call of a tool. Older servers give it no `id`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OllamaToolCall<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    function: ForeignField<'a>,
}

/// What is called: the name, and the arguments as an object.
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
        let piece: OllamaLine<'_> = match crate::field::read(text) {
            Ok(piece) => piece,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        self.writer.set_time(piece.created_at.time());
        let whole = ForeignField::parse_read(text);
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
    /// Writes what is new in a message, in the order in which a model makes it.
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

    /// Continues the open text or reasoning, or begins another.
    fn write(&mut self, kind: PartKind, text: ForeignField<'_>, out: &mut Decoded) {
        self.parts.write(kind, &text.text().unwrap_or_default(), None, &mut self.writer, out);
    }

    /// Writes a picture as a file. It comes without its type; browsers recognise it whatever the URL says.
    fn picture(&mut self, picture: ForeignField<'_>, out: &mut Decoded) {
        let Some(picture) = picture.word() else { return };
        self.parts.close(None, &self.writer, out);
        if self.writer.has_room(out) {
            let url = format!("data:image/png;base64,{picture}");
            self.writer.whole_part(PartKind::File, &url, false, None, out);
        }
    }

    /// Writes a call, which comes whole. One without an id gets one.
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

    /// Passes on something that is no piece of an answer, such as the progress of a download.
    fn unknown(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        if whole.is_truthy() && (self.writer.is_running() || !self.writer.has_begun()) {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    /// Ends the open part and the run, if one is open.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        if self.writer.is_running() {
            self.parts.close(None, &self.writer, out);
            self.writer.end(ending, out);
        }
    }
}

/// The tokens of the last line; nothing if it has no counts. A prompt that was cached as a whole counts 0.
fn usage(piece: &OllamaLine<'_>) -> Option<Usage> {
    let (input, output) = (piece.prompt_eval_count.count(), piece.eval_count.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input_tokens, output_tokens) = (input.unwrap_or(0), output.unwrap_or(0));
    Some(Usage { input_tokens, output_tokens, ..Usage::default() })
}
