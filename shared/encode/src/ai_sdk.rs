//! Encodes the UI message stream of the AI SDK (v1): the parts of one message of the assistant.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts | `start` with the model as metadata, `start-step` |
//! | text, refusal; reasoning | `text-start`, `-delta`, `-end`; `reasoning-*` |
//! | a file, once it is whole | `file` |
//! | a call and its result | dynamic tool parts: see `calls` |
//! | a sub-agent begins or ends | `data-agent`, with the same id |
//! | a status | a transient `data-status` |
//! | a failure that did not end the run; a custom event | `data-error`; `data-NAME` |
//! | a run is complete | `finish-step`, `finish` with reason and usage |
//! | a run failed | `error`, `finish` |
//! | a run was cancelled | `abort` |
//! | the end of the stream | `[DONE]`, unless a run broke off |
//!
//! What sub-agents say and call is left out; raw events and the history too. A part cannot be taken back: a
//! text that was replaced follows in a part of its own.
//!
//! ```text
//! data: {"type":"start","messageId":"r1","messageMetadata":{"model":"m"}}
//! data: {"type":"start-step"}
//! data: {"type":"text-start","id":"p1"}
//! data: {"type":"text-delta","id":"p1","delta":"Noon."}
//! data: {"type":"text-end","id":"p1"}
//! data: {"type":"finish-step"}
//! data: {"type":"finish","finishReason":"stop","messageMetadata":{"usage":{"inputTokens":12,"outputTokens":3,…}}}
//! data: [DONE]
//! ```

use std::collections::HashSet;

use super::names::UniqueIds;
use super::{
    Caller, Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep,
    RunSequencer, data_event,
};
use model::event::{PartKind, RunStatus, ToolState};
use model::view::{PartView, RunView};

mod calls;

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let caller = options.caller.clone();
    Box::new(RunSequencer::new(FactEncoder::new(AiSdkEncoder { caller, ..AiSdkEncoder::default() })))
}

/// The state of one stream.
#[derive(Debug, Default)]
struct AiSdkEncoder {
    /// A run is open.
    is_open: bool,
    /// A run broke off, so that the stream as a whole is not done.
    is_broken: bool,
    /// The ids of parts, unique in the stream.
    parts: UniqueIds,
    /// The ids of calls, unique in the stream.
    calls: UniqueIds,
    /// The ids of calls that a person declined.
    denied: HashSet<String>,
    /// The number of parts that were replaced: the new text gets an id with this number.
    replaced: u64,
    /// The caller, which takes every call for its own that is not marked as executed by the provider.
    caller: Option<Caller>,
}

impl FactSink for AiSdkEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        match fact {
            Fact::RunStart => return self.start(scene, out),
            Fact::AgentStart(id, agent) | Fact::AgentEnd(id, agent) if self.is_open => {
                return event(out, "data-agent", |event| {
                    event.put("id", id.as_str()).put("data", agent);
                });
            }
            _ if scene.agent.is_some() => return,
            Fact::Tool(id, tool, step) => return self.call(scene, id, tool, step, out),
            _ if !self.is_open => return,
            _ => {}
        }
        match fact {
            Fact::Part(id, part, step) => {
                let id = self.parts.of(scene.run_id, id.as_str());
                self.part(&id, part, step, out);
            }
            Fact::Status(text) => event(out, "data-status", |event| {
                event.nest("data", |fields| {
                    fields.put("text", text);
                });
                event.put("transient", &true);
            }),
            Fact::Error(error) => event(out, "data-error", |event| {
                event.put("data", error);
            }),
            Fact::Custom(name, value) => event(out, &format!("data-{}", plain(name)), |event| {
                event.put("data", value);
            }),
            Fact::RunEnd => self.end_run(scene.run, out),
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.is_open && !self.is_broken {
            out.extend_from_slice(b"data: [DONE]\n\n");
        }
    }
}

impl AiSdkEncoder {
    /// Begins a message. One that a caller continues keeps its id.
    fn start(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        self.is_open = true;
        event(out, "start", |event| {
            let goes_on = self.caller.as_ref().and_then(|caller| caller.message.as_deref());
            event.put("messageId", goes_on.unwrap_or(scene.run_id.as_str()));
            if let Some(model) = &scene.run.model {
                event.nest("messageMetadata", |metadata| {
                    metadata.put("model", model);
                });
            }
        });
        event(out, "start-step", |_nothing| {});
    }

