//! Trajectories of SWE-agent and mini-SWE-agent: one JSON object with the messages in `history` (or
//! `messages`), the steps with their times in `trajectory` and the result in `info`; or the messages alone,
//! as a JSON array.
//!
//! ```json
//! {"history": [{"role": "user", "content": "Fix it."},
//!              {"role": "assistant", "content": "I look.", "action": "ls", "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}]},
//!              {"role": "tool", "tool_call_ids": ["c1"], "content": "main.py"}],
//!  "trajectory": [{"action": "ls", "observation": "main.py", "execution_time": 0.31}],
//!  "info": {"exit_status": "submitted", "model_stats": {"tokens_sent": 900, "tokens_received": 40}}}
//! ```
//!
//! * Messages become events as in `trajectory`. The `execution_time` of the step with the same `action` is
//!   the time that the results took.
//! * Steps of which no message tells become custom events `step`; a file that has only steps gives a text and
//!   a `tool` message for each.
//! * `info` becomes a custom event, and the end of the run: `exit_status` is the finish reason, and an error
//!   unless it begins with `submitted`.
//!
//! An object is taken as a whole, up to [`model::limits::LINE_BYTES_MAX`]; a larger one is left out, and an
//! anomaly says so.

use compact_str::CompactString;
use serde::Deserialize;

use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::trajectory::{TrajectoryEnd, TrajectoryMessage, TrajectoryWriter};
use super::writer::EventWriter;
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, PartKind, Usage};

/// The name of the dialect.
pub const NAME: &str = "swe-agent";

/// A decoder for one file.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(SweAgentMeaning { trajectory: TrajectoryWriter::new(NAME, options) }))
}

/// The meaning of a file, and of bare messages.
#[derive(Debug)]
struct SweAgentMeaning {
    /// Writes the messages of the file.
    trajectory: TrajectoryWriter,
}

/// The fields of a file, and those that tell a bare message (`role`) or an error (`error`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SweAgentFile<'a> {
    /// The messages, of SWE-agent.
    #[serde(borrow)]
    history: ForeignField<'a>,
    /// The messages, of mini-SWE-agent.
    #[serde(borrow)]
    messages: ForeignField<'a>,
    /// What was executed, with times.
    #[serde(borrow, rename = "trajectory")]
    steps: ForeignField<'a>,
    /// The result of the run.
    #[serde(borrow)]
    info: ForeignField<'a>,
    /// How the run was configured: an object, or its text.
    #[serde(borrow)]
    replay_config: ForeignField<'a>,
    #[serde(borrow)]
    role: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
}

/// One step of `trajectory`: an action and what came of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SweAgentStep<'a> {
    #[serde(borrow)]
    action: ForeignField<'a>,
    #[serde(borrow)]
    observation: ForeignField<'a>,
    #[serde(borrow)]
    response: ForeignField<'a>,
    #[serde(borrow)]
    thought: ForeignField<'a>,
    /// The duration of the action, in seconds.
    #[serde(borrow)]
    execution_time: ForeignField<'a>,
}

/// The result of a run; only what the end of the run needs is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SweAgentInfo<'a> {
    /// How the run ended, such as `submitted` or `exit_cost`.
    #[serde(borrow)]
    exit_status: ForeignField<'a>,
    #[serde(borrow)]
    model_stats: ForeignField<'a>,
    /// The configuration, of mini-SWE-agent: it names the model.
    #[serde(borrow)]
    config: ForeignField<'a>,
}

/// The field `model_stats` of a trajectory: tokens sent and received.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SweAgentModelStats<'a> {
    #[serde(borrow)]
    tokens_sent: ForeignField<'a>,
    #[serde(borrow)]
    tokens_received: ForeignField<'a>,
}

/// The fields on the way to the name of the model, in either agent's configuration: `agent.model.name` or
/// `model.model_name`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelNamePath<'a> {
    #[serde(borrow)]
    agent: ForeignField<'a>,
    #[serde(borrow)]
    model: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    model_name: ForeignField<'a>,
}

impl ObjectMeaning for SweAgentMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let document: SweAgentFile<'_> = match crate::field::read(text) {
            Ok(document) => document,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.trajectory.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = ForeignField::parse_read(text);
        if document.history.is_list() || document.messages.is_list() || document.steps.is_list() {
            self.document(&document, out);
        } else if document.role.is_some() {
            self.trajectory.message(&whole.object(), None, out);
        } else if document.error.is_truthy() {
            self.fail(whole, out);
        } else if whole.is_truthy() {
            self.trajectory.ensure_run(out);
            self.trajectory.writer.raw(whole, None, out);
        }
    }

    fn cut(&mut self) {
        self.trajectory.cut();
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.trajectory.conclude(TrajectoryEnd::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.trajectory.writer
    }
}

