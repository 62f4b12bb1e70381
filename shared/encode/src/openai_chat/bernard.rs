//! Encodes Bernard's form of chat completions: calls come complete, and the stream also has progress objects
//! and the results.
//!
//! ```text
//! data: {…,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"web_search","arguments":"{}"}}]},"finish_reason":null}]}
//! data: {"type":"tool_progress","request_id":"chatcmpl-r1","data":{"_type":"tool_progress","tool":"web_search","phase":"progress","message":"1/3","timestamp":1770000000000}}
//! data: {…,"choices":[{"index":0,"delta":{"role":"tool","tool_call_id":"c1","content":"…"},"finish_reason":null}]}
//! ```
//!
//! A call that failed gets a progress object with the phase `error` before its result, unless its tool
//! reported that itself. Results may come after the end of their run; everything else is as in the parent
//! module.

use std::collections::{HashMap, HashSet};

use super::{call_chunk, chunk_id, delta_chunk, end_run, image_chunk, replaced, text_chunk};
use crate::fact::progress_line;
use crate::{
    Caller, Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, PartStep, RunSequencer,
    ToolStep, data_event,
};
use model::ids::ToolCallId;
use model::json::Json;
use model::view::ToolView;

/// An encoder for one stream.
pub(crate) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let caller = options.caller.clone();
    Box::new(RunSequencer::new(FactEncoder::new(BernardEncoder { caller, ..BernardEncoder::default() })))
}

/// The phase of a tool that failed.
const FAILURE: &str = "error";

/// The state of one stream.
#[derive(Debug, Default)]
struct BernardEncoder {
    /// A run is open.
    is_open: bool,
    /// A run broke off, so that the stream as a whole is not done.
    is_broken: bool,
    /// The index of each call in the message. Bernard itself sends none, but OpenAI's helpers need it.
    calls: HashMap<ToolCallId, usize>,
    /// Who reads the stream as the answer to a request; nothing for a viewer. Only whether it wants the usage
    /// matters here.
    caller: Option<Caller>,
    /// Calls whose tools reported themselves that they failed.
    failed: HashSet<ToolCallId>,
}

impl FactSink for BernardEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            let (is_broken, caller) = (self.is_broken, self.caller.take());
            *self = Self { is_open: true, is_broken, caller, ..Self::default() };
            return;
        }
        if scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Tool(id, tool, step) => self.call(scene, id, tool, step, out),
            _ if !self.is_open => {}
            Fact::Part(_, part, PartStep::Delta(text)) => text_chunk(scene, part, text, out),
            Fact::Part(_, part, PartStep::Replaced) => replaced(scene, part, out),
            Fact::Part(_, part, PartStep::End) => image_chunk(scene, part, out),
            Fact::RunEnd => {
                self.is_open = false;
                self.is_broken |= end_run(scene, self.caller.as_ref(), out);
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.is_open && !self.is_broken {
            out.extend_from_slice(b"data: [DONE]\n\n");
        }
    }
}

impl BernardEncoder {
    /// Writes one step of a call.
    fn call(
        &mut self,
        scene: &FactContext<'_>,
        id: &ToolCallId,
        tool: &ToolView,
        step: ToolStep<'_>,
        out: &mut Vec<u8>,
    ) {
        let next = self.calls.len();
        match step {
            ToolStep::Called if self.is_open => {
                let index = *self.calls.entry(id.clone()).or_insert(next);
                call_chunk(scene, out, |call| {
                    call.put("index", &index).put("id", id.as_str()).put("type", "function");
                    call.nest("function", |function| {
                        function.put("name", tool.name.as_str()).put("arguments", &tool.arguments.text);
                    });
                });
            }
            ToolStep::Progress(progress) => {
                let phase = progress.phase.as_deref().unwrap_or("progress");
                if phase == FAILURE {
                    self.failed.insert(id.clone());
                }
                progress_event(scene, tool, (phase, progress.data.as_ref()), &progress_line(progress), out);
            }
            ToolStep::Result { again: false } => {
                let text = tool.result.as_ref().map(Json::to_text).unwrap_or_default();
                if tool.is_error && !self.failed.contains(id) {
                    progress_event(scene, tool, (FAILURE, None), &text, out);
                }
                delta_chunk(scene, out, |delta| {
                    delta.put("role", "tool").put("tool_call_id", id.as_str()).put("content", &text);
                });
            }
            _ => {}
        }
    }
}

/// Writes a progress object about a tool, at the time of the event.
fn progress_event(
    scene: &FactContext<'_>,
    tool: &ToolView,
    (phase, detail): (&str, Option<&Json>),
    message: &str,
    out: &mut Vec<u8>,
) {
    data_event(out, |event| {
        event.put("type", "tool_progress").put("request_id", &chunk_id(scene));
        event.nest("data", |fields| {
            fields.put("_type", "tool_progress").put("tool", tool.name.as_str()).put("phase", phase);
            fields.put("message", message);
            if let Some(detail) = detail {
                fields.put("data", detail);
            }
            fields.put("timestamp", &scene.at);
        });
    });
}
