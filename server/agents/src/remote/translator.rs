//! What an agent elsewhere tells, made part of a run of the hub: one run however often it is asked in it, with ids that no
//! other answer in it has, and without what the hub knows already. Pure.

use std::collections::{HashMap, HashSet};

use compact_str::format_compact;
use dialects::Decoded;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStatus, RunUpdate, ToolState, ToolStateChange};
use model::limits::BOOKKEEPING_PREFIX;
use model::view::RunView;
use model::{AgentId, RunId, ToolCallId};

use super::pause::{Called, INTERRUPT, PauseState, Told};
use crate::answer::Heard;
use crate::ids::Ids;

/// Translates the events of one answer into events of the run. A run that asks its agent again makes another one.
#[derive(Debug)]
pub(super) struct RunTranslator {
    run: RunId,
    calls: Ids,
    taken: HashSet<AgentId>,
    /// What the answer calls its sub-agents, and what the run does.
    agents: HashMap<AgentId, AgentId>,
    failure: Option<ErrorFact>,
    end: Option<RunEnd>,
    has_begun: bool,
    /// Calls of an answer before this one that it goes on with.
    carried: HashSet<ToolCallId>,
    /// Those of them to which a person did not agree: that is what came of them, whatever the agent makes of it.
    rejected: HashSet<ToolCallId>,
    /// What the answer calls its calls and their tools.
    names: HashMap<ToolCallId, Called>,
    /// What it asks of a person.
    asks: Vec<Told>,
    /// Calls that wait and were told of before what is asked: those of a member come before the pause of its team.
    waiting: Vec<Called>,
}

impl RunTranslator {
    /// Of `run`, in which `before` was told by other answers.
    pub(super) fn new(run: RunId, before: Option<&RunView>) -> Self {
        let mut calls = Ids::default();
        calls.taken(before.into_iter().flat_map(|run| run.tools.keys()));
        let taken = before.into_iter().flat_map(|run| run.agents.keys().cloned()).collect();
        Self {
            run,
            calls,
            taken,
            agents: HashMap::new(),
            failure: None,
            end: None,
            has_begun: false,
            carried: HashSet::new(),
            rejected: HashSet::new(),
            names: HashMap::new(),
            asks: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The answer goes on with the calls of `run` that are open, and with those that waited and are answered.
    pub(super) fn carrying(mut self, run: Option<&RunView>, standing: &PauseState) -> Self {
        let open = run.into_iter().flat_map(|run| &run.tools).filter(|(_, tool)| !tool.state.is_final());
        let open = open.map(|(tool, call)| {
            let given = call.given_id.clone().unwrap_or_else(|| tool.as_str().into());
            Called { tool: tool.clone(), given, name: call.name.clone(), is_question: false }
        });
        for call in open.chain(standing.pause.calls().cloned()) {
            self.calls.carry(&call.given, call.tool.clone());
            self.carried.insert(call.tool.clone());
            self.names.insert(call.tool.clone(), call);
        }
        let rejected = standing.answers.iter().filter(|answer| !answer.approved);
        self.rejected = rejected.map(|answer| answer.tool.clone()).collect();
        self
    }

    /// What of `said` is new, as events of the run.
    pub(super) fn tell(&mut self, said: Decoded) -> Vec<Event> {
        let mut told = Vec::with_capacity(said.envelopes.len());
        for envelope in said.envelopes {
            told.extend(self.outlived(&envelope.event.kind));
            told.extend(self.event(envelope.event));
        }
        told
    }

    /// The failure that did not end the answer, for that goes on with `next`: Forge says first that it has no tools, and
    /// answers without them. Whether the run failed is then said by its end alone.
    fn outlived(&mut self, next: &Kind) -> Option<Event> {
        let goes_on = match next {
            Kind::RunEnd(end) => end.status == RunStatus::Complete,
            Kind::PartStart { .. }
            | Kind::PartDelta { .. }
            | Kind::ToolStart(_)
            | Kind::ToolCall { .. }
            | Kind::ToolResult(_) => true,
            _ => false,
        };
        let fact = self.failure.take_if(|_| goes_on)?;
        Some(Event::new(&self.run, Kind::Error(fact)))
    }

    fn event(&mut self, event: Event) -> Option<Event> {
        let Event { mut kind, agent, .. } = event;
        let given = if let Kind::ToolStart(start) = &kind { Some(start.tool.clone()) } else { None };
        self.calls.make_own(&mut kind);
        if self.is_told(&kind, given) {
            return None;
        }
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
            // Told when the answer is over, or goes on. One that was followed by another did not end it.
            Kind::Error(fact) if is_main => kind = Kind::Error(self.failure.replace(fact.clone())?),
            // What was said before is in the conversation.
            Kind::Message(_) => return None,
            // Told once it is over that nothing but this is missing.
            Kind::Custom { name, value } if name == INTERRUPT && is_main => {
                let calls = std::mem::take(&mut self.waiting);
                self.asks.push(Told { interrupt: value.to_value(), calls });
                self.has_begun = true;
                return None;
            }
            // What the hub reads back as its own must not come from elsewhere.
            Kind::Custom { name, .. } if name.starts_with(BOOKKEEPING_PREFIX) => {
                *name = format_compact!("agent_{name}");
            }
            Kind::ApprovalRequest { tool, .. } => {
                let waiting = self.asks.last_mut().map_or(&mut self.waiting, |asked| &mut asked.calls);
                waiting.extend(self.names.get(tool).cloned());
            }
            Kind::AgentStart(start) => start.parent = start.parent.take().map(|parent| self.own(parent)),
            _ => {}
        }
        self.has_begun |= !matches!(kind, Kind::Anomaly(_) | Kind::Raw { .. });
        Some(Event { kind, run: self.run.clone(), agent })
    }

    /// Whether this is known of a call that the answer goes on with. Else the call is remembered, which it calls `given`.
    fn is_told(&mut self, kind: &Kind, given: Option<ToolCallId>) -> bool {
        use ToolState::{Pending, Writing};
        match kind {
            Kind::ToolStart(start) if !self.carried.contains(&start.tool) => {
                let given = start.given_id.clone().or_else(|| Some(given?.as_str().into()));
                let (tool, name) = (start.tool.clone(), start.name.clone());
                let given = given.unwrap_or_default();
                self.names.insert(tool.clone(), Called { tool, given, name, is_question: false });
                false
            }
            Kind::ToolStart(_) => true,
            Kind::ToolState(change) if self.rejected.contains(&change.tool) => true,
            Kind::ToolResult(result) => self.rejected.contains(&result.tool),
            Kind::ToolState(ToolStateChange { tool, state: Writing | Pending, .. })
            | Kind::ToolArgs { tool, .. }
            | Kind::ToolCall { tool, .. }
            | Kind::ApprovalAnswer { tool, .. } => self.carried.contains(tool),
            _ => false,
        }
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

    /// How the run ends, where nothing else went wrong, and what is asked of a person before it goes on.
    pub(super) fn end(self) -> (RunEnd, Vec<Told>) {
        (self.end.unwrap_or_default(), self.asks)
    }
}

#[cfg(test)]
mod tests;
