//! What a run records of the caller that began it, so that a restarted hub recognizes the caller.

use model::event::Kind;
use model::view::{NoteBody, RunView};
use model::{ConversationId, Json, RunId};
use serde::{Deserialize, Serialize};

use super::answers::ReceivedAnswer;
use super::caller::Caller;
use super::sides;
use crate::spoken::Spoken;

/// The name of the custom event that records how the caller of a run is recognized.
const CALLER: &str = "remote_caller";

/// The name of the custom event that records that this caller hung up and that the run went on.
const LEFT: &str = "remote_caller_left";

/// What is remembered of a run that a caller began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The conversation in which the run was begun. A fork that somebody makes of it contains the trace too;
    /// the trace does not apply there.
    pub(super) conversation: ConversationId,
    #[serde(flatten)]
    pub(super) meant: Meant,
}

/// What a conversation is recognized by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meant {
    /// The name that the caller uses. The conversation is a fork of the one that has this name.
    Thread(ConversationId),
    /// The history that the caller sends, and what distinguishes the caller.
    History(History),
}

/// The history that was sent by a caller who names no conversation. Numbers are in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct History {
    /// The hash of the agent and of all that was said before the answer.
    pub(super) asked: String,
    /// The words of the answer before this run, where the caller's own calls came in between.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) before: String,
    /// A random number, so that the same caller has another hash in each run.
    pub(super) salt: String,
    /// The salted hash of what the caller sends (`Caller::sealed`).
    pub(super) caller: String,
}

impl Trace {
    /// The conversation in which the run was begun.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// The trace of a run in `there`, for a caller who names the conversation `named`. Nothing where that is
    /// its name, since nothing has to be remembered then.
    pub fn of_thread(named: ConversationId, there: &ConversationId) -> Option<Self> {
        (named != *there).then(|| Self { conversation: there.clone(), meant: Meant::Thread(named) })
    }

    /// The trace of a run in `there`, the conversation in which the one that its caller names `named` goes
    /// on.
    pub fn goes_on_in(named: &ConversationId, there: &ConversationId) -> Self {
        Self { conversation: there.clone(), meant: Meant::Thread(named.clone()) }
    }

    /// The trace of a run in `there` that answers `messages`. `salt` is any random number.
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

    /// The event that records the trace in the run.
    pub fn note(&self) -> Kind {
        Kind::Custom { name: CALLER.into(), value: Json::of(self) }
    }

    /// The event that records that this caller hung up and that the run goes on. Nothing where the caller
    /// names its conversation.
    pub fn left(&self) -> Option<Kind> {
        let Meant::History(history) = &self.meant else { return None };
        Some(Kind::Custom { name: LEFT.into(), value: Json::of(&history.salt) })
    }
}

/// A run that a caller had begun, read back from its conversation.
#[derive(Debug, Clone)]
pub struct Found {
    /// The trace by which the caller is recognized.
    pub trace: Trace,
    /// The run that it began.
    pub(super) run: RunId,
    /// When it began the run, in milliseconds since 1970.
    pub at: u64,
    pub(super) heard: ReceivedAnswer,
    /// Whether the run goes on, so that what its caller has heard is not known unless this hub serves it.
    pub(super) is_running: bool,
}

/// The callers that began a run, from the traces in it. A caller that hung up has received a part of the
/// answer, and so has each whose connection ended with the hub; `stopped` is the error code of that.
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
        let heard = if was_cut || has_left(&trace) { ReceivedAnswer::Part } else { ReceivedAnswer::All };
        Found { trace, run: id.clone(), at, heard, is_running: run.is_running() }
    });
    found.collect()
}

/// A number as 16 hexadecimal digits, as a trace has it.
pub(super) fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A number from a trace; 0 where the text is no hexadecimal number.
pub(super) fn of_hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default()
}
