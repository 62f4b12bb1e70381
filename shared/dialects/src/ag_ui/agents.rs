//! Sub-agents: runs inside of runs (`parentRunId`), and those that newer producers name as such (`SUBAGENT_*`), whose
//! events carry a `subagentRunId`.

use compact_str::CompactString;

use super::{AgUiMeaning, OPEN_MAX};
use crate::Decoded;
use crate::fault::fault;
use crate::field::{ForeignField, ForeignFields};
use crate::tokens::usage;
use model::event::{AgentStart, Kind, RunStatus};
use model::ids::{AgentId, ToolCallId};

impl AgUiMeaning {
    /// The agent that an event is about: the sub-agent that it names, else the innermost open run; nothing
    /// for the main agent.
    pub(super) fn speaker(&self, event: &ForeignFields<'_>) -> Option<AgentId> {
        let named = event.get("subagentRunId").word().map(|id| AgentId::new(&id));
        named.filter(|id| self.sub_agents.contains(id)).or_else(|| self.inner.last().cloned())
    }

    /// Takes an event `SUBAGENT_{what}`: a sub-agent begins or ends. Its code says whether it failed, was
    /// cancelled or interrupted.
    pub(super) fn sub_agent(
        &mut self,
        what: &str,
        whole: ForeignField<'_>,
        event: &ForeignFields<'_>,
        out: &mut Decoded,
    ) {
        let Some(id) = event.get("subagentRunId").word() else { return };
        let agent = AgentId::new(&id);
        match what {
            "STARTED" if self.sub_agents.len() < OPEN_MAX && !self.sub_agents.contains(&agent) => {
                let text = |name: &str| event.get(name).word().map(std::borrow::Cow::into_owned);
                let start = AgentStart {
                    name: event.get("name").word().map(|name| CompactString::new(&name)),
                    parent: event.get("parentSubagentRunId").word().map(|id| AgentId::new(&id)),
                    tool: event.get("parentToolCallId").word().map(|id| ToolCallId::new(&id)),
                    text: text("description"),
                    ..AgentStart::default()
                };
                self.texts.pause(self.speaker(event).as_ref(), &self.writer, out);
                self.sub_agents.insert(self.writer.open_agent(&id, start, out));
            }
            "FINISHED" | "ERROR" if self.sub_agents.shift_remove(&agent) => {
                self.texts.end_all(Some(&agent), &mut self.writer, out);
                let status = match (what, event.get("code").text().as_deref()) {
                    ("FINISHED", _) => RunStatus::Complete,
                    (_, Some("cancelled")) => RunStatus::Cancelled,
                    (_, Some("interrupted")) => RunStatus::Interrupted,
                    _ => {
                        let fact = fault(whole);
                        self.writer.push_by(Some(&agent), Kind::Error(fact), out);
                        RunStatus::Error
                    }
                };
                self.writer.close_agent(&agent, status, out);
            }
            _ => {}
        }
    }

    /// Whether the run that starts is inside of the open one, as its `parentRunId` says; then it becomes a
    /// sub-agent.
    pub(super) fn starts_inside(&mut self, event: &ForeignFields<'_>, id: &str, out: &mut Decoded) -> bool {
        let Some(parent) = event.get("parentRunId").words() else { return false };
        let agent = AgentId::new(id);
        if id.is_empty() || self.inner.len() >= OPEN_MAX || self.inner.contains(&agent) {
            return false;
        }
        let parent = AgentId::new(&parent);
        let is_inner = self.inner.contains(&parent);
        if !is_inner && parent.as_str() != self.run_id.as_str() {
            return false;
        }
        self.texts.pause(self.inner.last(), &self.writer, out);
        let name = event.any(&["agentName", "agentId", "name"]).word().map(|name| CompactString::new(&name));
        let start = AgentStart { name, parent: is_inner.then_some(parent), ..AgentStart::default() };
        self.inner.push(self.writer.open_agent(id, start, out));
        true
    }

    /// Whether a run inside of the open one ended, rather than that one; then its sub-agent ends, with its
    /// tokens.
    pub(super) fn ends_inside(
        &mut self,
        event: &ForeignFields<'_>,
        status: RunStatus,
        out: &mut Decoded,
    ) -> bool {
        let id = event.get("runId").words().unwrap_or_default();
        if !id.is_empty() && id == self.run_id.as_str() {
            return false;
        }
        let Some(ended) = self.inner.pop() else { return false };
        self.texts.end_all(Some(&ended), &mut self.writer, out);
        if let Some(total) = usage(event.get("usage")) {
            self.writer.set_agent_usage(&ended, total, None);
        }
        self.writer.close_agent(&ended, status, out);
        true
    }
}
