//! Gemini `generateContent`, of the Gemini API and of Vertex: SSE with a whole response object in each event,
//! or the same objects as a JSON array that is streamed piece by piece, or one object that was not streamed.
//!
//! ```text
//! data: {"candidates":[{"content":{"parts":[{"text":"Let me see.","thought":true}]},"index":0}],"modelVersion":"gemini","responseId":"a1"}
//! data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"now","args":{}}}]}}]}
//! data: {"candidates":[{"content":{"parts":[{"text":"Noon."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}
//! ```
//!
//! | field | becomes |
//! |---|---|
//! | `parts[].text` | text; with `thought: true` reasoning |
//! | `parts[].functionCall` | a call, whole or streamed (Vertex), handed over to the caller |
//! | `parts[].executableCode`, `toolCall` | a call that the vendor executes |
//! | `parts[].codeExecutionResult`, `toolResponse`, `functionResponse` | the result of a call |
//! | `parts[].inlineData`, `fileData` | a file |
//! | `thoughtSignature` before anything else | a hidden reasoning part |
//! | `groundingMetadata`, `citationMetadata`, `urlContextMetadata`, ratings that block | custom events, once each time they change |
//! | `usageMetadata` | tokens; cumulative, so the last ones count |
//! | `promptFeedback.blockReason`, `error` | a failure |
//! | an object that is no response | raw, or an error body |
//!
//! The dialect has no terminator. A candidate with a `finishReason` is whole, but more may follow it: models
//! that run code finish in between. So a run ends with the bytes, or when another `responseId` follows a
//! finished candidate; without a finish reason it is interrupted. A gateway's `[DONE]` ends it too.
//! Signatures themselves are not kept.

use std::collections::BTreeMap;

use compact_str::CompactString;

use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Usage};

mod candidate;
mod partial;
mod wire;

use candidate::OpenCandidate;
pub(super) use candidate::data_url;
pub(super) use wire::failure;
use wire::{GeminiCandidate, GenerateResponse, PromptFeedback};

/// The name of the dialect.
pub const NAME: &str = "gemini";

/// Most candidates of one answer; far above the API's own limit. Further ones are ignored.
const CANDIDATES_MAX: usize = 128;

/// A decoder for one answer.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(GeminiMeaning {
        writer: EventWriter::new(NAME, options),
        id: CompactString::default(),
        candidates: BTreeMap::new(),
        usage: None,
    }))
}

/// The meaning of one stream of response objects.
#[derive(Debug)]
struct GeminiMeaning {
    writer: EventWriter,
    /// The id of the open response; empty if it has none.
    id: CompactString,
    /// The candidates of the open run, by their index.
    candidates: BTreeMap<u64, OpenCandidate>,
    /// The tokens that were reported last.
    usage: Option<Usage>,
}

impl ObjectMeaning for GeminiMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        match ForeignField::parse(text) {
            Some(whole) if whole.is_object() => self.answer(name, whole, out),
            Some(whole) if whole.is_list() => {
                for item in whole.list() {
                    self.answer(name, item, out);
                }
            }
            _ => {
                let detail = format!("line {line}: no object: {}", excerpt(text));
                self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.writer.fail(failure(whole), out);
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

impl GeminiMeaning {
    /// Takes one response object, or one that is none.
    fn answer(&mut self, name: &str, whole: ForeignField<'_>, out: &mut Decoded) {
        let mut answer: GenerateResponse<'_> = whole.object();
        if answer.wrapped.is_object() {
            // The endpoint of the vendor's own command line wraps each answer.
            answer = answer.wrapped.object();
        }
        if !answer.is_known() {
            return self.odd_object(name, &answer, whole, out);
        }
        if answer.says_nothing() {
            if self.writer.has_begun() && !self.writer.is_running() {
                // About a run that is over already: nobody waits for it.
                return;
            }
        } else {
            self.goes_on_as(&answer.response_id.text().unwrap_or_default(), out);
        }
        self.writer.begin(answer.model_version.text().as_deref(), out);
        for candidate in answer.candidates.list() {
            self.candidate(&candidate.object(), out);
        }
        self.usage = wire::usage(answer.usage_metadata).or(self.usage);
        self.feedback(answer.prompt_feedback, out);
        if answer.error.is_truthy() {
            self.fail(whole, out);
        }
    }

    /// Notes the id of the response. Another id after the end of an answer is another answer in the same
    /// stream, so the open run ends.
    fn goes_on_as(&mut self, id: &str, out: &mut Decoded) {
        if id.is_empty() || id == self.id.as_str() {
            return;
        }
        if self.candidates.values().any(|candidate| candidate.finish_reason().is_some()) {
            self.close(true, out);
        }
        self.id = CompactString::new(id);
    }

    /// Takes an object that is no response: an error in one of its other shapes, or something unknown.
    fn odd_object(
        &mut self,
        name: &str,
        answer: &GenerateResponse<'_>,
        whole: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let is_only_message = !self.writer.is_running() && answer.message.is_some();
        if name == "error" || is_only_message {
            return self.fail(whole, out);
        }
        if whole.is_truthy() {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    /// Takes what a response says of one candidate. The first object of a candidate with an index above 0
    /// begins an agent for it.
    fn candidate(&mut self, body: &GeminiCandidate<'_>, out: &mut Decoded) {
        let index = body.index.count().unwrap_or(0);
        let writer = &mut self.writer;
        if !self.candidates.contains_key(&index) {
            if self.candidates.len() >= CANDIDATES_MAX {
                return;
            }
            self.candidates.insert(index, OpenCandidate::new(writer.open_choice(index, out)));
        }
        if let Some(candidate) = self.candidates.get_mut(&index) {
            candidate.take(body, writer, out);
        }
    }

    /// Writes a failure if the prompt was blocked: there will be no answer.
    fn feedback(&mut self, feedback: ForeignField<'_>, out: &mut Decoded) {
        let feedback: PromptFeedback<'_> = feedback.object();
        let Some(reason) = feedback.block_reason.word() else { return };
        let message = feedback.block_reason_message.word();
        let message = message.map_or_else(|| format!("the prompt was blocked: {reason}"), Into::into);
        let code = CompactString::new(&reason);
        self.writer.fail(ErrorFact { code, message, retryable: None, retry_after_ms: None }, out);
    }

    /// Ends all candidates and the run, if one is open. The finish reason is that of the first candidate that
    /// has one.
    fn close(&mut self, is_done: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let finish_reason = self.candidates.values().find_map(OpenCandidate::finish_reason).cloned();
        let is_whole = is_done || finish_reason.is_some();
        for candidate in self.candidates.values_mut() {
            candidate.end(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        }
        self.candidates.clear();
        self.id = CompactString::default();
        let usage = self.usage.take();
        self.writer.end(RunEnding { is_whole, finish_reason, usage, ..RunEnding::default() }, out);
    }
}

#[cfg(test)]
mod tests;
