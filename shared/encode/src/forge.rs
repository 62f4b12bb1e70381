//! Encodes Forge: named events.
//!
//! ```text
//! event: token        data: {"token":"noon.","cumulative":"It is noon."}
//! event: tool_call    data: {"id":"c1","tool_name":"now","arguments":{},"status":"pending"}
//! event: tool_result  data: {"tool_call_id":"c1","result":"noon","is_error":false,"latency_ms":12}
//! event: complete     data: {"response":"It is noon.","usage":null}
//! event: error        data: {"code":"CANCELLED","message":"…","retryable":false}
//! ```
//!
//! Tokens and reasoning come with all the text so far, so that a replaced text is corrected by the next
//! event. Arguments come complete. A call is written as `pending`, `executing` and `complete` before its
//! result. Files, statuses, custom and raw events and what sub-agents do are left out. A run that broke off
//! ends without an event; one that was cancelled ends with the error `CANCELLED`.

use super::object::named_event;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, PartStep, RunSequencer, ToolStep,
};
use model::event::{ErrorFact, PartKind, RunStatus, ToolState};
use model::ids::ToolCallId;
use model::view::{RunView, ToolView};

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(RunSequencer::new(FactEncoder::new(ForgeEncoder { is_open: false })))
}

/// The event that shows that a stream is alive, at `now` in milliseconds since 1970; its own time is in
/// seconds.
pub(super) fn ping(now: u64) -> String {
    format!("event: ping\ndata: {{\"timestamp\":{}}}\n\n", now / 1000)
}

/// The state of one stream.
#[derive(Debug)]
struct ForgeEncoder {
    /// A run is open.
    is_open: bool,
}

impl FactSink for ForgeEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            self.is_open = true;
        }
        if scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Tool(id, tool, step) => call(id, tool, step, out),
            Fact::Error(error) => fail(error, out),
            _ if !self.is_open => {}
            Fact::Part(_, part, PartStep::Delta(text)) => more(scene.run, part.kind, text, out),
            Fact::Part(_, part, PartStep::Replaced) => more(scene.run, part.kind, "", out),
            Fact::RunEnd => {
                self.is_open = false;
                end(scene.run, out);
            }
            _ => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// Writes more of a text of this kind, with the main agent's whole text of that kind so far.
fn more(run: &RunView, kind: PartKind, text: &str, out: &mut Vec<u8>) {
    match kind {
        PartKind::Text | PartKind::Refusal => named_event(out, "token", |event| {
            event.put("token", text).put("cumulative", &run.answer());
        }),
        PartKind::Thinking => named_event(out, "thinking", |event| {
            event.put("content", text).put("cumulative", &run.thinking());
        }),
        PartKind::File => {}
    }
}

/// Writes one step of a call. A call without a result ends with a state only if that is complete or an error.
fn call(id: &ToolCallId, tool: &ToolView, step: ToolStep<'_>, out: &mut Vec<u8>) {
    match step {
        ToolStep::Called => stands(id, tool, "pending", out),
        ToolStep::Executing => stands(id, tool, "executing", out),
        ToolStep::Result { again: false } => {
            stands(id, tool, "complete", out);
            named_event(out, "tool_result", |event| {
                event.put("tool_call_id", id.as_str()).put("result", &tool.result);
                event.put("is_error", &tool.is_error).put("latency_ms", &tool.latency_ms());
            });
        }
        // There is no result.
        ToolStep::Closed => match tool.state {
            ToolState::Complete => stands(id, tool, "complete", out),
            ToolState::Error => stands(id, tool, "error", out),
            _ => {}
        },
        _ => {}
    }
}

/// Writes a call in a state.
fn stands(id: &ToolCallId, tool: &ToolView, status: &str, out: &mut Vec<u8>) {
    named_event(out, "tool_call", |event| {
        event.put("id", id.as_str()).put("tool_name", tool.name.as_str());
        event.put_arguments("arguments", &tool.arguments.text).put("status", status);
    });
}

/// Writes the end of a run.
fn end(run: &RunView, out: &mut Vec<u8>) {
    match run.status {
        RunStatus::Complete => named_event(out, "complete", |event| {
            event.put("response", &run.answer());
            match run.usage {
                None => event.put("usage", &()),
                Some(usage) => event.nest("usage", |counts| {
                    counts.put("prompt_tokens", &usage.input_tokens);
                    counts.put("completion_tokens", &usage.output_tokens);
                }),
            };
        }),
        RunStatus::Error => match &run.error {
            Some(error) => fail(error, out),
            None => fail(&fault("STREAM_ERROR", super::FAILED), out),
        },
        RunStatus::Cancelled => fail(&fault("CANCELLED", super::STOPPED_BY_PERSON), out),
        RunStatus::Running | RunStatus::Interrupted => {}
    }
}

/// A failure for which the event model has no text; it is permanent.
fn fault(code: &str, message: &str) -> ErrorFact {
    ErrorFact { code: code.into(), message: message.to_owned(), retryable: Some(false), retry_after_ms: None }
}

/// Writes a failure. `retryable` is absent if it is unknown.
fn fail(error: &ErrorFact, out: &mut Vec<u8>) {
    named_event(out, "error", |event| {
        event.put("code", error.code.as_str()).put("message", &error.message);
        event.put_some("retryable", error.retryable);
    });
}
