//! Encodes Rye's `transcript.jsonl`: a line for each event, with its thread. A run is a thread, a sub-agent
//! is a child thread; readers choose theirs, so runs need not come one after the other.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts | `thread_started` |
//! | a sub-agent begins | `child_thread_started` in the thread of its parent |
//! | a message of the history | `cognition_in` |
//! | text, refusal | `cognition_out_delta`, and at its end `cognition_out` with the whole text |
//! | reasoning | `cognition_reasoning`; again as a whole if it broke off |
//! | a call, its result | `tool_call_start`, `tool_call_result` |
//! | a failure | `error_classified` |
//! | a run or sub-agent is complete | `thread_completed` with its cost; `thread_suspended` if a call waits for consent |
//! | it failed; was cancelled | `thread_suspended` with the reason `error`; `thread_cancelled` |
//!
//! A text that broke off says so, and how much of it there is (`completion_percentage`), if the source said
//! it. A thread that broke off has no end. Files, statuses, progress, other custom and raw events are left
//! out.
//!
//! ```json
//! {"timestamp":1770000000.000,"thread_id":"r1","event_type":"thread_started","payload":{"directive":"…","model":"m","limits":{}}}
//! {"timestamp":1770000000.500,"thread_id":"r1","event_type":"cognition_out_delta","payload":{"text":"No","turn":1,"chunk_index":0,"is_final":false}}
//! {"timestamp":1770000001.000,"thread_id":"r1","event_type":"cognition_out","payload":{"text":"Noon.","turn":1,"tool_count":0,"is_partial":false}}
//! {"timestamp":1770000001.000,"thread_id":"r1","event_type":"thread_completed","payload":{"cost":{"input_tokens":12,"output_tokens":3}}}
//! ```
//!
//! Timestamps are in seconds. Each whole text is a turn of its thread; they are counted from 1.

use std::collections::HashMap;

use super::object::json_line;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep, ToolStep,
};
use model::Json;
use model::dialect::rye::{COGNITION_FAILED, PARTIAL};
use model::event::{Cost, Currency, ErrorFact, Message, PartKind, RunStatus, ToolState, Usage};
use model::ids::PartId;
use model::view::{PartView, RunView, ToolView};

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(FactEncoder::new(RyeEncoder {
        conversation: options.conversation.to_string(),
        ..RyeEncoder::default()
    }))
}

/// The state of one stream, by thread.
#[derive(Debug, Default)]
struct RyeEncoder {
    /// The thread of messages that are about no run: the name of the conversation.
    conversation: String,
    /// The number of the open turn of each thread, from 1.
    turns: HashMap<String, u64>,
    /// How many deltas each open text has had.
    deltas: HashMap<(String, PartId), u64>,
    /// How many calls of each thread were answered since its last whole text.
    answered: HashMap<String, u64>,
    /// How much there is of the answer that broke off, for each thread that has one.
    partial: HashMap<String, Json>,
}

