//! What of a caller stands in the runs that it began, so that a hub that comes back knows it again.

use model::event::Kind;
use model::view::{NoteBody, RunView};
use model::{ConversationId, Json, RunId};
use serde::{Deserialize, Serialize};

use super::answers::Heard;
use super::caller::Caller;
use super::sides;
use crate::spoken::Spoken;

/// The agent's own event that says how the caller of a run is known again.
const CALLER: &str = "remote_caller";

/// That which says that this caller hung up, and that the run went on.
const LEFT: &str = "remote_caller_left";

/// What is remembered of a run that a caller began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Where it was begun: a fork that somebody else makes of that has this too, and is not meant.
    pub(super) conversation: ConversationId,
    #[serde(flatten)]
    pub(super) meant: Meant,
}

/// By what a conversation is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meant {
    /// Its caller calls it so, and it is a fork of what was called so.
    Thread(ConversationId),
    History(History),
}

/// What a caller has said who names no conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct History {
    /// Stands for the agent and all that was said before the answer.
    pub(super) asked: String,
    /// What the answer began with before the run: calls of the caller's own came between.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) before: String,
    /// Makes the same keys look different each time.
    pub(super) salt: String,
    pub(super) caller: String,
}

impl Trace {
    /// Where it was begun.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Of a run in `there`, for a caller who calls that `named`; nothing where that is its name.
    pub fn of_thread(named: ConversationId, there: &ConversationId) -> Option<Self> {
        (named != *there).then(|| Self { conversation: there.clone(), meant: Meant::Thread(named) })
    }

    /// Of a run in `there`, where that goes on which its caller calls `named`.
    pub fn goes_on_in(named: &ConversationId, there: &ConversationId) -> Self {
        Self { conversation: there.clone(), meant: Meant::Thread(named.clone()) }
    }

    /// Of a run in `there` that answers `messages`.
    ///
    /// `salt` is any random number.
    pub fn of_history(
        (agent, caller): (&str, &Caller),
        messages: &[Spoken],
        there: &ConversationId,
        salt: u64,
    ) -> Self {
        let (asked, before) = sides::asked(agent, messages);
        let history =
            History { asked: hex(asked), before, salt: hex(salt), caller: hex(caller.sealed(salt)) };
        Self { conversation: there.clone(), meant: Meant::History(history) }
    }

    /// As it stands in the run.
    pub fn note(&self) -> Kind {
        Kind::Custom { name: CALLER.into(), value: Json::of(self) }
    }

    /// What stands in a run that goes on when this caller of it has hung up; nothing where the caller names its
    /// conversation.
    pub fn left(&self) -> Option<Kind> {
        let Meant::History(history) = &self.meant else { return None };
        Some(Kind::Custom { name: LEFT.into(), value: Json::of(&history.salt) })
    }
}

/// What a caller had begun.
#[derive(Debug)]
pub struct Found {
    /// How the caller is known again.
    pub trace: Trace,
    /// What it began.
    pub(super) run: RunId,
    /// When, in milliseconds since 1970.
    pub at: u64,
    pub(super) heard: Heard,
}

/// The callers of a run. One that hung up has a part of the answer, and so has each whose connection ended with the hub, which `stopped`
/// is the code of.
pub fn begun(id: &RunId, run: &RunView, stopped: &str) -> Vec<Found> {
    let is_cut = |body: &NoteBody| matches!(body, NoteBody::Error(error) if error.code == stopped);
    let was_cut = run.is_running() || run.notes.iter().any(|note| is_cut(&note.body));
    let custom = run.notes.iter().filter_map(|note| match &note.body {
        NoteBody::Custom { name, value } => Some((note.at, name.as_str(), value.as_str())),
        _ => None,
    });
    let has_left = |trace: &Trace| {
        let left = trace.left();
        custom.clone().any(|(_, name, value)| {
            name == LEFT && matches!(&left, Some(Kind::Custom { value: salt, .. }) if salt.as_str() == value)
        })
    };
    let traces = custom.clone().filter(|(_, name, _)| *name == CALLER);
    let traces = traces.filter_map(|(at, _, value)| Some((at, serde_json::from_str::<Trace>(value).ok()?)));
    let found = traces.map(|(at, trace)| {
        let heard = if was_cut || has_left(&trace) { Heard::Part } else { Heard::All };
        Found { trace, run: id.clone(), at, heard }
    });
    found.collect()
}

/// A number as it stands in a trace.
pub(super) fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A number from a trace; 0 where it is none.
pub(super) fn of_hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default()
}
