//! Vercel AI SDK: the UI message stream (version 1), the parts of `fullStream`, and the lines of the data
//! stream that was before both. They say the same things in other words: `delta` or `text`, `toolCallId` or
//! `id`, a letter for a type.
//!
//! ```text
//! data: {"type":"start","messageId":"m1"}
//! data: {"type":"start-step"}
//! data: {"type":"text-start","id":"0"}
//! data: {"type":"text-delta","id":"0","delta":"Hi"}
//! data: {"type":"tool-input-available","toolCallId":"c1","toolName":"now","input":{}}
//! data: {"type":"tool-output-available","toolCallId":"c1","output":"noon"}
//! data: {"type":"finish"}
//! data: [DONE]
//! ```
//!
//! | part | becomes |
//! |---|---|
//! | `start` | the start of a run |
//! | `text-*`, `reasoning-*` | text and reasoning |
//! | `tool-*` | calls, approvals and results: see `calls` |
//! | `finish-step` | tokens of a model call, and the model |
//! | `reset-step` | what the step has written is taken back, its calls are cancelled |
//! | `finish`, `[DONE]` | the run is complete, with finish reason and tokens |
//! | `abort` | the run is cancelled |
//! | `error` | a failure; it does not end the stream |
//! | `file`, `reasoning-file` | a file |
//! | `source*` | a custom event `citation` |
//! | `data-NAME`, `custom` | a custom event with that name |
//! | `message-metadata`, `messageMetadata` | a custom event; model and tokens in it count |
//! | `raw`, anything else | raw |
//!
//! One message is one run; its steps are model calls. It ends with the stream, not with its `finish`: what an
//! application adds of its own may come after that. Without `finish` and `[DONE]` the run is interrupted.

use compact_str::CompactString;

use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::tokens::usage;
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, PartKind, RunStatus, RunUpdate, Usage};

mod calls;
mod letters;
mod texts;

use calls::AiSdkCalls;
use texts::AiSdkTexts;

/// The name of the dialect.
pub const NAME: &str = "ai-sdk";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(AiSdkMeaning {
        writer: EventWriter::new(NAME, options),
        texts: AiSdkTexts::default(),
        calls: AiSdkCalls::default(),
        has_content: false,
        is_finished: false,
        is_aborted: false,
        finish_reason: None,
        usage: None,
    }))
}

/// The meaning of one stream of parts, in any of the three forms.
#[derive(Debug)]
struct AiSdkMeaning {
    writer: EventWriter,
    /// Texts and reasoning of the message.
    texts: AiSdkTexts,
    /// The calls of the message.
    calls: AiSdkCalls,
    /// Something was received in this message: another `start` begins another one.
    has_content: bool,
    /// The message said that it is whole.
    is_finished: bool,
    /// The message said that somebody stopped it.
    is_aborted: bool,
    /// Why the model stopped last.
    finish_reason: Option<CompactString>,
    /// The tokens of the whole message; those of its steps are written as they come.
    usage: Option<Usage>,
}