impl FactSink for RyeEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        let thread = thread(scene);
        match fact {
            Fact::Message(message) => self.message(scene, message, out),
            Fact::RunStart => line(scene, &thread, "thread_started", out, |payload| {
                let run = scene.run;
                let directive = run.title.as_deref().or(run.name.as_deref()).unwrap_or(&thread);
                payload.put("directive", directive).put("model", &run.model).nest("limits", |_none| {});
            }),
            Fact::AgentStart(id, agent) => {
                let parent = agent.parent.as_ref().map_or(scene.run_id.as_str(), |parent| parent.as_str());
                let directive = agent.task.as_deref().or(agent.name.as_deref()).unwrap_or(id.as_str());
                line(scene, parent, "child_thread_started", out, |payload| {
                    payload.put("child_thread_id", id.as_str()).put("child_directive", directive);
                    payload.put("parent_thread_id", parent);
                });
            }
            Fact::AgentEnd(_, agent) => ended(scene, &thread, (agent.status, agent.usage), out),
            Fact::Part(id, part, step) => self.part(scene, id, part, step, out),
            Fact::Tool(id, tool, step) => {
                if matches!(step, ToolStep::Result { again: false }) {
                    let answered = self.answered.entry(thread.clone()).or_default();
                    *answered = answered.saturating_add(1);
                }
                call(scene, &thread, id.as_str(), tool, step, out);
            }
            Fact::Custom(PARTIAL, value) => {
                self.partial.insert(thread, value.clone());
            }
            // The text that broke off has this information.
            Fact::Error(error) if error.code == COGNITION_FAILED => {}
            Fact::Error(error) => failure(scene, &thread, error, out),
            Fact::RunEnd => {
                if let (RunStatus::Error, Some(error)) = (scene.run.status, &scene.run.error) {
                    failure(scene, &thread, error, out);
                }
                let waits = scene.run.tools.values().any(|tool| tool.state == ToolState::Approval);
                if waits && scene.run.status == RunStatus::Complete {
                    line(scene, &thread, "thread_suspended", out, |payload| {
                        payload.put("suspend_reason", "approval");
                    });
                } else {
                    ended(scene, &thread, (scene.run.status, scene.run.usage), out);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

impl RyeEncoder {
    /// Writes a message of the history.
    fn message(&self, scene: &FactContext<'_>, message: &Message, out: &mut Vec<u8>) {
        let thread = if scene.run_id.is_none() { &self.conversation } else { scene.run_id.as_str() };
        line(scene, thread, "cognition_in", out, |payload| {
            payload.put("text", &message.text).put("role", message.role.as_str());
        });
    }

    /// Writes one step of a part. A text that was replaced is corrected by its whole text at the end.
    fn part(
        &mut self,
        scene: &FactContext<'_>,
        id: &PartId,
        part: &PartView,
        step: PartStep<'_>,
        out: &mut Vec<u8>,
    ) {
        let thread = thread(scene);
        let is_text = matches!(part.kind, PartKind::Text | PartKind::Refusal);
        match (part.kind, step) {
            (_, PartStep::Delta(text)) if is_text => {
                let turn = *self.turns.entry(thread.clone()).or_insert(1);
                let number = self.deltas.entry((thread.clone(), id.clone())).or_insert(0);
                line(scene, &thread, "cognition_out_delta", out, |payload| {
                    payload.put("text", text).put("turn", &turn).put("chunk_index", number);
                    payload.put("is_final", &false);
                });
                *number = number.saturating_add(1);
            }
            (_, PartStep::End) if is_text => {
                self.deltas.remove(&(thread.clone(), id.clone()));
                self.whole(scene, &thread, part, out);
            }
            (PartKind::Thinking, PartStep::Delta(text)) => {
                line(scene, &thread, "cognition_reasoning", out, |payload| {
                    payload.put("text", text);
                });
            }
            // The whole text again: a reader that begins here may not have the deltas.
            (PartKind::Thinking, PartStep::End)
                if !part.body.text.is_empty() && self.is_partial(scene, &thread) =>
            {
                line(scene, &thread, "cognition_reasoning", out, |payload| {
                    payload.put("text", &part.body.text).put("is_partial", &true);
                    payload.put("was_interrupted", &true);
                });
            }
            _ => {}
        }
    }

    /// Whether the text that ends now broke off: its run did, or the source said so.
    fn is_partial(&self, scene: &FactContext<'_>, thread: &str) -> bool {
        is_broken(scene.run) || self.partial.contains_key(thread)
    }

    /// Writes a text as a whole, complete or not.
    fn whole(&mut self, scene: &FactContext<'_>, thread: &str, part: &PartView, out: &mut Vec<u8>) {
        let is_partial = self.is_partial(scene, thread);
        let partial = self.partial.remove(thread).map(|json| json.to_value());
        let percentage = partial.as_ref().and_then(|partial| partial.get("completion_percentage"));
        let calls = self.answered.remove(thread).unwrap_or_default();
        let turn = self.turns.entry(thread.to_owned()).or_insert(1);
        line(scene, thread, "cognition_out", out, |payload| {
            payload.put("text", &part.body.text).put_some("model", scene.run.model.as_ref());
            payload.put("turn", turn).put("tool_count", &calls).put("is_partial", &is_partial);
            if is_partial {
                let error = scene.run.error.as_ref().map(|error| &error.message);
                payload.put("truncated", &true).put_some("error", error);
                payload.put_some("completion_percentage", percentage.filter(|value| !value.is_null()));
            }
        });
        *turn = turn.saturating_add(1);
    }
}

/// Whether a run ended in any other way than complete.
///
/// A run that is still running is not broken, though a text of it may end now.
fn is_broken(run: &RunView) -> bool {
    !matches!(run.status, RunStatus::Running | RunStatus::Complete)
}

/// Writes one step of a call.
fn call(
    scene: &FactContext<'_>,
    thread: &str,
    id: &str,
    tool: &ToolView,
    step: ToolStep<'_>,
    out: &mut Vec<u8>,
) {
    match step {
        ToolStep::Called => line(scene, thread, "tool_call_start", out, |payload| {
            payload.put("tool", tool.name.as_str()).put("call_id", id);
            payload.put_arguments("input", &tool.arguments.text);
        }),
        ToolStep::Result { again: false } => line(scene, thread, "tool_call_result", out, |payload| {
            let (output, error) = match &tool.result {
                Some(result) if tool.is_error => (None, Some(result.to_text())),
                result => (result.as_ref().map(Json::to_text), None),
            };
            payload.put("call_id", id).put("output", &output).put("error", &error);
            payload.put_some("duration_ms", tool.latency_ms());
        }),
        _ => {}
    }
}

/// Writes a failure. Its message is the category, since the dialect has no other place for it.
fn failure(scene: &FactContext<'_>, thread: &str, error: &ErrorFact, out: &mut Vec<u8>) {
    line(scene, thread, "error_classified", out, |payload| {
        payload.put("error_code", error.code.as_str()).put("category", &error.message);
        payload.put_some("retryable", error.retryable);
    });
}

/// Writes the end of a thread. A thread that broke off has none.
fn ended(
    scene: &FactContext<'_>,
    thread: &str,
    (status, usage): (RunStatus, Option<Usage>),
    out: &mut Vec<u8>,
) {
    match status {
        RunStatus::Complete => line(scene, thread, "thread_completed", out, |payload| {
            payload.nest("cost", |cost| {
                if let Some(usage) = usage {
                    cost.put("input_tokens", &usage.input_tokens).put("output_tokens", &usage.output_tokens);
                    cost.put_some("spend", usage.cost.and_then(dollars));
                }
            });
        }),
        RunStatus::Error => line(scene, thread, "thread_suspended", out, |payload| {
            payload.put("suspend_reason", "error");
        }),
        RunStatus::Cancelled => line(scene, thread, "thread_cancelled", out, |payload| {
            payload.put("reason", "cancelled");
        }),
        RunStatus::Running | RunStatus::Interrupted => {}
    }
}

/// A cost as Rye's number of dollars; nothing for another currency.
fn dollars(cost: Cost) -> Option<Json> {
    if cost.currency() == Currency::USD { Json::parse(&cost.amount()) } else { None }
}

/// The thread of a fact: that of its sub-agent, else that of its run.
fn thread(scene: &FactContext<'_>) -> String {
    scene.agent.map_or(scene.run_id.as_str(), |agent| agent.as_str()).to_owned()
}

/// Writes one line of the kind `kind`, whose payload `fill` puts in.
fn line(
    scene: &FactContext<'_>,
    thread: &str,
    kind: &str,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut ObjectWriter<'_>),
) {
    // Seconds with three decimals, written as digits: a float cannot represent them exactly.
    let timestamp = Json::parse(&format!("{}.{:03}", scene.at / 1000, scene.at % 1000));
    json_line(out, |line| {
        line.put("timestamp", &timestamp).put("thread_id", thread).put("event_type", kind);
        line.nest("payload", fill);
    });
}
