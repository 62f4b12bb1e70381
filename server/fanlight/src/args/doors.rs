//! The table `[compat]` of the settings file: the settings of the doors, which are routes for clients of other servers.
//!
//! ```toml
//! [compat]
//! langgraph = "writer"            # only the agent that answers
//! [compat.forge]
//! agent = "writer"
//! hang_up = "go_on"               # what happens to a run whose caller hangs up: stop or go_on
//! ping_seconds = 10
//! ```

use std::fmt;
use std::time::Duration;

use edge::{DEFAULT_DOOR, DOORS, DOORS_WITHOUT_AGENT_NAME, DoorSettings, HangUp};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// An entry of `[compat]`, the settings of one door: a table, or only the name of its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DoorEntry(DoorTable);

/// The table of one door.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DoorTable {
    /// The agent that answers there.
    agent: Option<String>,
    /// What happens to a run when its caller hangs up: `stop` or `go_on`.
    hang_up: Option<String>,
    /// The time between two pings on a silent stream, in seconds.
    ping_seconds: Option<u64>,
}

impl<'de> Deserialize<'de> for DoorEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableOrName;
        impl<'de> Visitor<'de> for TableOrName {
            type Value = DoorEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an agent, or a table with agent, hang_up and ping_seconds")
            }

            fn visit_str<E>(self, agent: &str) -> Result<DoorEntry, E> {
                Ok(DoorEntry(DoorTable { agent: Some(agent.to_owned()), ..DoorTable::default() }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DoorEntry, A::Error> {
                DoorTable::deserialize(MapAccessDeserializer::new(map)).map(DoorEntry)
            }
        }
        deserializer.deserialize_any(TableOrName)
    }
}

impl DoorEntry {
    /// Converts the settings; the error says what is wrong. `knows` returns whether there is an agent with a
    /// name. An agent can only be set where the door's clients do not name one themselves.
    pub(crate) fn door(&self, name: &str, knows: impl Fn(&str) -> bool) -> Result<DoorSettings, String> {
        let DoorTable { agent, hang_up, ping_seconds } = &self.0;
        let is_default = name == DEFAULT_DOOR;
        if !DOORS.contains(&name) && !is_default {
            let doors = DOORS.join(", ");
            return Err(format!(
                "[compat] has {name:?}, and the doors are {doors}, and {DEFAULT_DOOR} for all"
            ));
        }
        if is_default && (hang_up.is_some() || ping_seconds.is_some()) {
            return Err(format!(
                "[compat] {DEFAULT_DOOR} is an agent alone; hang_up and ping_seconds are of a door"
            ));
        }
        if let Some(agent) = agent {
            if !DOORS_WITHOUT_AGENT_NAME.contains(&name) && !is_default {
                let doors = DOORS_WITHOUT_AGENT_NAME.join(", ");
                return Err(format!(
                    "[compat] {name} has an agent, which its clients name; one can be set for {doors}"
                ));
            }
            if !knows(agent) {
                return Err(format!(
                    "[compat] {name} names {agent:?}, and there is no table [agents.{agent}]"
                ));
            }
        }
        let hang_up = match hang_up.as_deref() {
            None => None,
            Some("stop") => Some(HangUp::Stop),
            Some("go_on") => Some(HangUp::GoOn),
            Some(other) => {
                return Err(format!("[compat.{name}] hang_up is {other:?}; there are stop and go_on"));
            }
        };
        if let Some(seconds) = ping_seconds.filter(|seconds| !(1..=3_600).contains(seconds)) {
            return Err(format!("[compat.{name}] ping_seconds is {seconds}; it is 1 to 3600"));
        }
        let ping = ping_seconds.map(Duration::from_secs);
        Ok(DoorSettings { agent: agent.as_deref().map(Into::into), hang_up, ping })
    }
}

#[cfg(test)]
mod tests;
