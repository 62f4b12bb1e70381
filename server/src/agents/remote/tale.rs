//! What an agent elsewhere tells, made part of a run of the hub: one run however often it is asked in it, with ids that no
//! other answer in it has, and without what the hub knows already. Pure.

use std::collections::{HashMap, HashSet};

use shared::dialect::Decoded;
use shared::event::{ErrorFact, Event, Kind, RunEnd, RunStatus, RunUpdate};
use shared::view::RunView;
use shared::{AgentId, RunId};

use crate::runner::{Heard, Ids};

/// See the module. For one answer.
#[derive(Debug)]
pub(super) struct Tale {
    run: RunId,
    calls: Ids,
    taken: HashSet<AgentId>,
    /// What the answer calls its sub-agents, and what the run does.
    agents: HashMap<AgentId, AgentId>,
    failure: Option<ErrorFact>,
    end: Option<RunEnd>,
    has_begun: bool,
}

impl Tale {
    /// Of `run`, in which `before` was told by other answers.
    pub(super) fn new(run: RunId, before: Option<&RunView>) -> Self {
        let mut calls = Ids::default();
        calls.taken(before.into_iter().flat_map(|run| run.tools.keys()));
        let taken = before.into_iter().flat_map(|run| run.agents.keys().cloned()).collect();
        Self { run, calls, taken, agents: HashMap::new(), failure: None, end: None, has_begun: false }
    }

    /// What of `said` is new, as events of the run.
    pub(super) fn tell(&mut self, said: Decoded) -> Vec<Event> {
        said.envelopes.into_iter().filter_map(|envelope| self.event(envelope.event)).collect()
    }

    fn event(&mut self, event: Event) -> Option<Event> {
        let Event { mut kind, agent, .. } = event;
        self.calls.make_own(&mut kind);
        let is_main = agent.is_none();
        let agent = agent.map(|agent| self.own(agent));
        match &mut kind {
            // The run is there, and ends when the answer does.
            Kind::RunStart(start) => {
                let (model, title) = (start.model.take(), start.title.take());
                if model.is_none() && title.is_none() {
                    return None;
                }
                kind = Kind::RunUpdate(RunUpdate { model, title, ..RunUpdate::default() });
            }
            Kind::RunEnd(end) => {
                self.end = Some(std::mem::take(end));
                return None;
            }
            // Told when the answer is over.
            Kind::Error(fact) if is_main => {
                self.failure = Some(fact.clone());
                return None;
            }
            // What was said before is in the conversation.
            Kind::Message(_) => return None,
            Kind::AgentStart(start) => start.parent = start.parent.take().map(|parent| self.own(parent)),
            _ => {}
        }
        self.has_begun |= !matches!(kind, Kind::Anomaly(_) | Kind::Raw { .. });
        Some(Event { kind, run: self.run.clone(), agent })
    }

    /// The name that a sub-agent has in the run.
    fn own(&mut self, given: AgentId) -> AgentId {
        let Self { taken, agents, .. } = self;
        let own = agents.entry(given.clone()).or_insert_with(|| {
            let numbered = (2_u64..).map(|number| AgentId::new(&format!("{given}.{number}")));
            let free = std::iter::once(given.clone()).chain(numbered).find(|id| !taken.contains(id));
            free.unwrap_or(given)
        });
        own.clone()
    }

    /// What was heard of the answer.
    pub(super) fn heard(&self) -> Heard {
        let has_ended = self.end.as_ref().is_some_and(|end| end.status != RunStatus::Interrupted);
        Heard { has_begun: self.has_begun, has_ended, failure: self.failure.clone() }
    }

    /// How the run ends, where nothing else went wrong.
    pub(super) fn end(self) -> RunEnd {
        self.end.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
