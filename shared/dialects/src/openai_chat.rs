//! OpenAI chat completions, as OpenAI and some thirty other servers stream them: SSE with chunks and
//! `[DONE]`, or a JSON body where the answer was not streamed or failed. The legacy completions API has the
//! same frame and is read too.
//!
//! ```text
//! data: {"object":"chat.completion.chunk","model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}
//! data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"now","arguments":"{}"}}]}}]}
//! data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
//! data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}
//! data: [DONE]
//! ```
//!
//! | field | becomes |
//! |---|---|
//! | `delta.content`, `text` | text; `<think>` in it is reasoning |
//! | `delta.reasoning_content`, `reasoning`, `reasoning_details` | reasoning |
//! | `delta.refusal` | a part of the kind refusal |
//! | `delta.tool_calls`, `function_call` | calls, handed over to the caller |
//! | `delta.executed_tools` (Groq) | calls that the provider executed, with results |
//! | `delta.role: "tool"` (Bernard) | the result of a call |
//! | `delta.images`, `image_url` in content | files |
//! | `annotations`, `citations`, `search_results` | custom events |
//! | `usage`, `x_groq.usage` | tokens; the last ones count |
//! | `error` in a chunk, `event: error`, an `error:` field | a failure |
//! | an object that is no chunk | raw, or an error body |
//!
//! The end of a run is the end of the stream: `[DONE]`, or the end of the bytes. A `finish_reason` ends only
//! the message, since usage, repetitions and errors may follow it; but a stream that has one is whole without
//! `[DONE]`. `id`, `created`, `logprobs` and `obfuscation` are not decoded; ids of chunks change within one
//! answer of some servers, so they do not name runs.

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use compact_str::CompactString;

use super::field::{ForeignField, Shapes};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Usage};
use model::print::Fingerprint;

mod calls;
mod choice;
mod plain;
mod think;
mod wire;

use choice::OpenChoice;
use plain::PlainChunk;
pub(super) use wire::usage;
use wire::{ChatChoice, ChatDelta, ChatObject, GroqFields};

/// The name of the dialect.
pub const NAME: &str = "openai-chat";

/// Most choices of one answer; the API's own limit. Further ones are ignored.
const CHOICES_MAX: usize = 128;

/// A decoder for one answer.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(OpenAiChatMeaning::new(NAME, options)))
}

/// The meaning of one stream of chunks. Bernard's dialect uses it for the chunks among its own objects.
#[derive(Debug)]
pub(super) struct OpenAiChatMeaning {
    writer: EventWriter,
    /// The choices of the open run, by their index.
    choices: BTreeMap<u64, OpenChoice>,
    /// The tokens that were reported last.
    usage: Option<Usage>,
    /// Hash of the citations that were written last: some servers repeat the whole list with each chunk.
    told: u64,
    /// The shapes of plain chunks.
    shapes: Shapes<PlainChunk>,
}

