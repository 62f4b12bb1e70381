//! Sub-agents.

use compact_str::format_compact;

use super::{AgentId, Decoded, Kind, RunStatus, Writer};
use crate::event::AgentStart;

impl Writer {
    /// A sub-agent begins, or goes on. `id` is the dialect's own.
    pub(crate) fn open_agent(&mut self, id: &str, start: AgentStart, out: &mut Decoded) -> AgentId {
        let agent = AgentId::new(id);
        self.push_by(Some(&agent), Kind::AgentStart(start), out);
        agent
    }

    /// One of several answers that were asked for in one call. The first is the main agent's; each other one gets an agent
    /// of its own, so that no text is mixed.
    pub(crate) fn open_choice(&mut self, index: u64, out: &mut Decoded) -> Option<AgentId> {
        if index == 0 {
            return None;
        }
        let name = Some(format_compact!("choice {index}"));
        let start = AgentStart { name, ..AgentStart::default() };
        Some(self.open_agent(&format!("choice-{index}"), start, out))
    }

    /// A sub-agent is done.
    pub(crate) fn close_agent(&mut self, agent: &AgentId, status: RunStatus, out: &mut Decoded) {
        self.push_by(Some(agent), Kind::AgentEnd { status }, out);
    }
}
