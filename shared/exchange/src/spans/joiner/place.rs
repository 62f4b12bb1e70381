//! Decides whose step a span is: the main agent's or a sub-agent's.
//!
//! ```text
//! root
//! └─ agent A            main agent: the topmost agent above a step
//!    ├─ model           step of A
//!    └─ tool ask_b
//!       └─ agent B      sub-agent, called by the tool
//!          └─ model     step of B
//! ```
//!
//! A tool is a step of whoever wrote its call, if that is known by the id of the call; else of the nearest
//! agent above. While an ancestor is missing, nothing is decided until the span is late.

use super::HeldSpan;
use super::trace::SpanTrace;
use crate::spans::meaning::{SpanPiece, SpanRole};
use crate::spans::{SpanId, hex};
use model::ids::AgentId;

/// The most ancestors of a span that are examined. It also ends the search for spans that are their own
/// ancestors.
const ANCESTORS_MAX: usize = 256;

/// The agent that a span is a step of.
#[derive(Debug)]
pub(super) enum StepOwner {
    /// The agent is not known yet.
    Open,
    /// The span is a step of the main agent.
    Main,
    /// The span is a step of this sub-agent.
    Of(AgentId),
}

impl StepOwner {
    /// The owner that is `agent`; nothing stands for the main agent.
    pub(super) fn of(agent: Option<AgentId>) -> Self {
        agent.map_or(Self::Main, Self::Of)
    }
}

/// The ancestors of a span that matter for its place.
#[derive(Debug, Default)]
pub(super) struct Ancestry {
    /// The spans of agents, the nearest first.
    pub(super) agents: Vec<SpanId>,
    /// The nearest span of a tool below the nearest agent.
    pub(super) tool: Option<SpanId>,
    /// The lowest ancestor that was not received; nothing if the root is known.
    pub(super) unseen: Option<SpanId>,
}

impl SpanTrace {
    /// Collects the ancestors of the span `id`.
    pub(super) fn climb(&self, id: SpanId) -> Ancestry {
        let mut climb = Ancestry::default();
        let (mut below, mut is_through_tool) = (id, false);
        for _ in 0..ANCESTORS_MAX {
            let Some(node) = self.nodes.get(&below) else { break };
            let Some(parent) = node.parent else { break };
            let Some(above) = self.nodes.get(&parent) else {
                if node.is_remote {
                    break;
                }
                if self.agents.is_guessed(parent) {
                    climb.agents.push(parent);
                }
                climb.unseen = Some(parent);
                break;
            };
            if above.role == SpanRole::Tool {
                is_through_tool = true;
                if climb.agents.is_empty() {
                    climb.tool.get_or_insert(parent);
                }
            }
            if above.role == SpanRole::Agent || self.agents.is_guessed(parent) {
                // Some frameworks wrap an agent in another span of the same agent; only the outer one counts.
                let same = climb.agents.last().and_then(|agent| self.nodes.get(agent));
                if !is_through_tool && same.is_some_and(|same| same.name == above.name) {
                    climb.agents.pop();
                }
                climb.agents.push(parent);
                is_through_tool = false;
            }
            below = parent;
        }
        climb
    }

    /// The owner of `held`. With `is_late` it is decided now, by a guess if necessary.
    pub(super) fn place(&mut self, held: &HeldSpan, is_late: bool) -> StepOwner {
        let mut climb = self.climb(held.id);
        let role = held.meaning.role;
        let parent = self.nodes.get(&held.id).and_then(|node| self.nodes.get(&node.parent?));
        if role == SpanRole::Model && parent.is_some_and(|parent| parent.role == SpanRole::Step) {
            self.agents.has_steps = true;
        }
        if role == SpanRole::Tool && self.is_inner_tool(held) && (is_late || climb.unseen.is_none()) {
            return StepOwner::Main;
        }
        if role == SpanRole::Tool && !self.calls.is_findable(&held.meaning, is_late) {
            return StepOwner::Open;
        }
        if role == SpanRole::Tool
            && let Some(caller) = self.calls.caller(&held.meaning)
        {
            return caller;
        }
        let topmost = climb.agents.last().copied().or((role == SpanRole::Agent).then_some(held.id));
        match climb.unseen {
            None => self.agents.main_is(topmost),
            Some(top) if self.agents.spine == Some(top) || self.agents.is_guessed(top) => {}
            Some(_) if !is_late => return StepOwner::Open,
            Some(_) if role == SpanRole::Tool => {}
            Some(top) => match self.agents.spine {
                None if self.agents.main.is_none() => {
                    self.agents.spine = Some(top);
                    self.agents.main_is(topmost);
                }
                // No guess is needed if the span of an agent was received.
                _ if role == SpanRole::Agent || !climb.agents.is_empty() => {}
                // It is the next step of the main agent, which executes no tool that a sub-agent could be in.
                _ if self.agents.has_steps && self.calls.are_answered() => {}
                _ => {
                    self.agents.guess(top);
                    climb.agents.push(top);
                }
            },
        }
        let nearest = climb.agents.first().filter(|agent| self.agents.main != Some(**agent));
        StepOwner::of(nearest.map(|agent| AgentId::new(&hex(agent))))
    }

    /// Whether another span of the same tool encloses this one. If so, the id of the call is copied to the
    /// outer span.
    fn is_inner_tool(&mut self, held: &HeldSpan) -> bool {
        let mut below = held.id;
        for _ in 0..ANCESTORS_MAX {
            let Some(parent) = self.nodes.get(&below).and_then(|node| node.parent) else { return false };
            let Some(above) = self.nodes.get_mut(&parent) else { return false };
            match above.role {
                SpanRole::Tool if above.name == held.meaning.name => {
                    above.call = above.call.take().or_else(|| held.meaning.call.clone());
                    if let Some(inner) = self.nodes.get_mut(&held.id) {
                        inner.is_covered = true;
                    }
                    return true;
                }
                SpanRole::Step => below = parent,
                _ => return false,
            }
        }
        false
    }

    /// Whether what the span of a model `held` says is published with another span: one inside of it, or one
    /// around it that says more.
    pub(super) fn is_said_elsewhere(&mut self, held: &HeldSpan) -> bool {
        if self.nodes.get(&held.id).is_some_and(|node| node.is_covered) {
            return true;
        }
        let says = held.meaning.output.iter().flat_map(|said| &said.pieces);
        let says = says.filter(|piece| !matches!(piece, SpanPiece::Result { .. })).count() > 0;
        let mut below = held.id;
        for _ in 0..ANCESTORS_MAX {
            let Some(parent) = self.nodes.get(&below).and_then(|node| node.parent) else { return false };
            let Some(above) = self.nodes.get_mut(&parent) else { return false };
            match above.role {
                SpanRole::Model if !says => return true,
                SpanRole::Model => above.is_covered = true,
                SpanRole::Step => {}
                SpanRole::Agent | SpanRole::Tool => return false,
            }
            below = parent;
        }
        false
    }

    /// If the span whose children are steps of the main agent was received, its parent takes its place, up to
    /// the root.
    pub(super) fn climb_spine(&mut self) {
        for _ in 0..ANCESTORS_MAX {
            let Some(spine) = self.agents.spine else { return };
            let Some(node) = self.nodes.get(&spine) else { return };
            if node.role == SpanRole::Agent {
                self.agents.main_is(Some(spine));
            }
            self.agents.has_steps |= node.role == SpanRole::Step;
            self.agents.spine = node.parent.filter(|_| !node.is_remote);
        }
        self.agents.spine = None;
    }
}
