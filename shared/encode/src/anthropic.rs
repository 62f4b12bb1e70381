//! Encodes Anthropic messages: one message for each run, its parts and calls as content blocks.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts | `message_start` |
//! | text, refusal | a `text` block |
//! | reasoning | a `thinking` block with its signature, or `redacted_thinking` if the provider hid it without one |
//! | a call | a `tool_use` block, or `server_tool_use` if the provider executes it |
//! | a result | a block `mcp_tool_result` or `NAME_tool_result` of the same message that names its call |
//! | a run is complete | `message_delta` with stop reason and usage, `message_stop` |
//! | a run failed | `message_delta` with the usage, `error` |
//! | a run broke off or was cancelled | `message_delta` with the usage and no stop reason, and no `message_stop` |
//!
//! Files, statuses, custom events and what sub-agents do are left out. The API cannot take a block back: a
//! text that was replaced follows in a block of its own.
//!
//! ```text
//! event: message_start         data: {"type":"message_start","message":{"id":"msg_r1","role":"assistant","content":[],…}}
//! event: content_block_start   data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
//! event: content_block_delta   data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Noon."}}
//! event: content_block_stop    data: {"type":"content_block_stop","index":0}
//! event: message_delta         data: {"type":"message_delta","delta":{"stop_reason":"end_turn",…},"usage":{…}}
//! event: message_stop          data: {"type":"message_stop"}
//! ```
//!
//! Blocks are numbered from 0 in the order of their beginnings; several may be open at a time, since calls
//! may be written in parallel. The stream has no terminator of its own.

use std::collections::HashMap;

use super::object::named_event;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep, RunSequencer,
    ToolStep,
};
use model::event::{PartKind, RunStatus, ToolState};
use model::ids::{PartId, ToolCallId};
use model::view::{PartView, RunView, ToolView};

/// The model of a run that names none; clients expect one.
const MODEL: &str = "fanlight";

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(RunSequencer::new(FactEncoder::new(AnthropicEncoder::default())))
}

/// The state of one stream: that of the open message.
#[derive(Debug, Default)]
struct AnthropicEncoder {
    /// A message is open.
    is_open: bool,
    /// The number of the next block.
    next: u64,
    /// The indices of the open blocks of parts.
    parts: HashMap<PartId, u64>,
    /// The indices of the open blocks of calls.
    calls: HashMap<ToolCallId, u64>,
}

impl FactSink for AnthropicEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            *self = Self { is_open: true, ..Self::default() };
            return message_start(scene, out);
        }
        if !self.is_open || scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Part(id, part, step) => self.part(id, part, step, out),
            Fact::Tool(id, tool, step) => self.call(id, tool, step, out),
            Fact::RunEnd => {
                self.is_open = false;
                message_end(scene.run, out);
            }
            _ => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

impl AnthropicEncoder {
    /// Writes one step of a part.
    fn part(&mut self, id: &PartId, part: &PartView, step: PartStep<'_>, out: &mut Vec<u8>) {
        if part.kind == PartKind::File {
            return;
        }
        match step {
            // A block begins with its first text, since hidden thinking is a block of another type.
            PartStep::Start => {}
            PartStep::Delta(text) => self.part_delta(id, part, text, out),
            PartStep::Replaced => {
                // The protocol cannot take back a block: the new text becomes a block of its own.
                self.stop_part(id, out);
                if !part.body.text.is_empty() {
                    self.part_delta(id, part, &part.body.text, out);
                }
            }
            PartStep::End => {
                let is_hidden = part.hidden && !self.parts.contains_key(id) && part.body.len == 0;
                if let Some(signature) = part.signature.as_ref().filter(|_| part.kind == PartKind::Thinking) {
                    self.sign(id, part, signature, out);
                } else if is_hidden {
                    let index = self.start(out, |block| {
                        block.put("type", "redacted_thinking").put("data", "");
                    });
                    stop(index, out);
                }
                self.stop_part(id, out);
            }
        }
    }

    /// Writes text of a part, and begins its block if necessary.
    fn part_delta(&mut self, id: &PartId, part: &PartView, text: &str, out: &mut Vec<u8>) {
        let is_thinking = part.kind == PartKind::Thinking;
        let known = self.parts.get(id).copied();
        let index = known.unwrap_or_else(|| {
            self.start(out, |block| {
                if is_thinking {
                    block.put("type", "thinking").put("thinking", "").put("signature", "");
                } else {
                    block.put("type", "text").put("text", "");
                }
            })
        });
        self.parts.insert(id.clone(), index);
        delta(index, out, |delta| {
            if is_thinking {
                delta.put("type", "thinking_delta").put("thinking", text);
            } else {
                delta.put("type", "text_delta").put("text", text);
            }
        });
    }

    /// Writes the signature of a thinking block, which is last in it. Hidden thinking consists of the
    /// signature only.
    fn sign(&mut self, id: &PartId, part: &PartView, signature: &str, out: &mut Vec<u8>) {
        if !self.parts.contains_key(id) {
            self.part_delta(id, part, "", out);
        }
        if let Some(index) = self.parts.get(id) {
            delta(*index, out, |delta| {
                delta.put("type", "signature_delta").put("signature", signature);
            });
        }
    }

    /// Ends the block of a part, if it is open.
    fn stop_part(&mut self, id: &PartId, out: &mut Vec<u8>) {
        if let Some(index) = self.parts.remove(id) {
            stop(index, out);
        }
    }

