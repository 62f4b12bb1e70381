//! What can be set about a door, and what happens where nothing is set.

use std::time::Duration;

use compact_str::CompactString;
use encode::EncoderSpec;

use crate::config::Config;

/// The doors that stand for servers of one agent, whose clients do not name it: which one it is can be set.
pub const DOORS_OF_ONE: [&str; 5] = ["bernard", "deep-agent", "forge", "langgraph", "ralph"];

/// All doors; they are keys of `[compat]`.
pub const DOORS: [&str; 8] =
    ["ag-ui", "ai-sdk", "bernard", "deep-agent", "forge", "langgraph", "openai", "ralph"];

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
    pub(super) fn at(config: &Config, door: &str) -> Self {
        let set = config.compat.get(door).and_then(|door| door.hang_up);
        set.unwrap_or(match door {
            // The servers of these contracts work as long as somebody listens, and the Stop of their clients hangs up.
            "deep-agent" | "forge" | "ralph" => Self::Stop,
            _ => Self::GoOn,
        })
    }
}

/// How long a stream is silent before it shows that it is alive. `door` is nothing for those who only watch.
pub(in crate::http) fn ping(config: &Config, encoding: &EncoderSpec, door: Option<&str>) -> Duration {
    let of_door = door.and_then(|door| config.compat.get(door)?.ping);
    of_door.or(config.sse_ping).unwrap_or(Duration::from_millis(encoding.ping_ms))
}
