//! What can be set about a door, and what happens where nothing is set.

use std::collections::BTreeMap;
use std::time::Duration;

use compact_str::CompactString;

/// The doors that stand for servers of one agent, whose clients do not name it: which one it is can be set.
pub const DOORS_OF_ONE: [&str; 5] = ["bernard", "deep-agent", "forge", "langgraph", "ralph"];

/// All doors; they are keys of `[compat]`.
pub const DOORS: [&str; 8] =
    ["ag-ui", "ai-sdk", "bernard", "deep-agent", "forge", "langgraph", "openai", "ralph"];

/// The key of `[compat]` for the agent behind every door that has no key of its own.
pub const DEFAULT_DOOR: &str = "default";

/// What was set about doors, by their names.
pub(crate) type Doors = BTreeMap<CompactString, Door>;

/// What was set about a door.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Door {
    /// The agent behind it, where its clients name none.
    pub agent: Option<CompactString>,
    /// What becomes of a run whose caller hangs up; nothing for what its contract means.
    pub hang_up: Option<HangUp>,
    /// Between two signs of life on a silent stream.
    pub ping: Option<Duration>,
}

/// What becomes of a run whose caller hangs up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// It is stopped.
    Stop,
    /// It goes on; everybody else watches it.
    GoOn,
}

impl HangUp {
    /// What `door` does with the run of a caller who hangs up.
    pub(crate) fn at(doors: &Doors, door: &str) -> Self {
        let set = doors.get(door).and_then(|door| door.hang_up);
        set.unwrap_or(match door {
            // The servers of these contracts work as long as somebody listens, and the Stop of their clients hangs up.
            "deep-agent" | "forge" | "ralph" => Self::Stop,
            _ => Self::GoOn,
        })
    }
}