impl SweAgentMeaning {
    /// Writes a whole file: one or more runs, then what the file says of the last one.
    fn document(&mut self, document: &SweAgentFile<'_>, out: &mut Decoded) {
        let info: SweAgentInfo<'_> = document.info.object();
        let replay = document.replay_config.text();
        let replay =
            replay.as_deref().map_or(Some(document.replay_config), ForeignField::parse).unwrap_or_default();
        let model = model_of(replay).or_else(|| model_of(info.config));
        self.trajectory.set_model(model.as_deref());
        let history = [document.history, document.messages].into_iter().find(|list| list.is_list());
        let rest = if let Some(history) = history {
            self.history(history, document.steps, out)
        } else {
            self.steps(document.steps, out);
            Vec::new()
        };
        if !rest.is_empty() || document.info.is_truthy() {
            self.trajectory.ensure_run(out);
        }
        for step in rest {
            if self.trajectory.writer.has_room(out) {
                self.trajectory.writer.custom("step", step, None, out);
            }
        }
        if document.info.is_truthy() {
            self.trajectory.writer.custom("info", document.info, None, out);
        }
        self.trajectory.conclude(conclusion(&info), out);
    }

    /// Writes the messages, and returns the steps of which no message tells: the history may lack the last
    /// ones. Steps are matched in order, by their action.
    fn history<'a>(
        &mut self,
        history: ForeignField<'a>,
        steps: ForeignField<'a>,
        out: &mut Decoded,
    ) -> Vec<ForeignField<'a>> {
        let mut steps = steps.list().into_iter().peekable();
        let mut took = None;
        for message in history.list() {
            let body: TrajectoryMessage<'_> = message.object();
            if body.action.is_some() && !body.is_demo.is_true() {
                let is_same = |step: &ForeignField<'_>| {
                    step.object::<SweAgentStep<'_>>().action.text() == body.action.text()
                };
                took = steps
                    .next_if(is_same)
                    .and_then(|step| millis(step.object::<SweAgentStep<'_>>().execution_time));
            }
            self.trajectory.message(&body, took, out);
        }
        steps.collect()
    }

    /// Writes a file that has nothing but the steps.
    fn steps(&mut self, steps: ForeignField<'_>, out: &mut Decoded) {
        for step in steps.list() {
            let step: SweAgentStep<'_> = step.object();
            self.trajectory.ensure_run(out);
            let text = step.response.word().or_else(|| step.thought.word()).unwrap_or_default();
            if self.trajectory.writer.has_room(out) {
                self.trajectory.writer.whole_part(PartKind::Text, &text, false, None, out);
            }
            if let Some(observation) = step.observation.word() {
                self.trajectory.writer.message("tool", &observation, out);
            }
        }
    }
}

/// The name of the model in a configuration; nothing if it has none.
fn model_of(config: ForeignField<'_>) -> Option<String> {
    let config: ModelNamePath<'_> = config.object();
    let agent: ModelNamePath<'_> = config.agent.object();
    [config.model, agent.model].into_iter().find_map(|model| {
        let model: ModelNamePath<'_> = model.object();
        Some(model.name.word().or_else(|| model.model_name.word())?.into_owned())
    })
}

/// How the run ended, by its `info`. The tokens are absent if both counts are 0.
fn conclusion(info: &SweAgentInfo<'_>) -> TrajectoryEnd {
    let stats: SweAgentModelStats<'_> = info.model_stats.object();
    let (sent, received) = (stats.tokens_sent.count(), stats.tokens_received.count());
    let usage =
        Usage { input_tokens: sent.unwrap_or(0), output_tokens: received.unwrap_or(0), ..Usage::default() };
    let word = info.exit_status.word().map(|word| CompactString::new(&word));
    let failed = word.clone().filter(|word| !word.to_ascii_lowercase().starts_with("submitted"));
    let failure = failed.map(|code| {
        let message = format!("the agent gave up: {code}");
        ErrorFact { code, message, retryable: None, retry_after_ms: None }
    });
    TrajectoryEnd { word, failure, usage: Some(usage).filter(|usage| *usage != Usage::default()) }
}

/// Seconds, with a fraction, as whole milliseconds.
fn millis(seconds: ForeignField<'_>) -> Option<u64> {
    let seconds: f64 = seconds.as_json_text().parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    (seconds.is_finite() && seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}