impl ObjectMeaning for OpenAiChatMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        if self.plain(text, out) {
            return;
        }
        let chunk: ChatObject<'_> = match crate::field::read(text) {
            Ok(chunk) => chunk,
            Err(_) if name == "error" => return self.fail_with(text, out),
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let x_groq: GroqFields<'_> = chunk.x_groq.object();
        let choices = chunk.choices.list();
        let error = [chunk.error, x_groq.error].into_iter().find(|error| error.is_truthy());
        let is_chunk = chunk.choices.is_list() || chunk.choices.is_object();
        let is_known = is_chunk || chunk.usage.is_object() || error.is_some();
        if !is_known {
            return self.odd_object(name, text, &chunk, out);
        }
        if choices.is_empty() && error.is_none() && self.writer.has_begun() && !self.writer.is_running() {
            // Something about a run that is over already, usually its usage once more: nobody waits for it.
            return;
        }
        self.writer.begin(chunk.model.text().as_deref(), out);
        for choice in choices {
            self.choice(&choice.object(), out);
        }
        for counted in [x_groq.usage, chunk.usage] {
            self.usage = usage(counted).or(self.usage);
        }
        self.citations(&chunk, out);
        if error.is_some() {
            self.fail(ForeignField::parse(text).unwrap_or_default(), out);
        }
        if self.shapes.is_learning()
            && let Some((plain, gaps)) = PlainChunk::of(&chunk, ForeignField::parse_read(text))
        {
            self.shapes.learn(text, &gaps, plain);
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        if !self.writer.has_begun() {
            self.writer.begin(None, out);
        }
        self.close(true, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(false, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl OpenAiChatMeaning {
    /// The meaning of a stream in the dialect `name`, which is this one or has something added.
    pub(super) fn new(name: &'static str, options: DecodeOptions) -> Self {
        Self {
            writer: EventWriter::new(name, options),
            choices: BTreeMap::new(),
            usage: None,
            told: 0,
            shapes: Shapes::default(),
        }
    }

    /// Takes a chunk whose shape is known, and returns whether it is one.
    fn plain(&mut self, text: &str, out: &mut Decoded) -> bool {
        let Some((chunk, [said, ..])) = self.shapes.find(text) else { return false };
        let (choice, says) = (chunk.choice, chunk.says);
        self.writer.begin(chunk.model.as_deref(), out);
        if let Some(choice) = opened(&mut self.choices, choice, &mut self.writer, out) {
            choice.plain(says, said, &mut self.writer, out);
        }
        true
    }

    /// Ends the calls so far and the text before them, since something else follows.
    pub(super) fn settle(&mut self, out: &mut Decoded) {
        for choice in self.choices.values_mut() {
            choice.settle(&mut self.writer, out);
        }
    }

    /// Takes an object that is no chunk: an error in one of its other shapes, or something of the vendor's
    /// own.
    fn odd_object(&mut self, name: &str, text: &str, chunk: &ChatObject<'_>, out: &mut Decoded) {
        let is_error_object = chunk.object.text().is_some_and(|object| object == "error");
        // A message that is an object is not the words of a failure: Anthropic's streams begin with one.
        let is_only_message =
            !self.writer.is_running() && (chunk.detail.is_some() || chunk.message.text().is_some());
        let whole = ForeignField::parse(text).unwrap_or_default();
        if name == "error" || is_error_object || is_only_message {
            return self.fail(whole, out);
        }
        if whole.is_truthy() {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    /// Takes what a chunk says of one choice.
    fn choice(&mut self, chunk: &ChatChoice<'_>, out: &mut Decoded) {
        let (index, writer) = (chunk.index.count().unwrap_or(0), &mut self.writer);
        let Some(choice) = opened(&mut self.choices, index, writer, out) else { return };
        let delta = if chunk.delta.is_some() { chunk.delta } else { chunk.message };
        if delta.is_some() {
            choice.delta(&delta.object::<ChatDelta<'_>>(), writer, out);
        } else {
            choice.write_text(&chunk.text.text().unwrap_or_default(), writer, out);
        }
        if let Some(reason) = chunk.finish_reason.word() {
            choice.finish(&reason, writer, out);
        }
        self.usage = usage(chunk.usage).or(self.usage);
    }

    /// Writes the citations of a chunk (Perplexity), unless they are those that were written last.
    fn citations(&mut self, chunk: &ChatObject<'_>, out: &mut Decoded) {
        let found = [("citations", chunk.citations), ("search_results", chunk.search_results)];
        if !found.iter().any(|(_, field)| field.is_truthy()) {
            return;
        }
        let mut hasher = Fingerprint::default();
        for (_, field) in &found {
            hasher.write(field.as_json_text().as_bytes());
        }
        if std::mem::replace(&mut self.told, hasher.finish()) == hasher.finish() {
            return;
        }
        for (name, field) in found.into_iter().filter(|(_, field)| field.is_truthy()) {
            self.writer.custom(name, field, None, out);
        }
    }

    /// Writes a failure without a code of its own, with an excerpt of `text` as its message.
    fn fail_with(&mut self, text: &str, out: &mut Decoded) {
        let (code, message) = (CompactString::const_new("error"), excerpt(text).to_owned());
        self.writer.fail(ErrorFact { code, message, retryable: None, retry_after_ms: None }, out);
    }

    /// Ends all choices and the run, if one is open. `is_done` says that `[DONE]` was received. The finish
    /// reason is that of the first choice that has one; `error` (OpenRouter) is a failure.
    fn close(&mut self, is_done: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let finish_reason = self.choices.values().find_map(OpenChoice::finish_reason).cloned();
        if finish_reason.as_deref() == Some("error") && !self.writer.has_failed() {
            self.fail_with("the model call ended with the finish reason \"error\"", out);
        }
        let is_whole = is_done || finish_reason.is_some();
        for choice in self.choices.values_mut() {
            choice.end(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        }
        self.choices.clear();
        let usage = self.usage.take();
        self.writer.end(RunEnding { is_whole, finish_reason, usage, ..RunEnding::default() }, out);
    }
}

/// The choice with this index. The first chunk of a choice with an index above 0 begins an agent for it. Nothing if there
/// are too many choices.
fn opened<'a>(
    choices: &'a mut BTreeMap<u64, OpenChoice>,
    index: u64,
    writer: &mut EventWriter,
    out: &mut Decoded,
) -> Option<&'a mut OpenChoice> {
    if !choices.contains_key(&index) {
        if choices.len() >= CHOICES_MAX {
            return None;
        }
        choices.insert(index, OpenChoice::new(writer.open_choice(index, out)));
    }
    choices.get_mut(&index)
}

#[cfg(test)]
mod tests;
