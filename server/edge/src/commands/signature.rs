//! Who commanded something: an event `custom` of the hub in the run that it was about, so that everybody who may see names reads it there, now
//! and later. The envelope says that the hub wrote it (`by_hub`), which nobody else can. Roles are not shown it, as no event `custom`.
//!
//! ```json
//! {"k": "custom", "run": "r7", "name": "fanlight.command",
//!  "value": {"by": "ann", "command": "approve", "tool": "t9"}}
//! ```

use event_log::clock;
use hub::{Fanout, Publication};
use model::command::{COMMANDED, CommandAction, Done};
use model::{Envelope, Event, Json, Kind, View};
use serde::Serialize;

/// What the conversation notes of a command: who gave it, and what about.
#[derive(Debug, Serialize)]
pub(super) struct Signature {
    /// The name of the principal.
    by: String,
    /// The command: say, stop, approve, reject, retry, fork.
    command: &'static str,
    /// The call that it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Whether somebody changed what was there: the arguments of a call, or a message that is asked again in a fork. Absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    edited: bool,
}

/// What is noted of a command of `who`.
pub(super) fn of(who: &str, action: &CommandAction) -> Signature {
    let (command, tool) = match action {
        CommandAction::Say { .. } => ("say", None),
        CommandAction::Stop { .. } => ("stop", None),
        CommandAction::Approve { tool, .. } => ("approve", Some(tool)),
        CommandAction::Reject { tool, .. } => ("reject", Some(tool)),
        CommandAction::Retry { .. } => ("retry", None),
        CommandAction::Label { .. } | CommandAction::Rate { .. } => ("label", None),
        CommandAction::Fork { .. } => ("fork", None),
    };
    let edited = match action {
        CommandAction::Approve { arguments, .. } => arguments.is_some(),
        CommandAction::Fork { before, text, .. } => before.is_some() && text.is_some(),
        _ => false,
    };
    Signature { by: who.to_owned(), command, tool: tool.map(|tool| tool.as_str().to_owned()), edited }
}

/// Publishes it in the run that the command was about, also when that is over; after a fork in which nothing was asked, in the newest run that
/// was copied. Where there is no run the audit log alone has the name. What cannot be published is said in the trace: the command is done.
pub(super) fn leave(fanout: &Fanout, done: &Done, signature: &Signature) {
    let Ok(Some(found)) = fanout.hub().find(&done.conversation) else { return };
    let newest = |view: &View| view.runs.last().map(|(id, _)| id.clone());
    let Some(run) = done.run.clone().or_else(|| found.read_view(newest)) else { return };
    let event = Event::new(&run, Kind::Custom { name: COMMANDED.into(), value: Json::of(signature) });
    let now = clock::now_ms();
    let event = Envelope { event, seq: 0, at: now, producer_at: None, publisher: None, by_hub: true };
    let conversation = &done.conversation;
    if let Err(error) = fanout.publish(conversation, Publication::beside(vec![event])) {
        tracing::warn!(%error, %conversation, "who commanded something was not noted in the conversation");
    }
}
