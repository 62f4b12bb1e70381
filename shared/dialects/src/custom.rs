//! Decodes dialects that users describe: a YAML file says how a stream is divided into JSON objects and where
//! in them text, reasoning, calls and the rest are (`JSONPath`, RFC 9535). Nothing is read from disk here:
//! the caller makes a [`UserDialect`] from the text of such a file, and that makes decoders.
//! `docs/dialects/user-defined.md` explains the file to users.
//!
//! ```text
//! provider: { name: acme }
//! stream:
//!   format: ndjson
//!   extract: { text: $.say, tool_calls: "$.calls[*]", done: $.end }
//!
//! {"say": "It is "}          part.delta
//! {"calls": [{"id": "c1", "name": "now", "input": {}}]}
//! {"end": true}              run.end, complete
//! ```
//!
//! An object in which no path finds anything is passed on raw. A run is complete after `done`, a stop reason
//! or `[DONE]`, and interrupted otherwise.

use compact_str::CompactString;
use serde_json::Value;

use super::agents::AgentParts;
use super::field::{ForeignField, is_too_deep};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::openai_chat::usage;
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{PartKind, Usage};
use model::json::Json;

mod calls;
mod rules;

use calls::CustomCalls;
use rules::{CustomFormat, ExtractionRules};

/// An error in a description: where it is and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, at {key:?}: {why}")]
pub struct UserDialectError {
    /// The line of the file, from 1.
    pub line: u64,
    /// The key on that line, or other text there.
    pub key: String,
    /// What is wrong, in words.
    pub why: String,
}

/// A dialect as a user described it. It is cheap to clone, since its rules are shared, and makes any number
/// of decoders.
#[derive(Debug, Clone)]
pub struct UserDialect {
    name: CompactString,
    /// The places of everything that is read.
    rules: std::sync::Arc<ExtractionRules>,
    /// The format of a stream: how it is divided into objects.
    format: CustomFormat,
}

impl UserDialect {
    /// Reads the description of a dialect. Fails with the first error in it: broken YAML, an unknown key, a
    /// name that is not allowed, a path that is none or too long.
    pub fn parse(yaml: &str) -> Result<Self, UserDialectError> {
        let described = rules::parse(yaml)?;
        Ok(Self { name: described.name, rules: described.rules.into(), format: described.format })
    }

    /// The name of the dialect in URLs and events: lower case letters, digits, `-` and `_`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A decoder for one stream.
    pub fn decoder(&self, options: DecodeOptions) -> Box<dyn Decode> {
        super::with_text_search(options, |options| self.plain_decoder(options))
    }

    /// A decoder that does not search texts for calls.
    fn plain_decoder(&self, options: DecodeOptions) -> Box<dyn Decode> {
        let meaning = CustomMeaning {
            writer: EventWriter::new(&self.name, options),
            rules: std::sync::Arc::clone(&self.rules),
            parts: AgentParts::default(),
            calls: CustomCalls::default(),
            finish_reason: None,
            usage: None,
        };
        Box::new(match self.format {
            CustomFormat::Ndjson => ObjectDecoder::records(meaning),
            CustomFormat::Sse | CustomFormat::Json => ObjectDecoder::new(meaning),
        })
    }
}

/// The meaning of one stream, by the rules of the user.
#[derive(Debug)]
struct CustomMeaning {
    writer: EventWriter,
    rules: std::sync::Arc<ExtractionRules>,
    /// The open text or reasoning.
    parts: AgentParts,
    /// The calls that are being written.
    calls: CustomCalls,
    /// Why the model stopped, once the stream has said it.
    finish_reason: Option<CompactString>,
    /// The tokens that were reported last.
    usage: Option<Usage>,
}

impl ObjectMeaning for CustomMeaning {
    const NAME: &'static str = "a dialect of the user's own";

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) if !is_too_deep(text) => value,
            _ => {
                let detail = format!("line {line}: no JSON: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let rules = std::sync::Arc::clone(&self.rules);
        let model = rules.model.first(&value).and_then(Value::as_str);
        self.writer.begin(model, out);
        let before = out.envelopes.len();
        let mut is_known = model.is_some();
        for (paths, kind) in [(&rules.thinking, PartKind::Thinking), (&rules.text, PartKind::Text)] {
            for text in paths.all(&value).filter_map(words) {
                is_known = true;
                self.parts.write(kind, text, None, &mut self.writer, out);
            }
        }
        for rule in &rules.tool_calls {
            is_known |= self.calls.take(rule, &value, &mut self.parts, &mut self.writer, out);
        }
        for rule in &rules.results {
            is_known |= self.calls.results(rule, &value, &mut self.parts, &mut self.writer, out);
        }
        is_known |= self.ending(&rules, &value, out);
        if !is_known && before == out.envelopes.len() {
            self.writer.raw(ForeignField::parse(text).unwrap_or_default(), None, out);
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(true, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(self.finish_reason.is_some(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

/// The text at a place: the value itself, or the usual field of a block.
fn words(value: &Value) -> Option<&str> {
    value
        .as_str()
        .or_else(|| ["text", "thinking", "reasoning"].iter().find_map(|name| value.get(name)?.as_str()))
}

impl CustomMeaning {
    /// Reads finish reason, usage, failure and end. True if there was any of them.
    fn ending(&mut self, rules: &ExtractionRules, value: &Value, out: &mut Decoded) -> bool {
        let mut is_known = false;
        if let Some(told) = rules.usage.first(value) {
            let text = told.to_string();
            self.usage = usage(ForeignField::parse(&text).unwrap_or_default()).or(self.usage);
            is_known = true;
        }
        for error in rules.errors.all(value).filter(|error| is_truthy(error)) {
            let text = error.to_string();
            self.fail(ForeignField::parse(&text).unwrap_or_default(), out);
            is_known = true;
        }
        if let Some(reason) =
            rules.stop_reason.first(value).and_then(Value::as_str).filter(|reason| !reason.is_empty())
        {
            self.finish_reason = Some(CompactString::new(reason));
            self.parts.close_all(&self.writer, out);
            self.calls.written(true, &mut self.writer, out);
            is_known = true;
        }
        if rules.done.all(value).any(is_truthy) {
            self.close(true, out);
            is_known = true;
        }
        is_known
    }

    /// Ends what is open and the run, if one is open.
    fn close(&mut self, is_whole: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        self.parts.close_all(&self.writer, out);
        self.calls.written(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        self.calls = CustomCalls::default();
        let (finish_reason, usage) = (self.finish_reason.take(), self.usage.take());
        self.writer.end(RunEnding { is_whole, finish_reason, usage, ..RunEnding::default() }, out);
    }
}

/// Whether a value is not `null`, `false`, 0 or empty.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_true) => *is_true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The outcome of a call. An error that is `true` says only that the output is one.
fn outcome(output: Option<&Value>, error: Option<&Value>) -> CallOutcome {
    match error.filter(|error| is_truthy(error)) {
        // `is_error: true` beside the output.
        Some(Value::Bool(_)) => CallOutcome::error(Json::of(output.unwrap_or(&Value::Null))),
        Some(error) => CallOutcome::error(Json::of(error)),
        None => CallOutcome::of(Json::of(output.unwrap_or(&Value::Null))),
    }
}

#[cfg(test)]
mod tests;
