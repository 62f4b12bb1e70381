//! Terms: what a caller says besides the messages: who asks, and how the run is to be done.

use compact_str::CompactString;
use model::Json;
use model::event::Kind;
use model::view::{NoteBody, RunView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the hub's own event that stores the terms in a run.
const NAME: &str = "remote_terms";

/// The caller's terms. They are stored in the run, so that they still hold when somebody else resumes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The user that the caller names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<CompactString>,
    /// The caller's name for the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<CompactString>,
    /// Whether the agent is offered no tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_tools: bool,
    /// How the model is to answer: fields of `SAMPLING`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub sampling: Map<String, Value>,
}

impl Terms {
    /// The terms of an existing run; the default if it has none or is not one of the hub's.
    pub fn of(run: &RunView) -> Self {
        if !run.own {
            return Self::default();
        }
        let terms = run.notes.iter().rev().find_map(|note| match &note.body {
            NoteBody::Custom { name, value } if name == NAME => serde_json::from_str(value.as_str()).ok(),
            _ => None,
        });
        terms.unwrap_or_default()
    }

    /// The event that stores the terms; `None` for the default.
    pub fn note(&self) -> Option<Kind> {
        (*self != Self::default()).then(|| Kind::Custom { name: NAME.into(), value: Json::of(self) })
    }
}
