//! What whoever asks for a run says beside the messages: who asks, and how the run is to go.

use compact_str::CompactString;
use model::Json;
use model::event::Kind;
use model::view::{NoteBody, RunView};
use serde::{Deserialize, Serialize};

/// The agent's own event in a run that holds its terms.
const NAME: &str = "remote_terms";

/// The caller's terms. They are stored in the run, so that they still hold when somebody else resumes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The user that the caller names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<CompactString>,
    /// What the caller calls the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<CompactString>,
    /// The agent is offered no tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_tools: bool,
}

impl Terms {
    /// Those of a run that is there; the usual ones where it has none, or is none of the hub's.
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

    /// As they stand in the run; nothing where they are the usual ones.
    pub fn note(&self) -> Option<Kind> {
        (*self != Self::default()).then(|| Kind::Custom { name: NAME.into(), value: Json::of(self) })
    }
}
