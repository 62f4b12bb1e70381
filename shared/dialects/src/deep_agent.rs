//! Deep Agent: SSE objects `{"type", "data"}` of an agent with sub-agents. Tokens and calls say how deep they
//! are, not whose they are; arguments are never sent.
//!
//! ```text
//! data: {"type":"status","data":{"description":"Thinking","agent_depth":0}}
//! data: {"type":"agent_start","data":{"agent_id":"a1","name":"researcher","depth":1}}
//! data: {"type":"tool_start","data":{"tool_id":"t1","name":"search","agent_depth":1}}
//! data: {"type":"tool_end","data":{"tool_id":"t1","name":"search","result":"…","agent_depth":1}}
//! data: {"type":"agent_end","data":{"agent_id":"a1","depth":1}}
//! data: {"type":"tool_end","data":{"tool_id":"a1","name":"task","result":"…","agent_depth":0}}
//! data: {"type":"token","data":{"content":"Done.","agent_depth":0}}
//! data: {"type":"done"}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `status` | a status |
//! | `token` | text of the newest sub-agent at that depth |
//! | `tool_start`, `tool_end` | a call, which is executed at once, and its result |
//! | `agent_start`, `agent_end` | a sub-agent |
//! | `error` | a failure |
//! | `done` | the run is complete |
//! | anything else | raw |
//!
//! The server keeps its sub-agents on a stack. Of sub-agents that run side by side it loses ends and gets
//! depths wrong, so an id counts before a depth, and what is open at the end is ended there. The call that
//! started a sub-agent is sent only when it is over, as the end of a tool that never began; then it is
//! written as a whole. An exception in the server just ends the stream: without `done` the run is
//! interrupted.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::agents::{AgentParts, UnansweredCalls};
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{CallOutcome, EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{AgentStart, Kind, PartKind, RunStatus, ToolState};
use model::ids::AgentId;

/// The name of the dialect.
pub const NAME: &str = "deep-agent";

/// The tool that starts sub-agents.
const TASK: &str = "task";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(DeepAgentMeaning {
        writer: EventWriter::new(NAME, options),
        parts: AgentParts::default(),
        open: UnansweredCalls::default(),
        agents: IndexMap::new(),
        parents: IndexMap::new(),
    }))
}

/// The meaning of one stream of objects.
#[derive(Debug)]
struct DeepAgentMeaning {
    writer: EventWriter,
    /// The open text of each agent.
    parts: AgentParts,
    /// The calls without a result.
    open: UnansweredCalls,
    /// The open sub-agents and their depths, oldest first.
    agents: IndexMap<AgentId, u32>,
    /// The agent that started each sub-agent, be it over or not; nothing for the main one.
    parents: IndexMap<AgentId, Option<AgentId>>,
}

/// An object of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeepAgentLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    body: ForeignField<'a>,
}

/// The fields of all events; each event uses some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeepAgentFields<'a> {
    #[serde(borrow)]
    description: ForeignField<'a>,
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    tool_id: ForeignField<'a>,
    #[serde(borrow)]
    agent_id: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    result: ForeignField<'a>,
    #[serde(borrow)]
    agent_depth: ForeignField<'a>,
    #[serde(borrow)]
    depth: ForeignField<'a>,
}

impl DeepAgentFields<'_> {
    /// How deep the event is: 0 for the main agent.
    fn depth(&self) -> u32 {
        self.agent_depth
            .count()
            .or_else(|| self.depth.count())
            .map_or(0, |depth| u32::try_from(depth).unwrap_or(u32::MAX))
    }
}

