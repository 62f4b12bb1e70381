//! The query parameters that select what a reader gets of a conversation: `level`, `kinds` (separated by
//! commas), and `root` and `depth` of agents.

use model::AgentId;
use model::lens::{Agents, Kinds, Lens};
use serde::Deserialize;

use crate::inbound::problem::Problem;

/// The query parameters that select what a reader gets. Without any of them it gets everything.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LensQuery {
    /// The level of detail.
    pub(crate) level: Option<String>,
    /// The kinds of events, between commas; all without it.
    pub(crate) kinds: Option<String>,
    /// The agent whose part of the tree is shown; the main agents without it.
    pub(crate) root: Option<String>,
    /// How many levels of agents below the root, a number.
    pub(crate) depth: Option<String>,
}

impl LensQuery {
    /// The lens that the parameters describe, or a problem that names the wrong one.
    pub(crate) fn lens(&self) -> Result<Lens, Problem> {
        let wrong = |error: &dyn std::fmt::Display| Problem::bad_request(error.to_string());
        let level = self.level.as_deref().map(str::parse).transpose().map_err(|error| wrong(&error))?;
        let kinds = self.kinds.as_deref().map(|words| Kinds::of(words.split(',').map(str::trim)));
        let depth = self.depth.as_deref().map(str::parse::<u32>).transpose();
        let depth = depth.map_err(|_no_number| wrong(&"depth: a number of levels is expected"))?;
        let root = self.root.as_deref().map(AgentId::new);
        let agents = (root.is_some() || depth.is_some()).then_some(Agents { root, depth });
        Ok(Lens {
            level: level.unwrap_or_default(),
            agents,
            kinds: kinds.transpose().map_err(|error| wrong(&error))?,
            window: None,
        })
    }
}
