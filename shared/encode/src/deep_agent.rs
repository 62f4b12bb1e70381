//! Encodes Deep Agent: objects `{"type", "data"}` that say how deep the agent is whose event it is.
//!
//! ```text
//! data: {"type":"tool_start","data":{"tool_id":"c1","name":"search","agent_depth":0}}
//! data: {"type":"tool_end","data":{"tool_id":"c1","name":"search","result":"…","agent_depth":0}}
//! data: {"type":"agent_start","data":{"agent_id":"a1","name":"researcher","depth":1}}
//! data: {"type":"token","data":{"content":"Hi","agent_depth":0}}
//! data: {"type":"done"}
//! ```
//!
//! The dialect has neither arguments nor reasoning, and no event for a failure: its server breaks the answer
//! off, without `done`, and its client reports that as the error. A failure that did not end its run is left
//! out, and so are files, custom and raw events. The start of a sub-agent stands for the call that started
//! it; the end of that call is written.

use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep, RunSequencer,
    ToolStep, data_event,
};
use model::AgentId;
use model::Json;
use model::event::{PartKind, RunStatus};

/// The dialect of runs of the hub's own agents.
const RUNNER: &str = "runner";

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(RunSequencer::new(FactEncoder::new(DeepAgentEncoder { is_open: false, is_broken: false })))
}

/// The state of one stream.
#[derive(Debug)]
struct DeepAgentEncoder {
    /// A run is open.
    is_open: bool,
    /// A run broke off or failed, so that the stream as a whole is not done.
    is_broken: bool,
}

impl FactSink for DeepAgentEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        match fact {
            Fact::RunStart => self.is_open = true,
            Fact::Tool(id, tool, step) => call(scene, id.as_str(), tool, step, out),
            _ if !self.is_open => {}
            // The status of the hub's own agents is left out: no server of this contract sends it.
            Fact::Status(_) if scene.run.dialect.as_deref() == Some(RUNNER) => {}
            Fact::Status(text) => status(scene, text, out),
            Fact::Part(_, part, PartStep::Delta(text)) => {
                if matches!(part.kind, PartKind::Text | PartKind::Refusal) {
                    token(scene, text, out);
                }
            }
            Fact::Part(_, part, PartStep::Replaced) if part.kind == PartKind::Text && part.body.len > 0 => {
                token(scene, &format!("\n\n{}", part.body.text), out);
            }
            Fact::AgentStart(id, agent) => told(out, "agent_start", |event| {
                let name = agent.name.as_deref().unwrap_or(id.as_str());
                event.put("agent_id", id.as_str()).put("name", name).put("depth", &agent.depth);
            }),
            Fact::AgentEnd(id, agent) => told(out, "agent_end", |event| {
                event.put("agent_id", id.as_str()).put("depth", &agent.depth);
            }),
            Fact::RunEnd => {
                self.is_open = false;
                self.is_broken |= scene.run.status != RunStatus::Complete;
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.is_open && !self.is_broken {
            data_event(out, |event| {
                event.put("type", "done");
            });
        }
    }
}

/// Writes one step of a call.
fn call(
    scene: &FactContext<'_>,
    id: &str,
    tool: &model::view::ToolView,
    step: ToolStep<'_>,
    out: &mut Vec<u8>,
) {
    match step {
        // The start of a sub-agent stands for the call that started it.
        ToolStep::Called if scene.run.agents.contains_key(&AgentId::new(id)) => {}
        ToolStep::Called => told(out, "tool_start", |event| {
            event.put("tool_id", id).put("name", tool.name.as_str()).put("agent_depth", &depth(scene));
        }),
        ToolStep::Result { again: false } => told(out, "tool_end", |event| {
            let text = tool.result.as_ref().map(Json::to_text).unwrap_or_default();
            event.put("tool_id", id).put("name", tool.name.as_str()).put("result", &text);
            event.put("agent_depth", &depth(scene));
        }),
        _ => {}
    }
}

/// Writes more of a text.
fn token(scene: &FactContext<'_>, text: &str, out: &mut Vec<u8>) {
    told(out, "token", |event| {
        event.put("content", text).put("agent_depth", &depth(scene));
    });
}

/// Writes a status line as an event.
fn status(scene: &FactContext<'_>, text: &str, out: &mut Vec<u8>) {
    told(out, "status", |event| {
        event.put("description", text).put("agent_depth", &depth(scene));
    });
}

/// How deep the agent of the event is; 0 for the main agent.
fn depth(scene: &FactContext<'_>) -> u32 {
    let agent = scene.agent.and_then(|agent| scene.run.agents.get(agent));
    agent.map_or(0, |agent| agent.depth)
}

/// Writes one event of the type `kind`, whose data `fill` puts in.
fn told(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    data_event(out, |event| {
        event.put("type", kind).nest("data", fill);
    });
}