impl ObjectMeaning for AiSdkMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let parts = whole.list();
        if parts.is_empty() {
            let detail = format!("line {line}: no part: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        }
        for part in parts {
            self.part(part, out);
        }
    }

    fn line(&mut self, line: u64, text: &str, out: &mut Decoded) -> bool {
        self.lettered(line, text, out)
    }

    fn done(&mut self, out: &mut Decoded) {
        self.is_finished = true;
        self.close(out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl AiSdkMeaning {
    /// Decodes one part of the stream.
    fn part(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let part = ForeignFields::of(whole);
        let kind = part.get("type").text().unwrap_or_default();
        if kind.is_empty() && part.any(&["error", "errorText", "message"]).is_truthy() {
            return self.fail(whole, out);
        }
        if kind == "start" {
            return self.start(&part, out);
        }
        self.writer.begin(None, out);
        self.has_content = true;
        match &*kind {
            "start-step" | "step-start" => self.texts.start_step(&self.writer, out),
            "finish-step" | "step-finish" => self.finish_step(&part, out),
            "reset-step" => {
                self.texts.reset(&self.writer, out);
                self.calls.reset(&mut self.writer, out);
            }
            "finish" => self.finished(&part, out),
            "abort" => self.is_aborted = true,
            "error" => self.failed(&part, whole, out),
            "message-metadata" => self.metadata(part.get("messageMetadata"), out),
            "raw" => self.writer.raw(part.get("rawValue"), None, out),
            "file" | "reasoning-file" => self.file(&part, whole, out),
            "source" | "source-url" | "source-document" => self.writer.custom("citation", whole, None, out),
            "custom" => {
                let name = part.get("kind").words().unwrap_or_else(|| "custom".into());
                self.writer.custom(&name, whole, None, out);
            }
            _ => self.other(&kind, &part, whole, out),
        }
    }

    /// Takes a part of data, a call or a text; anything else is raw.
    fn other(&mut self, kind: &str, part: &ForeignFields<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        if let Some(name) = kind.strip_prefix("data-") {
            return self.writer.custom(name, part.get("data"), None, out);
        }
        if kind.starts_with("tool-") {
            self.texts.pause(&self.writer, out);
            if self.calls.part(kind, part, &mut self.writer, out) {
                return;
            }
        } else if self.texts.part(kind, part, &mut self.writer, out) {
            return;
        }
        self.writer.raw(whole, None, out);
    }

    /// Begins a message. A `start` that is repeated before any content is the same message.
    fn start(&mut self, part: &ForeignFields<'_>, out: &mut Decoded) {
        if self.has_content {
            self.close(out);
        }
        self.writer.begin(None, out);
        self.metadata(part.get("messageMetadata"), out);
    }

    /// Takes the end of a step: its texts end, its tokens are written.
    fn finish_step(&mut self, part: &ForeignFields<'_>, out: &mut Decoded) {
        self.texts.finish_step(&self.writer, out);
        self.calls.finish_step(&mut self.writer, out);
        let response = ForeignFields::of(part.get("response"));
        let model = response.any(&["modelId", "model"]).word();
        self.writer.begin(model.as_deref(), out);
        self.take_reason(part);
        if let Some(usage) = usage(part.get("usage")) {
            let update = RunUpdate { usage: Some(usage), ..RunUpdate::default() };
            self.writer.push(model::event::Kind::RunUpdate(update), out);
        }
    }

    /// Notes that the message is whole. The run ends with the stream.
    fn finished(&mut self, part: &ForeignFields<'_>, out: &mut Decoded) {
        self.take_reason(part);
        self.is_finished = true;
        self.usage = usage(part.any(&["totalUsage", "usage"])).or(self.usage);
        self.metadata(part.get("messageMetadata"), out);
    }

    /// Notes the finish reason, if the part has one.
    fn take_reason(&mut self, part: &ForeignFields<'_>) {
        let reason = part.get("finishReason");
        // Newer versions tell the provider's own word beside the common one.
        let reason = reason.word().or_else(|| ForeignFields::of(reason).get("unified").word());
        if let Some(reason) = reason {
            self.finish_reason = Some(CompactString::new(&reason));
        }
    }

    /// Takes what an application says about the message: tokens and model are known by many names, the rest
    /// is its own.
    fn metadata(&mut self, metadata: ForeignField<'_>, out: &mut Decoded) {
        if !metadata.is_truthy() {
            return;
        }
        let fields = ForeignFields::of(metadata);
        let model = fields.any(&["model", "modelId"]).word();
        self.writer.begin(model.as_deref(), out);
        let told = usage(fields.any(&["totalUsage", "usage"])).or_else(|| usage(metadata));
        self.usage = told.or(self.usage);
        self.writer.custom("metadata", metadata, None, out);
    }

    /// Writes a failure. Its text is mostly masked by the server.
    fn failed(&mut self, part: &ForeignFields<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let fact = match part.get("errorText").word() {
            Some(text) => failure(&text),
            None if part.get("error").is_some() => fault(part.get("error")),
            None => fault(whole),
        };
        self.writer.fail(fact, out);
    }

    /// Writes a file or an image: its URL, or a `data:` URL of its content.
    fn file(&mut self, part: &ForeignFields<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let inner = ForeignFields::of(part.get("file"));
        let find = |names: &[&str]| {
            Some(inner.any(names)).filter(|f| f.is_some()).unwrap_or_else(|| part.any(names))
        };
        let url = match (find(&["url"]).word(), find(&["base64", "data"]).word()) {
            (Some(url), _) => url.into_owned(),
            (None, Some(content)) => {
                let media = find(&["mediaType", "mimeType"]).word();
                format!("data:{};base64,{content}", media.as_deref().unwrap_or("application/octet-stream"))
            }
            (None, None) => return self.writer.raw(whole, None, out),
        };
        self.texts.pause(&self.writer, out);
        self.texts.file(&url, &mut self.writer, out);
    }

    /// Ends the message and its run, if one is open.
    fn close(&mut self, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let is_whole = self.is_finished && !self.is_aborted;
        self.texts.finish_step(&self.writer, out);
        self.calls.end_all(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        let status = std::mem::take(&mut self.is_aborted).then_some(RunStatus::Cancelled);
        (self.is_finished, self.has_content) = (false, false);
        let (finish_reason, usage) = (self.finish_reason.take(), self.usage.take());
        self.writer.end(RunEnding { is_whole, is_paused: false, status, finish_reason, usage }, out);
    }
}

/// A failure of which only the text is known.
fn failure(text: &str) -> ErrorFact {
    let code = CompactString::const_new("error");
    ErrorFact { code, message: text.to_owned(), retryable: None, retry_after_ms: None }
}

/// The kind of the part that a type is about, by its first word; nothing if it is neither text nor reasoning.
fn voice(kind: &str) -> Option<PartKind> {
    match kind {
        "text" => Some(PartKind::Text),
        "reasoning" => Some(PartKind::Thinking),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
