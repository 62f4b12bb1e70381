//! Writes the events of sub-agents: their start and end, and the tokens that each has used.
//!
//! Dialects report tokens of sub-agents before, at or after the end of the agent. They are collected here and
//! written with the end; what comes later is written in a second end when the run ends.

use compact_str::format_compact;

use super::{AgentId, CompactString, Decoded, EventWriter, ITEMS_PER_RUN_MAX, Kind, RunStatus, Usage};
use model::event::{AgentEnd, AgentStart};

/// The usage of a sub-agent. It is written with its end; written as an update, it would count twice, since
/// the tokens of the run are known otherwise. It is dropped when its run ends.
#[derive(Debug, Default)]
pub(super) struct AgentUsage {
    /// What the agent itself has used, without the agents that it called; nothing as long as nothing was
    /// reported.
    usage: Option<Usage>,
    /// The model that answered for the agent.
    model: Option<CompactString>,
    /// The status with which the sub-agent ended, if it has.
    ended: Option<RunStatus>,
    /// The usage as it stands was written with an end.
    is_told: bool,
}

impl EventWriter {
    /// Begins a sub-agent, or continues it if it began before. `id` is the dialect's own, and becomes the id
    /// in the events, which is returned.
    pub(crate) fn open_agent(&mut self, id: &str, start: AgentStart, out: &mut Decoded) -> AgentId {
        let agent = AgentId::new(id);
        self.push_by(Some(&agent), Kind::AgentStart(start), out);
        agent
    }

    /// Begins one of several answers that were requested in one call (`n` greater than 1). The first (`index`
    /// 0) is the main agent's; each other one gets an agent of its own, so that their texts are not mixed.
    pub(crate) fn open_choice(&mut self, index: u64, out: &mut Decoded) -> Option<AgentId> {
        if index == 0 {
            return None;
        }
        let name = Some(format_compact!("choice {index}"));
        let start = AgentStart { name, ..AgentStart::default() };
        Some(self.open_agent(&format!("choice-{index}"), start, out))
    }

    /// Adds tokens that a sub-agent used. For the run they are counted elsewhere.
    pub(crate) fn add_agent_usage(&mut self, agent: &AgentId, more: Usage) {
        if let Some(account) = self.account(agent) {
            account.usage = Some(account.usage.unwrap_or_default().plus(more));
            account.is_told = false;
        }
    }

    /// Sets all tokens that a sub-agent has used so far, and the model that it uses. For the run they are
    /// counted elsewhere.
    pub(crate) fn set_agent_usage(&mut self, agent: &AgentId, total: Usage, model: Option<&str>) {
        let Some(account) = self.account(agent) else { return };
        account.is_told &= account.usage == Some(total);
        account.usage = Some(total);
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            account.model = Some(CompactString::new(model));
        }
    }

    /// The usage of `agent` in the open run; nothing if there are already [`ITEMS_PER_RUN_MAX`] others, which
    /// then remain uncounted.
    fn account(&mut self, agent: &AgentId) -> Option<&mut AgentUsage> {
        if self.accounts.len() >= ITEMS_PER_RUN_MAX && !self.accounts.contains_key(agent) {
            return None;
        }
        Some(self.accounts.entry(agent.clone()).or_default())
    }

    /// Ends a sub-agent, with the usage and the model that are known by now. It may end again with another
    /// status or more usage: the last one counts.
    pub(crate) fn close_agent(&mut self, agent: &AgentId, status: RunStatus, out: &mut Decoded) {
        let mut end = AgentEnd::of(status);
        if let Some(account) = self.account(agent) {
            (account.ended, account.is_told) = (Some(status), true);
            (end.model, end.usage) = (account.model.clone(), account.usage);
        }
        self.push_by(Some(agent), Kind::AgentEnd(end), out);
    }

    /// Ends the sub-agents that a run with this `status` leaves open, with their usage, and writes the usage
    /// that others had after their end.
    pub(super) fn write_agent_usage(&mut self, status: RunStatus, out: &mut Decoded) {
        for (agent, account) in std::mem::take(&mut self.accounts) {
            if account.usage.is_some() && !account.is_told {
                let status = account.ended.unwrap_or(status);
                let end = AgentEnd { status, model: account.model, usage: account.usage };
                self.push_by(Some(&agent), Kind::AgentEnd(end), out);
            }
        }
    }
}
