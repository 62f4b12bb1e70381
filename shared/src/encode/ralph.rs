//! Ralph: objects with a `type`, each an SSE event named `message`, with the line ends of its server. Calls come whole;
//! the dialect has no thinking, and what sub-agents do is left out. Nothing comes after `done` or `error`.

use super::object::Object;
use super::{Encode, EncodeOptions, Fact, PartStep, Scene, Serial, Tell, Teller, ToolStep};
use crate::Json;
use crate::event::{PartKind, RunStatus};
use crate::view::ToolView;

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(Serial::new(Teller::new(Ralph { is_open: false, is_broken: false })))
}

#[derive(Debug)]
struct Ralph {
    /// A run goes on.
    is_open: bool,
    /// A run broke off or failed, so that the stream as a whole is not done.
    is_broken: bool,
}

impl Tell for Ralph {
    fn fact(&mut self, scene: &Scene<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            self.is_open = true;
        }
        if scene.agent.is_some() {
            return;
        }
        match fact {
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
                    let text = scene.run.error.as_ref().map_or("the run failed", |error| &error.message);
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

fn status(text: &str, out: &mut Vec<u8>) {
    told(out, "status", |event| {
        event.put("content", text);
    });
}

fn message(text: &str, out: &mut Vec<u8>) {
    told(out, "message", |event| {
        event.put("content", text);
    });
}

fn call(id: &str, tool: &ToolView, step: ToolStep<'_>, out: &mut Vec<u8>) {
    let (kind, key) = match step {
        ToolStep::Called { .. } => ("tool_call_start", "tool_args"),
        ToolStep::Result { again: false } if tool.is_error => ("tool_call_error", "error"),
        ToolStep::Result { again: false } => ("tool_call_complete", "result"),
        _ => return,
    };
    told(out, kind, |event| {
        event.put("tool_call_id", id).put("tool_name", tool.name.as_str());
        if key == "tool_args" {
            event.put_arguments(key, &tool.arguments.text);
        } else {
            event.put(key, &tool.result.as_ref().map(Json::to_text).unwrap_or_default());
        }
    });
}

fn told(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(b"event: message\r\ndata: ");
    Object::write(out, |event| {
        event.put("type", kind);
        fill(event);
    });
    out.extend_from_slice(b"\r\n\r\n");
}
