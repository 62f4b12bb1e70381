//! The agents of a trace.

use std::collections::{BTreeMap, BTreeSet};

use super::trace::SpanTrace;
use crate::spans::meaning::SpanRole;
use crate::spans::{SpanId, hex};
use model::event::{AgentEnd, AgentStart, Kind, RunStatus};
use model::ids::{AgentId, ToolCallId};

/// The main agent and the sub-agents of one trace, with what was told of each so far.
#[derive(Debug, Default)]
pub(super) struct SpanAgents {
    /// The main one.
    pub(super) main: Option<SpanId>,
    /// The span that has not come and whose children the main agent's steps are.
    pub(super) spine: Option<SpanId>,
    /// Spans that are taken for agents.
    guessed: BTreeSet<SpanId>,
    /// What was told of each, and whether its end was.
    told: BTreeMap<SpanId, (AgentStart, bool)>,
}

impl SpanAgents {
    /// The main agent is `agent`, unless it is known already.
    pub(super) fn main_is(&mut self, agent: Option<SpanId>) {
        self.main = self.main.or(agent);
    }

    pub(super) fn guess(&mut self, agent: SpanId) {
        self.guessed.insert(agent);
    }

    pub(super) fn is_guessed(&self, agent: SpanId) -> bool {
        self.guessed.contains(&agent)
    }
}

impl SpanTrace {
    /// What is known of an agent now.
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

    /// Sees to it that the agents above the span `id` were told, and itself when it is one.
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

    /// Whether the span is only a part of another one of the same agent.
    fn is_wrapped(&self, id: SpanId) -> bool {
        let climb = self.climb(id);
        let name = |id: SpanId| self.nodes.get(&id).map(|node| node.name.as_str());
        climb.tool.is_none() && climb.agents.first().is_some_and(|above| name(*above) == name(id))
    }

    fn tell_agent(&mut self, agent: SpanId) {
        let facts = self.facts_of(agent);
        let id = AgentId::new(&hex(&agent));
        self.push(Kind::AgentStart(facts.clone()), Some(&id), 0);
        self.agents.told.insert(agent, (facts, false));
    }

    /// Tells what has become known of agents, and the end of those that have come.
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
