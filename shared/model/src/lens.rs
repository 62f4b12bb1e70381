//! What a viewer wants of a conversation: how deep, of which agents, what kinds of events, and whether all of it or its
//! newest part. The hub lets only that pass ([`Lens::pass`]), and its snapshots hold only that ([`Lens::project`]).
//!
//! # The law
//! A viewer that has caught up has the projection of the hub's view: folding what passed gives what projecting the
//! fold of everything gives, from any snapshot on, joined or not. So a reduced viewer can be cut and resumed like any
//! other. What it takes:
//! * Events that make something which a text depends on pass even where their text does not; [`EventEffects`] says which.
//! * A text that is told as a whole is told as it stands *now*, so telling it again changes nothing.
//! * Oddities are those of the whole stream: a reduced view holds none ([`Lens::tidy`]). One that is only a window keeps
//!   those that it knows of.
//!
//! The law ends where a view is full: a reduced one has room for what the whole one had to leave out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

mod effects;
mod kinds;
mod members;
mod pass;
mod project;
mod window;

pub(crate) use effects::{AGENT, HEARD, LATE};
pub use effects::{EventEffects, event_effects};
pub use kinds::{Kinds, UnknownKind};
pub use window::{Window, window_bytes};

/// The level of detail that a viewer gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Only states, calls, results and errors; no streamed texts.
    Critical,
    /// In addition each text, and the arguments of each call, once they are whole.
    Parts,
    /// Everything, as it comes, piece by piece.
    #[default]
    Deltas,
}

impl Level {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_default(&self) -> bool {
        *self == Self::Deltas
    }
}

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "critical" => Ok(Self::Critical),
            "parts" => Ok(Self::Parts),
            "deltas" => Ok(Self::Deltas),
            other => Err(UnknownLevel(other.chars().take(40).collect())),
        }
    }
}

/// The word names no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not one of the levels critical, parts, deltas")]
pub struct UnknownLevel(String);

/// A choice of agents of each run. Events about the run as a whole, errors among them, belong to every choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agents {
    /// The id of the topmost agent; `None` for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<AgentId>,
    /// The number of levels below it; `None` for all levels, 0 for that agent alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// The part of a conversation that a subscription gets: how deep, of which agents, which kinds of events. The default is all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lens {
    /// The level of detail.
    #[serde(skip_serializing_if = "Level::is_default")]
    pub level: Level,
    /// The agents whose events are sent; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Agents>,
    /// The kinds of events that are sent; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Kinds>,
    /// The newest part of the conversation that is sent; `None` for all of it. The hub chooses it.
    #[serde(skip)]
    pub window: Option<Arc<Window>>,
}

impl Lens {
    /// Whether everything passes as it is.
    pub fn is_clear(&self) -> bool {
        !self.is_reduced() && self.window.is_none()
    }

    /// Whether it leaves out some of what is in the window.
    fn is_reduced(&self) -> bool {
        self.level != Level::Deltas || self.agents.is_some() || self.kinds.is_some()
    }

    /// The lens with this window, or with none.
    #[must_use]
    pub fn with_window(&self, window: Option<Arc<Window>>) -> Self {
        Self { window, ..self.clone() }
    }

    /// Whether texts pass piece by piece, so that what is told at their end can be held against them.
    pub fn has_deltas(&self) -> bool {
        self.level == Level::Deltas
    }

    fn wants_kind(&self, family: Option<kinds::KindFamily>) -> bool {
        let (Some(kinds), Some(family)) = (&self.kinds, family) else { return true };
        kinds.has(family)
    }
}

#[cfg(test)]
mod tests;
