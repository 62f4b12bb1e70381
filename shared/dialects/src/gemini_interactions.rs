//! Gemini's Interactions API: SSE with typed events and steps, or the interaction as one JSON object. One
//! interaction is one run. The API's first version had `content` where it has `step` now, and shorter names
//! for begin and end; both are read.
//!
//! ```text
//! event: interaction.created    {"event_type":"interaction.created","interaction":{"id":"i1","model":"gemini","status":"in_progress"}}
//! event: step.start             {"event_type":"step.start","index":0,"step":{"type":"model_output"}}
//! event: step.delta             {"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hi"}}
//! event: step.stop              {"event_type":"step.stop","index":0}
//! event: interaction.completed  {"event_type":"interaction.completed","interaction":{"status":"completed","usage":{"total_input_tokens":9}}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `interaction.created`, `interaction.start` | the start of a run |
//! | `interaction.status_update` | nothing; the status counts at the end |
//! | `step.*`, `content.*` | parts, calls and results: see `OpenStep` |
//! | `interaction.completed`, `interaction.complete` | the end of the run, with its tokens; its steps are written if none was streamed |
//! | `done`, `[DONE]` | the end of the run |
//! | `error`, or an object with `error` | a failure |
//! | an interaction as a whole | a whole run |
//! | anything else | raw |
//!
//! The status is the finish reason: `completed`, `requires_action` (the caller executes calls), `incomplete`,
//! `failed` (an error) or `cancelled`. A stream that ends without an end and without one of the first three
//! is interrupted.

use std::collections::BTreeMap;

use compact_str::CompactString;

use super::field::ForeignField;
use super::framing::excerpt;
use super::gemini::failure;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, RunStatus, Usage};

mod step;
mod wire;

use step::OpenStep;
use wire::{InteractionFields, InteractionsStreamEvent};

/// The name of the dialect.
pub const NAME: &str = "gemini-interactions";

/// Most steps that may be open at the same time (I7). The API has few; the limit is for streams that never
/// stop any.
const OPEN_STEPS_MAX: usize = 1024;

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(InteractionsMeaning {
        writer: EventWriter::new(NAME, options),
        steps: BTreeMap::new(),
        has_steps: false,
        status: None,
        usage: None,
    }))
}

/// The meaning of one stream of events.
#[derive(Debug)]
struct InteractionsMeaning {
    writer: EventWriter,
    /// The open steps, by their index.
    steps: BTreeMap<u64, OpenStep>,
    /// The interaction had a step: those of its end repeat what was streamed.
    has_steps: bool,
    /// The status that the interaction ended with; nothing while it goes on.
    status: Option<CompactString>,
    /// The tokens that were reported last.
    usage: Option<Usage>,
}

