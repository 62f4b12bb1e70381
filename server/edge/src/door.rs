//! The settings of a door, and what holds without them. A door is a set of routes that speak another server's
//! protocol (`http/compat`); its name is its key in `[compat]` of the settings file.

use std::collections::BTreeMap;
use std::time::Duration;

use compact_str::CompactString;

/// Doors whose clients do not name an agent; the settings can name one for each.
pub const DOORS_WITHOUT_AGENT_NAME: [&str; 5] = ["bernard", "deep-agent", "forge", "langgraph", "ralph"];

/// The names of all doors, which are keys of `[compat]` in the settings file.
pub const DOORS: [&str; 8] =
    ["ag-ui", "ai-sdk", "bernard", "deep-agent", "forge", "langgraph", "openai", "ralph"];

/// The key of `[compat]` for the agent of every door that has no setting of its own.
pub const DEFAULT_DOOR: &str = "default";

/// The settings of doors, by name.
pub(crate) type Doors = BTreeMap<CompactString, DoorSettings>;

/// The settings of one door.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoorSettings {
    /// The agent behind it, for clients that name none.
    pub agent: Option<CompactString>,
    /// What happens to a run whose caller hangs up; `None` for what its protocol implies.
    pub hang_up: Option<HangUp>,
    /// The time between two keep-alive messages on a silent stream; `None` for the hub's setting.
    pub ping: Option<Duration>,
}

/// What happens to a run whose caller hangs up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// The run is stopped.
    Stop,
    /// The run goes on, and others can watch it.
    GoOn,
}

impl HangUp {
    /// What `door` does with the run of a caller that hangs up.
    pub(crate) fn at(doors: &Doors, door: &str) -> Self {
        let set = doors.get(door).and_then(|door| door.hang_up);
        set.unwrap_or(match door {
            // The servers of these protocols work only as long as somebody listens, and the Stop button of
            // their clients hangs up.
            "deep-agent" | "forge" | "ralph" => Self::Stop,
            _ => Self::GoOn,
        })
    }
}

#[cfg(test)]
mod tests;
