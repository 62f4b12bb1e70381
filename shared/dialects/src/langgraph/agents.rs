//! Sub-agents: graphs that run inside of a tool call.
//!
//! ```text
//! namespace   tools:4e1c|model:77     a graph inside of the node `tools`: a sub-agent
//!             planner:12              a sub-graph that is no call: part of the main agent
//! ```
//!
//! The namespace of an event says where it happened. The call is found by the id that the stream names, by
//! what the sub-agent was told to do, or as the oldest call that may be meant; calls of the tool `task` come
//! first, which is how Deep Agents give work to sub-agents.

use compact_str::CompactString;

use super::stage::{LangGraphCall, LangGraphWriter};
use crate::Decoded;
use model::event::{AgentStart, RunStatus};
use model::ids::AgentId;
use serde::Deserialize;

use crate::field::ForeignField;

/// Stands between the steps of a namespace.
const BETWEEN: char = '|';

/// Most sub-agents of one run that are told apart (I7). Events of further ones count as the main agent's.
const AGENTS_MAX: usize = 4096;

/// The tool by which agents give work to sub-agents if nothing else is said.
const DELEGATING_TOOL: &str = "task";

/// The arguments of a call that starts a sub-agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SubAgentArguments<'a> {
    #[serde(borrow)]
    description: ForeignField<'a>,
    #[serde(borrow)]
    subagent_type: ForeignField<'a>,
}

impl LangGraphWriter {
    /// The sub-agent whose graph runs in the namespace `path`, begun if it is new; nothing for the main one.
    /// `name` and `task` are what the stream says of it, if it does.
    pub(super) fn agent(
        &mut self,
        path: &[CompactString],
        name: Option<&str>,
        task: Option<&str>,
        out: &mut Decoded,
    ) -> Option<AgentId> {
        let is_inside = |at: &usize| {
            path.get(*at).is_some_and(|step| self.is_tool_step(step)) || self.is_caused(path, *at)
        };
        let at = (0..path.len()).rev().find(is_inside)?;
        let inside = path.get(..=at)?;
        let key = CompactString::from(inside.join("|"));
        if let Some(agent) = self.agents.get(&key) {
            return Some(agent.clone());
        }
        if self.agents.len() >= AGENTS_MAX || !self.w.has_room(out) {
            return None;
        }
        let parent = self.agent(path.get(..at)?, None, None, out);
        let cause = self.cause(inside);
        let step = cause.as_deref().or_else(|| inside.last().map(|step| step_id(step)));
        let call = self.call_behind(step.unwrap_or_default(), task, parent.as_ref());
        if let Some((id, _)) = &call {
            // It works, so the call runs, whether or not anybody said so.
            self.run(id, None, out);
        }
        let arguments = call.as_ref().map(|call| call.1.clone()).unwrap_or_default();
        let arguments: SubAgentArguments<'_> = ForeignField::parse(&arguments).unwrap_or_default().object();
        let name =
            name.map(CompactString::new).or_else(|| arguments.subagent_type.word().map(CompactString::from));
        let tool = call.as_ref().map(|(id, _)| self.w.tool_id(id));
        let text = task.map(str::to_owned).or_else(|| arguments.description.word().map(Into::into));
        let start = AgentStart { name, parent, tool, text, ..AgentStart::default() };
        let agent = self.w.open_agent(&key, start, out);
        if let Some((id, _)) = call {
            // Found again by it when the call is over.
            self.agents.insert(by_call(&id), agent.clone());
        }
        self.agents.insert(key, agent.clone());
        Some(agent)
    }

    /// Whether the stream said which call the graph at this step of `path` runs for.
    fn is_caused(&self, path: &[CompactString], at: usize) -> bool {
        path.get(..=at).is_some_and(|inside| self.cause(inside).is_some())
    }

    /// Whether a step of a namespace is a tool call: the node `tools`, or one that is named by a call.
    fn is_tool_step(&self, step: &str) -> bool {
        let (node, id) = step.split_once(':').unwrap_or((step, ""));
        node == "tools" || self.knows(id)
    }

    /// The id and the arguments of the call that the sub-agent works for. It has a sub-agent from now on.
    fn call_behind(
        &mut self,
        step: &str,
        task: Option<&str>,
        parent: Option<&AgentId>,
    ) -> Option<(CompactString, String)> {
        let may_be = |call: &&mut LangGraphCall| !call.has_agent && call.agent.as_ref() == parent;
        let says = |call: &LangGraphCall| {
            let arguments: SubAgentArguments<'_> =
                ForeignField::parse(&call.args).unwrap_or_default().object();
            task.is_some() && arguments.description.text().as_deref() == task
        };
        let place = if let Some(call) = self.call(step) {
            call.has_agent = true;
            return Some((call.id.clone(), call.args.clone()));
        } else {
            let mut first = None;
            let mut first_delegated = None;
            let mut found = None;
            for (place, call) in
                self.open.iter_mut().take(super::stage::LOOKED_AT_MAX).filter(|(_, call)| may_be(call))
            {
                first.get_or_insert(*place);
                if call.name == DELEGATING_TOOL {
                    first_delegated.get_or_insert(*place);
                }
                if says(call) {
                    found = Some(*place);
                    break;
                }
            }
            found.or(first_delegated).or(first)?
        };
        let call = self.open.get_mut(&place)?;
        call.has_agent = true;
        Some((call.id.clone(), call.args.clone()))
    }

    /// Ends the sub-agent that worked for the call `id`, since that is over.
    pub(super) fn end_agents_of(&mut self, id: &str, is_error: bool, out: &mut Decoded) {
        let Some(agent) = self.agents.get(&by_call(id)).cloned() else { return };
        let status = if is_error { RunStatus::Error } else { RunStatus::Complete };
        self.w.close_agent(&agent, status, out);
    }
}

/// The steps of a namespace that is written as one string.
pub(super) fn steps(namespace: &str) -> Vec<CompactString> {
    namespace.split(BETWEEN).filter(|step| !step.is_empty()).map(CompactString::new).collect()
}

/// The id of a step (`node:id`); empty if it has none.
fn step_id(step: &str) -> &str {
    step.split_once(':').map_or("", |(_, id)| id)
}

/// The key of the sub-agent that works for a call. No namespace begins like this: it would be a node without
/// a name.
fn by_call(id: &str) -> CompactString {
    compact_str::format_compact!("|{id}")
}
