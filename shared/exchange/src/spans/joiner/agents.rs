//! The agents of a trace: the main one, whose steps are those of the run, and its sub-agents.

use std::collections::{BTreeMap, BTreeSet};

use super::trace::SpanTrace;
use crate::spans::meaning::SpanRole;
use crate::spans::{SpanId, hex};
use model::event::{AgentEnd, AgentStart, Kind, RunStatus};
use model::ids::{AgentId, ToolCallId};

/// The main agent and the sub-agents of one trace, with what was published of each so far.
#[derive(Debug, Default)]
pub(super) struct SpanAgents {
    /// The span of the main agent.
    pub(super) main: Option<SpanId>,
    /// A span that was not received and whose children are steps of the main agent.
    pub(super) spine: Option<SpanId>,
    /// Model calls of this trace have spans around them that are no agents, such as the steps of smolagents.
    pub(super) has_steps: bool,
    /// Spans that are assumed to be agents, since their own spans were not received in time.
    guessed: BTreeSet<SpanId>,
    /// What was published of each sub-agent, and whether its end was.
    told: BTreeMap<SpanId, (AgentStart, bool)>,
}

impl SpanAgents {
    /// Sets the main agent, unless it is known already.
    pub(super) fn main_is(&mut self, agent: Option<SpanId>) {
        self.main = self.main.or(agent);
    }

    /// Assumes that a span is an agent.
    pub(super) fn guess(&mut self, agent: SpanId) {
        self.guessed.insert(agent);
    }

    pub(super) fn is_guessed(&self, agent: SpanId) -> bool {
        self.guessed.contains(&agent)
    }
}

impl SpanTrace {
    /// The event that starts an agent, with what is known of it now.
    fn facts_of(&self, agent: SpanId) -> AgentStart {
        let climb = self.climb(agent);
        let above: Vec<_> = climb.agents.iter().filter(|above| self.agents.main != Some(**above)).collect();
        let node = self.nodes.get(&agent);
        let tool = climb.tool.and_then(|tool| self.nodes.get(&tool)?.call.as_deref());
        AgentStart {
            name: node.map(|node| node.name.as_str().into()),
            parent: above.first().map(|above| AgentId::new(&hex(*above))),
            depth: u32::try_from(above.len().saturating_add(1)).ok(),
            tool: tool.map(ToolCallId::new),
            text: node.and_then(|node| node.task.clone()),
            ..AgentStart::default()
        }
    }

    /// Publishes the starts of the agents above the span `id`, and of itself if it is an agent, unless they
    /// are published already.
    pub(super) fn ensure_agents(&mut self, id: SpanId) {
        let mut agents = self.climb(id).agents;
        if self.nodes.get(&id).is_some_and(|node| node.role == SpanRole::Agent) && !self.is_wrapped(id) {
            agents.insert(0, id);
        }
        for agent in agents.into_iter().rev() {
            if self.agents.main != Some(agent) && !self.agents.told.contains_key(&agent) {
                self.tell_agent(agent);
            }
        }
    }

    /// Whether the span of an agent is inside another span of the same agent, without a tool in between.
    fn is_wrapped(&self, id: SpanId) -> bool {
        let climb = self.climb(id);
        let name = |id: SpanId| self.nodes.get(&id).map(|node| node.name.as_str());
        climb.tool.is_none() && climb.agents.first().is_some_and(|above| name(*above) == name(id))
    }

    /// Publishes the start of a sub-agent, or again with what is known now.
    fn tell_agent(&mut self, agent: SpanId) {
        let facts = self.facts_of(agent);
        let id = AgentId::new(&hex(&agent));
        self.push(Kind::AgentStart(facts.clone()), Some(&id), 0);
        self.agents.told.insert(agent, (facts, false));
    }

    /// Publishes what has become known of agents, and the ends of those whose spans were received.
    pub(super) fn refresh_agents(&mut self) {
        let told: Vec<SpanId> = self.agents.told.keys().copied().collect();
        for agent in told {
            let facts = self.facts_of(agent);
            if self.agents.told.get(&agent).is_some_and(|(told, _)| *told != facts) {
                self.tell_agent(agent);
            }
            let Some(failed) = self.nodes.get(&agent).map(|node| node.failed) else { continue };
            if let Some((_, is_over)) = self.agents.told.get_mut(&agent)
                && !std::mem::replace(is_over, true)
            {
                let status = if failed { RunStatus::Error } else { RunStatus::Complete };
                let id = AgentId::new(&hex(&agent));
                self.push(Kind::AgentEnd(AgentEnd::of(status)), Some(&id), 0);
            }
        }
    }
}
