//! Sub-agents.

use super::{AgentId, Decoded, Kind, RunStatus, Writer};
use crate::event::AgentStart;

impl Writer {
    /// A sub-agent begins, or goes on. `id` is the dialect's own.
    pub(crate) fn open_agent(&mut self, id: &str, start: AgentStart, out: &mut Decoded) -> AgentId {
        let agent = AgentId::new(id);
        self.push_by(Some(&agent), Kind::AgentStart(start), out);
        agent
    }

    /// A sub-agent is done.
    pub(crate) fn close_agent(&mut self, agent: &AgentId, status: RunStatus, out: &mut Decoded) {
        self.push_by(Some(agent), Kind::AgentEnd { status }, out);
    }
}