impl ObjectMeaning for DeepAgentMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let event: DeepAgentLine<'_> = whole.object();
        let kind = event.kind.word().unwrap_or_else(|| name.into());
        let body: DeepAgentFields<'_> = event.body.object();
        if kind == "done" {
            return self.close(true, out);
        }
        self.writer.begin(None, out);
        match &*kind {
            "status" => {
                let agent = self.agent_at(body.depth(), out);
                let text = body.description.words().unwrap_or_default().into_owned();
                self.writer.push_by(agent.as_ref(), Kind::Status { text }, out);
            }
            "token" => {
                let agent = self.agent_at(body.depth(), out);
                let text = body.content.text().unwrap_or_default();
                self.parts.write(PartKind::Text, &text, agent.as_ref(), &mut self.writer, out);
            }
            "tool_start" => {
                self.call(&body, out);
            }
            "tool_end" => self.result(&body, out),
            "agent_start" => self.start_agent(&body, out),
            "agent_end" => self.end_agent(&body, out),
            "error" => self.fail(if event.body.is_some() { event.body } else { whole }, out),
            _ => self.writer.raw(whole, None, out),
        }
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(true, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(false, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl DeepAgentMeaning {
    /// The newest open sub-agent at `depth`. If there is none, the depth is wrong or the start was missed:
    /// then it is the newest at all, or one that begins now.
    fn agent_at(&mut self, depth: u32, out: &mut Decoded) -> Option<AgentId> {
        if depth == 0 {
            return None;
        }
        let newest = self.agents.iter().rev().find(|(_, at)| **at == depth).or_else(|| self.agents.last());
        if let Some((agent, _)) = newest {
            return Some(agent.clone());
        }
        self.begin_agent(&format!("depth-{depth}"), None, depth, out)
    }

    /// Takes the start of a sub-agent. Its depth is at least 1.
    fn start_agent(&mut self, body: &DeepAgentFields<'_>, out: &mut Decoded) {
        let depth = body.depth().max(1);
        let id = body.agent_id.words().unwrap_or_else(|| format!("depth-{depth}").into());
        let name = body.name.word().map(|name| CompactString::new(&name));
        self.begin_agent(&id, name, depth, out);
    }

    /// Begins a sub-agent below the newest one above it; nothing if there is no room for it.
    fn begin_agent(
        &mut self,
        id: &str,
        name: Option<CompactString>,
        depth: u32,
        out: &mut Decoded,
    ) -> Option<AgentId> {
        if !self.writer.has_room(out) {
            return None;
        }
        let above = depth.saturating_sub(1);
        let parent = self.agents.iter().rev().find(|(_, at)| **at == above).map(|(agent, _)| agent.clone());
        self.parts.close(parent.as_ref(), &self.writer, out);
        self.parents.insert(AgentId::new(id), parent.clone());
        let start = AgentStart { name, parent, depth: Some(depth), ..AgentStart::default() };
        let agent = self.writer.open_agent(id, start, out);
        self.agents.insert(agent.clone(), depth);
        Some(agent)
    }

    /// Takes the end of a sub-agent: the one with that id, else the newest at that depth. One that had not
    /// started is an anomaly.
    fn end_agent(&mut self, body: &DeepAgentFields<'_>, out: &mut Decoded) {
        let depth = body.depth().max(1);
        let named =
            body.agent_id.words().map(|id| AgentId::new(&id)).filter(|id| self.agents.contains_key(id));
        let at_depth =
            || self.agents.iter().rev().find(|(_, at)| **at == depth).map(|(agent, _)| agent.clone());
        if let Some(agent) = named.or_else(at_depth) {
            return self.close_agent(&agent, RunStatus::Complete, out);
        }
        let detail = format!("the end of an agent at depth {depth} that had not started");
        self.writer.anomaly(AnomalyCode::AgentWithoutStart, detail, out);
    }

    /// Ends a sub-agent and its text.
    fn close_agent(&mut self, agent: &AgentId, status: RunStatus, out: &mut Decoded) {
        self.agents.shift_remove(agent);
        self.parts.close(Some(agent), &self.writer, out);
        self.writer.close_agent(agent, status, out);
    }

    /// The agent that makes a call. The call that starts a sub-agent has the id of the sub-agent, and is of
    /// the agent above.
    fn caller(&mut self, body: &DeepAgentFields<'_>, out: &mut Decoded) -> Option<AgentId> {
        // The call that starts a sub-agent has the id of the sub-agent.
        let id = body.tool_id.words().unwrap_or_default();
        match self.parents.get(&AgentId::new(&id)) {
            Some(parent) => parent.clone(),
            None => self.agent_at(body.depth(), out),
        }
    }

    /// Writes a call that is executed from now on, without arguments, and returns the id by which the writer
    /// knows it.
    fn call(&mut self, body: &DeepAgentFields<'_>, out: &mut Decoded) -> Option<CompactString> {
        let agent = self.caller(body, out);
        self.parts.close(agent.as_ref(), &self.writer, out);
        if !self.writer.has_room(out) {
            return None;
        }
        let (id, name) = (body.tool_id.words().unwrap_or_default(), body.name.word().unwrap_or_default());
        let call = self.writer.whole_call(&id, &name, None, agent.as_ref(), out);
        self.writer.state(call.id(), ToolState::Executing, agent.as_ref(), out);
        self.open.add(call.id(), &name);
        Some(call.id().into())
    }

    /// Takes the result of a call. A call that had not started is written now; that is an anomaly unless it
    /// is one that starts a sub-agent.
    fn result(&mut self, body: &DeepAgentFields<'_>, out: &mut Decoded) {
        let (id, name) = (body.tool_id.words().unwrap_or_default(), body.name.word().unwrap_or_default());
        let id = if id.is_empty() { self.open.oldest(&name) } else { Some(id.into()) };
        let id = match id {
            Some(id) if self.open.remove(&id) => id,
            Some(id) if self.writer.knows_call(&id) => id,
            _ => {
                if name != TASK {
                    let detail = format!("the end of {name}, which had not started");
                    self.writer.anomaly(AnomalyCode::ToolWithoutStart, detail, out);
                }
                let Some(id) = self.call(body, out) else { return };
                self.open.remove(&id);
                id
            }
        };
        let agent = self.caller(body, out);
        self.writer.result(&id, CallOutcome::of(body.result.json()), agent.as_ref(), out);
    }

    /// Ends all sub-agents and the run, if one is open.
    fn close(&mut self, is_done: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        let is_whole = is_done && !self.writer.has_failed();
        let status = if is_whole { RunStatus::Complete } else { RunStatus::Interrupted };
        for agent in self.agents.keys().rev().cloned().collect::<Vec<_>>() {
            self.close_agent(&agent, status, out);
        }
        self.parts.close_all(&self.writer, out);
        self.open = UnansweredCalls::default();
        self.parents.clear();
        let status = is_whole.then_some(RunStatus::Complete);
        self.writer.end(RunEnding { is_whole: is_done, status, ..RunEnding::default() }, out);
    }
}
