//! Decides which agents a viewer sees.

use super::{Agents, Lens};
use crate::ids::AgentId;
use crate::view::RunView;

impl Lens {
    /// Whether `agent` of `run` is seen; nothing is the main agent.
    pub(super) fn sees(&self, run: &RunView, agent: Option<&AgentId>) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.have(run, agent))
    }
}

impl Agents {
    fn have(&self, run: &RunView, agent: Option<&AgentId>) -> bool {
        let is_near = |steps: u32| self.depth.is_none_or(|depth| steps <= depth);
        let (mut at, mut steps) = (agent, 0_u32);
        loop {
            if at == self.root.as_ref() {
                return is_near(steps);
            }
            let Some(id) = at else { return false };
            at = above(run, id);
            steps = steps.saturating_add(1);
        }
    }
}

/// The agent above `id`; nothing for the main one. Only one that was there before counts, so this has an end.
fn above<'a>(run: &'a RunView, id: &AgentId) -> Option<&'a AgentId> {
    let (place, _, agent) = run.agents.get_full(id)?;
    let parent = agent.parent.as_ref()?;
    run.agents.get_full(parent).filter(|(before, ..)| *before < place).map(|(_, parent, _)| parent)
}
