//! Turns the answers of an agent elsewhere into events of a run of the hub: one run however often the agent
//! is asked in it, with ids that no other answer in it has, and without what the hub knows already. Pure.
//!
//! ```text
//! from the answer             to the run
//! run.start                   run.update, if it names a model or a title
//! run.end                     kept: the run ends when the answer does
//! error of the main agent     kept until it is clear whether it ended the answer
//! message                     dropped: it is in the conversation
//! interrupt                   kept as a question, with the calls that wait
//! custom event of our name    renamed to `agent_…`
//! what an earlier answer told dropped
//! all others                  passed on, with ids of the run
//! ```

use std::collections::{HashMap, HashSet};

use compact_str::format_compact;
use dialects::Decoded;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStatus, RunUpdate, ToolState, ToolStateChange};
use model::limits::BOOKKEEPING_PREFIX;
use model::view::RunView;
use model::{AgentId, RunId, ToolCallId};

use super::pause::{AgentQuestion, Called, INTERRUPT, PauseState};
use crate::answer::AnswerOutcome;
use crate::ids::Ids;

/// Translates the events of one answer into events of the run. Each request of a run has its own translator.
#[derive(Debug)]
pub(super) struct RemoteAnswerTranslator {
    /// The run that all events get.
    run: RunId,
    /// The ids of calls.
    calls: Ids,
    /// The ids of sub-agents that the run has used.
    taken: HashSet<AgentId>,
    /// The answer's ids of sub-agents, with their ids in the run.
    agents: HashMap<AgentId, AgentId>,
    /// The newest error of the main agent, until it is clear whether it ended the answer.
    failure: Option<ErrorFact>,
    /// How the answer ended, if it said so.
    end: Option<RunEnd>,
    /// Whether anything was said that belongs to an answer.
    has_begun: bool,
    /// Calls of an earlier answer with which this one goes on.
    carried: HashSet<ToolCallId>,
    /// Calls in `carried` to which a person did not agree. That is their result, whatever the agent makes of it.
    rejected: HashSet<ToolCallId>,
    /// The answer's ids of calls and their tools, by id in the run.
    names: HashMap<ToolCallId, Called>,
    /// What the agent asks a person.
    asks: Vec<AgentQuestion>,
    /// Calls that wait and came before their question: those of a team's member come before the team's pause.
    waiting: Vec<Called>,
}

impl RemoteAnswerTranslator {
    /// Translates an answer in `run`, in which `before` was told by earlier answers.
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

    /// Lets the answer go on with the open calls of `run`, and with those that waited and are answered.
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

    /// The events of the run that are new in `said`.
    pub(super) fn tell(&mut self, said: Decoded) -> Vec<Event> {
        let mut told = Vec::with_capacity(said.envelopes.len());
        for envelope in said.envelopes {
            told.extend(self.outlived(&envelope.event.kind));
            told.extend(self.event(envelope.event));
        }
        told
    }

    /// Returns an error that did not end the answer, because the answer goes on with `next`: Forge first
    /// reports that it has no tools and then answers without them. Whether the run failed is then said by its
    /// end alone.
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

    /// Translates one event; `None` if it is not published.
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
            // The run exists already, and ends when the answer does.
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
            // Published when the answer is over or goes on. An error that another one follows did not end it.
            Kind::Error(fact) if is_main => kind = Kind::Error(self.failure.replace(fact.clone())?),
            // Earlier messages are in the conversation already.
            Kind::Message(_) => return None,
            // Kept until the answer is over, when all calls are known.
            Kind::Custom { name, value } if name == INTERRUPT && is_main => {
                let calls = std::mem::take(&mut self.waiting);
                self.asks.push(AgentQuestion { interrupt: value.to_value(), calls });
                self.has_begun = true;
                return None;
            }
            // The hub acts on its own events, so they must not come from elsewhere.
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

    /// Whether the event repeats what is known of a call with which the answer goes on. Otherwise remembers
    /// the call, whose id in the answer is `given`.
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

    /// The id of a sub-agent in the run.
    fn own(&mut self, given: AgentId) -> AgentId {
        let Self { taken, agents, .. } = self;
        let own = agents.entry(given.clone()).or_insert_with(|| {
            let numbered = (2_u64..).map(|number| AgentId::new(&format!("{given}.{number}")));
            let free = std::iter::once(given.clone()).chain(numbered).find(|id| !taken.contains(id));
            free.unwrap_or(given)
        });
        own.clone()
    }

    /// What was noticed of the answer so far.
    pub(super) fn heard(&self) -> AnswerOutcome {
        let has_ended = self.end.as_ref().is_some_and(|end| end.status != RunStatus::Interrupted);
        AnswerOutcome { has_begun: self.has_begun, has_ended, failure: self.failure.clone() }
    }

    /// How the run ends if nothing else went wrong, and what the agent asks a person before it goes on.
    pub(super) fn end(self) -> (RunEnd, Vec<AgentQuestion>) {
        (self.end.unwrap_or_default(), self.asks)
    }
}

#[cfg(test)]
mod tests;