    /// Writes one step of a part.
    fn part(&mut self, id: &str, part: &PartView, step: PartStep<'_>, out: &mut Vec<u8>) {
        let kind = match part.kind {
            PartKind::File => return file(part, step, out),
            PartKind::Thinking => "reasoning",
            PartKind::Text | PartKind::Refusal => "text",
        };
        match step {
            PartStep::Start => event(out, &format!("{kind}-start"), |event| {
                event.put("id", id);
            }),
            PartStep::Delta(_) if part.ended_at.is_some() => {}
            PartStep::Delta(text) => event(out, &format!("{kind}-delta"), |event| {
                event.put("id", id).put("delta", text);
            }),
            PartStep::End => event(out, &format!("{kind}-end"), |event| {
                event.put("id", id);
            }),
            // The protocol cannot take back a part: the new text becomes a part of its own.
            PartStep::Replaced if part.body.text.is_empty() => {}
            PartStep::Replaced => {
                self.replaced = self.replaced.saturating_add(1);
                let id = format!("{id}-{}", self.replaced);
                for what in ["start", "delta", "end"] {
                    event(out, &format!("{kind}-{what}"), |event| {
                        event.put("id", &id).put_some("delta", (what == "delta").then_some(&part.body.text));
                    });
                }
            }
        }
    }

    /// Ends a message, as the run ended.
    fn end_run(&mut self, run: &RunView, out: &mut Vec<u8>) {
        self.is_open = false;
        match run.status {
            RunStatus::Complete => event(out, "finish-step", |_nothing| {}),
            RunStatus::Error => event(out, "error", |event| {
                let text = run.error.as_ref().map_or("the run failed", |error| error.message.as_str());
                event.put("errorText", text);
            }),
            RunStatus::Cancelled => {
                return event(out, "abort", |event| {
                    event.put("reason", "cancelled");
                });
            }
            RunStatus::Running | RunStatus::Interrupted => {
                self.is_broken = true;
                return;
            }
        }
        event(out, "finish", |event| {
            event.put("finishReason", finish_reason(run));
            if let Some(usage) = run.usage {
                event.nest("messageMetadata", |metadata| {
                    metadata.nest("usage", |counts| {
                        counts.put("inputTokens", &usage.input_tokens);
                        counts.put("outputTokens", &usage.output_tokens);
                        counts.put("totalTokens", &usage.input_tokens.saturating_add(usage.output_tokens));
                        counts.put("reasoningTokens", &usage.reasoning_tokens);
                        counts.put("cachedInputTokens", &usage.cached_tokens);
                    });
                });
            }
        });
    }
}

/// Writes a file, once its address is complete.
fn file(part: &PartView, step: PartStep<'_>, out: &mut Vec<u8>) {
    let url = &part.body.text;
    if url.is_empty() || !matches!(step, PartStep::End) {
        return;
    }
    let named = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    let media = named.filter(|media| !media.is_empty()).unwrap_or("application/octet-stream");
    event(out, "file", |event| {
        event.put("url", url).put("mediaType", media);
    });
}

/// The finish reason in the SDK's terms. Calls that were left to the caller take precedence over the reason
/// that the model gave.
fn finish_reason(run: &RunView) -> &'static str {
    if run.status == RunStatus::Error {
        return "error";
    }
    if run
        .tools
        .values()
        .any(|tool| tool.agent.is_none() && matches!(tool.state, ToolState::Pending | ToolState::Approval))
    {
        return "tool-calls";
    }
    match run.finish_reason.as_deref() {
        Some("length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS") => "length",
        Some("content_filter" | "content-filter" | "refusal" | "SAFETY") => "content-filter",
        None | Some("stop" | "end_turn" | "stop_sequence" | "STOP" | "tool_calls" | "tool_use") => "stop",
        Some(_) => "other",
    }
}

/// A name as the type of a part: other characters than letters, digits and `_` become dashes.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// Writes one part of the type `kind`, whose fields `fill` puts in.
fn event(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    data_event(out, |event| {
        event.put("type", kind);
        fill(event);
    });
}

#[cfg(test)]
mod tests;