impl ObjectMeaning for InteractionsMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let event: InteractionsStreamEvent<'_> = match crate::field::read(text) {
            Ok(event) => event,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = ForeignField::parse_read(text);
        let kind = event.event_type.word().unwrap_or_else(|| name.into());
        self.usage = wire::usage(event.metadata.object::<InteractionsStreamEvent<'_>>().usage).or(self.usage);
        match &*kind {
            "interaction.created" | "interaction.start" => self.begin(event.interaction, out),
            "interaction.status_update" => self.stands(event.status),
            "step.start" | "content.start" => self.step_start(&event, out),
            "step.delta" | "content.delta" => self.step_delta(&event, out),
            "step.stop" | "content.stop" => {
                if let Some(step) = self.steps.remove(&event.index.count().unwrap_or(0)) {
                    step.stop(true, &mut self.writer, out);
                }
            }
            "interaction.completed" | "interaction.complete" => self.completed(event.interaction, out),
            "done" => self.done(out),
            _ if kind == "error" || event.error.is_truthy() => self.fail(whole, out),
            _ if event.is_interaction() => {
                self.begin(whole, out);
                self.completed(whole, out);
            }
            // A gateway's error body, from before any event.
            "" if !self.writer.is_running() && event.message.is_some() => self.fail(whole, out),
            _ => {
                self.writer.begin(None, out);
                self.writer.raw(whole, None, out);
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

impl InteractionsMeaning {
    /// Begins an interaction and its run. One that is open ends.
    fn begin(&mut self, interaction: ForeignField<'_>, out: &mut Decoded) {
        self.close(false, out);
        let body: InteractionFields<'_> = interaction.object();
        let model = body.model.word().or_else(|| body.agent.word());
        self.writer.begin(model.as_deref(), out);
        self.stands(body.status);
    }

    /// Notes how the interaction stands.
    fn stands(&mut self, status: ForeignField<'_>) {
        if let Some(status) = status.word().filter(|status| status != "in_progress") {
            self.status = Some(CompactString::new(&status));
        }
    }

    /// Begins a step. One with the same index that did not stop is ended.
    fn step_start(&mut self, event: &InteractionsStreamEvent<'_>, out: &mut Decoded) {
        self.writer.begin(None, out);
        self.has_steps = true;
        let index = event.index.count().unwrap_or(0);
        if let Some(unstopped) = self.steps.remove(&index) {
            unstopped.stop(true, &mut self.writer, out);
        }
        if self.steps.len() >= OPEN_STEPS_MAX
            && let Some((_, oldest)) = self.steps.pop_first()
        {
            oldest.stop(true, &mut self.writer, out);
        }
        let mut step = OpenStep::default();
        step.take(event.step, &mut self.writer, out);
        self.steps.insert(index, step);
    }

    /// Takes a delta of a step. A missing start is an anomaly.
    fn step_delta(&mut self, event: &InteractionsStreamEvent<'_>, out: &mut Decoded) {
        self.writer.begin(None, out);
        self.has_steps = true;
        let index = event.index.count().unwrap_or(0);
        if !self.steps.contains_key(&index) {
            if self.steps.len() >= OPEN_STEPS_MAX {
                return;
            }
            self.writer.anomaly(AnomalyCode::PartWithoutStart, format!("step {index}"), out);
            self.steps.insert(index, OpenStep::default());
        }
        if let Some(step) = self.steps.get_mut(&index) {
            step.take(event.delta, &mut self.writer, out);
        }
    }

    /// Takes the end of the interaction, with its steps if none was streamed.
    fn completed(&mut self, interaction: ForeignField<'_>, out: &mut Decoded) {
        let body: InteractionFields<'_> = interaction.object();
        let model = body.model.word().or_else(|| body.agent.word());
        self.writer.begin(model.as_deref(), out);
        self.usage = wire::usage(body.usage).or(self.usage);
        self.stands(body.status);
        if !self.has_steps {
            for whole in [body.steps, body.outputs].into_iter().flat_map(ForeignField::list) {
                let mut step = OpenStep::default();
                step.take(whole, &mut self.writer, out);
                step.stop(true, &mut self.writer, out);
            }
        }
        if body.error.is_truthy() {
            self.fail(interaction, out);
        }
        self.close(true, out);
    }

    /// Ends the interaction and its run: the stream said so (`is_stopped`), another one begins, or no more
    /// bytes come.
    fn close(&mut self, is_stopped: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let status = self.status.take();
        let word = status.as_deref().unwrap_or_default();
        if word == "failed" && !self.writer.has_failed() {
            let (code, message) =
                (CompactString::const_new("failed"), String::from("the interaction failed"));
            self.writer.fail(ErrorFact { code, message, retryable: None, retry_after_ms: None }, out);
        }
        let is_whole = is_stopped || matches!(word, "completed" | "requires_action" | "incomplete");
        for (_, step) in std::mem::take(&mut self.steps) {
            step.stop(is_whole && !self.writer.has_failed(), &mut self.writer, out);
        }
        self.has_steps = false;
        let how = (word == "cancelled").then_some(RunStatus::Cancelled);
        let usage = self.usage.take();
        let ending =
            RunEnding { is_whole, status: how, finish_reason: status, usage, ..RunEnding::default() };
        self.writer.end(ending, out);
    }
}

#[cfg(test)]
mod tests;
