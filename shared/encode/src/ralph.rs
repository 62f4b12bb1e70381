//! Encodes Ralph: objects with a `type`, each an SSE event named `message`, with the line ends of its server
//! (CRLF).
//!
//! ```text
//! event: message    data: {"type":"status","content":"Thinking..."}
//! event: message    data: {"type":"tool_call_start","tool_call_id":"c1","tool_name":"now","tool_args":{}}
//! event: message    data: {"type":"tool_call_complete","tool_call_id":"c1","tool_name":"now","tool_args":{},"result":"noon"}
//! event: message    data: {"type":"message","content":"It is noon."}
//! event: message    data: {"type":"done"}
//! ```
//!
//! Calls come complete, and a call that has a result repeats its arguments, since the client shows those. A
//! failure that did not end the run is a status. The dialect has no reasoning, and files, custom and raw
//! events and what sub-agents do are left out. Each run begins with the status that the server begins with.
//! Nothing comes after `done` or `error`; a run that broke off or was cancelled has neither.

use super::object::ObjectWriter;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, PartStep, RunSequencer, ToolStep,
};
use model::Json;
use model::event::{PartKind, RunStatus};
use model::view::ToolView;

/// The status that the server sends before the model's first token.
const GREETING: &str = "Thinking...";

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(RunSequencer::new(FactEncoder::new(RalphEncoder::default())))
}

/// The state of one stream.
#[derive(Debug, Default)]
struct RalphEncoder {
    /// A run is open.
    is_open: bool,
    /// A run broke off or failed, so that the stream as a whole is not done.
    is_broken: bool,
    /// The run has only the greeting so far: an agent that sends the same text as its status need not repeat
    /// it.
    is_greeted: bool,
}

impl FactSink for RalphEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            (self.is_open, self.is_greeted) = (true, true);
            return status(GREETING, out);
        }
        if scene.agent.is_some() {
            return;
        }
        let is_greeted = std::mem::take(&mut self.is_greeted);
        match fact {
            Fact::Status(GREETING) if is_greeted => {}
            Fact::Tool(id, tool, step) => call(id.as_str(), tool, step, out),
            _ if !self.is_open => {}
            Fact::Status(text) => status(text, out),
            Fact::Error(error) => status(&error.message, out),
            Fact::Part(_, part, PartStep::Delta(text)) => {
                if matches!(part.kind, PartKind::Text | PartKind::Refusal) {
                    message(text, out);
                }
            }
            Fact::Part(_, part, PartStep::Replaced) if part.kind == PartKind::Text && part.body.len > 0 => {
                message(&format!("\n\n{}", part.body.text), out);
            }
            Fact::RunEnd => {
                self.is_open = false;
                self.is_broken |= scene.run.status != RunStatus::Complete;
                if scene.run.status == RunStatus::Error {
                    let text = scene.run.error.as_ref().map_or(super::FAILED, |error| &error.message);
                    told(out, "error", |event| {
                        event.put("message", text);
                    });
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.is_open && !self.is_broken {
            told(out, "done", |_nothing| {});
        }
    }
}

/// Writes a status line as an event.
fn status(text: &str, out: &mut Vec<u8>) {
    told(out, "status", |event| {
        event.put("content", text);
    });
}

/// Writes more of the answer.
fn message(text: &str, out: &mut Vec<u8>) {
    told(out, "message", |event| {
        event.put("content", text);
    });
}

/// Writes one step of a call. A result is text.
fn call(id: &str, tool: &ToolView, step: ToolStep<'_>, out: &mut Vec<u8>) {
    let (kind, key) = match step {
        ToolStep::Called => ("tool_call_start", None),
        // A call that was complete and failed afterwards is a failure, as in the server's streams.
        ToolStep::Result { .. } if tool.is_error => ("tool_call_error", Some("error")),
        ToolStep::Result { again: false } => ("tool_call_complete", Some("result")),
        _ => return,
    };
    told(out, kind, |event| {
        event.put("tool_call_id", id).put("tool_name", tool.name.as_str());
        if kind != "tool_call_error" {
            event.put_arguments("tool_args", &tool.arguments.text);
        }
        if let Some(key) = key {
            event.put(key, &tool.result.as_ref().map(Json::to_text).unwrap_or_default());
        }
    });
}

/// Writes one event of the type `kind`, whose fields `fill` puts in.
fn told(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.extend_from_slice(b"event: message\r\ndata: ");
    ObjectWriter::write(out, |event| {
        event.put("type", kind);
        fill(event);
    });
    out.extend_from_slice(b"\r\n\r\n");
}