    /// Writes one step of a call. A result that comes again is left out.
    fn call(&mut self, id: &ToolCallId, tool: &ToolView, step: ToolStep<'_>, out: &mut Vec<u8>) {
        match step {
            ToolStep::Start => {
                let kind = if tool.server { "server_tool_use" } else { "tool_use" };
                let index = self.start(out, |block| {
                    block.put("type", kind).put("id", id.as_str()).put("name", tool.name.as_str());
                    block.nest("input", |_nothing| {});
                });
                self.calls.insert(id.clone(), index);
            }
            ToolStep::Args(text) => {
                let Some(index) = self.calls.get(id) else { return };
                delta(*index, out, |delta| {
                    delta.put("type", "input_json_delta").put("partial_json", text);
                });
            }
            ToolStep::Called | ToolStep::Closed => {
                if let Some(index) = self.calls.remove(id) {
                    stop(index, out);
                }
            }
            ToolStep::Result { again: false } => self.result(id, tool, out),
            _ => {}
        }
    }

    /// Writes the result of a call as a block of its own. A call of the provider has its result as JSON, any
    /// other one as text.
    fn result(&mut self, id: &ToolCallId, tool: &ToolView, out: &mut Vec<u8>) {
        let Some(result) = &tool.result else { return };
        let kind =
            if tool.server { format!("{}_tool_result", tool.name) } else { "mcp_tool_result".to_owned() };
        let index = self.start(out, |block| {
            block.put("type", &kind).put("tool_use_id", id.as_str()).put("is_error", &tool.is_error);
            if tool.server {
                block.put("content", result);
            } else {
                block.put("content", &result.to_text());
            }
        });
        stop(index, out);
    }

    /// Begins a content block and returns its index.
    fn start(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> u64 {
        let index = self.next;
        self.next = index.saturating_add(1);
        event(out, "content_block_start", |event| {
            event.put("index", &index).nest("content_block", fill);
        });
        index
    }
}

/// Writes a `content_block_delta` of the block `index`.
fn delta(index: u64, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    event(out, "content_block_delta", |event| {
        event.put("index", &index).nest("delta", fill);
    });
}

/// Writes the `content_block_stop` of the block `index`.
fn stop(index: u64, out: &mut Vec<u8>) {
    event(out, "content_block_stop", |event| {
        event.put("index", &index);
    });
}

/// Writes an event whose type is also its SSE name.
fn event(out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    named_event(out, name, |event| {
        event.put("type", name);
        fill(event);
    });
}

/// Writes the start of a message. Usage is not known then and is 0.
fn message_start(scene: &FactContext<'_>, out: &mut Vec<u8>) {
    event(out, "message_start", |event| {
        event.nest("message", |message| {
            message.put("id", &format!("msg_{}", scene.run_id)).put("type", "message");
            message.put("role", "assistant").put("model", scene.run.model.as_deref().unwrap_or(MODEL));
            message.put::<[(); 0]>("content", &[]).put("stop_reason", &()).put("stop_sequence", &());
            message.nest("usage", |usage| {
                usage.put("input_tokens", &0).put("output_tokens", &0);
            });
        });
    });
}

/// Writes the end of a message, as the run ended.
fn message_end(run: &RunView, out: &mut Vec<u8>) {
    let reason = (run.status == RunStatus::Complete).then(|| stop_reason(run));
    // A run that broke off used tokens too. Without a stop reason it remains a broken run.
    if reason.is_some() || run.usage.is_some() {
        message_delta(run, reason, out);
    }
    match run.status {
        RunStatus::Complete => event(out, "message_stop", |_nothing| {}),
        RunStatus::Error => event(out, "error", |event| {
            let (code, message) = match &run.error {
                Some(error) => (error.code.as_str(), error.message.as_str()),
                None => ("api_error", "the run failed"),
            };
            event.nest("error", |error| {
                error.put("type", code).put("message", message);
            });
        }),
        _ => {}
    }
}

/// Writes the stop reason, if there is one, and the usage.
fn message_delta(run: &RunView, reason: Option<&str>, out: &mut Vec<u8>) {
    event(out, "message_delta", |event| {
        event.nest("delta", |delta| {
            delta.put("stop_reason", &reason).put("stop_sequence", &());
        });
        let counts = run.usage.unwrap_or_default();
        event.nest("usage", |usage| {
            // In this API, `input_tokens` does not include tokens from the cache.
            let fresh = counts.input_tokens.saturating_sub(counts.cached_tokens);
            usage.put("input_tokens", &fresh).put("output_tokens", &counts.output_tokens);
            if counts.cached_tokens > 0 {
                usage.put("cache_read_input_tokens", &counts.cached_tokens);
            }
            if counts.reasoning_tokens > 0 {
                usage.nest("output_tokens_details", |details| {
                    details.put("thinking_tokens", &counts.reasoning_tokens);
                });
            }
        });
    });
}

/// The stop reason in the API's terms. Calls that were left to the caller take precedence over the reason
/// that the model gave.
fn stop_reason(run: &RunView) -> &'static str {
    let waits = |tool: &ToolView| matches!(tool.state, ToolState::Pending | ToolState::Approval);
    if run.tools.values().any(|tool| tool.agent.is_none() && waits(tool)) {
        return "tool_use";
    }
    if run.parts.values().any(|part| part.agent.is_none() && part.kind == PartKind::Refusal) {
        return "refusal";
    }
    match run.finish_reason.as_deref() {
        Some("length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS") => "max_tokens",
        Some("content_filter" | "refusal" | "SAFETY" | "content-filter") => "refusal",
        Some("stop_sequence") => "stop_sequence",
        Some("pause_turn") => "pause_turn",
        Some("model_context_window_exceeded") => "model_context_window_exceeded",
        _ => "end_turn",
    }
}

#[cfg(test)]
mod tests;
