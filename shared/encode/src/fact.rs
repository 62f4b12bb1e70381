//! What an encoder is told: events, cleaned of everything that a strict client would choke on.

use model::event::{ErrorFact, Message, ToolProgress};
use model::ids::{AgentId, PartId, RunId, ToolCallId};
use model::json::Json;
use model::view::{AgentView, PartView, RunView, ToolView};

/// Where and when a fact happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactContext<'a> {
    /// The run.
    pub(crate) run_id: &'a RunId,
    /// The run as it stands after the event.
    pub(crate) run: &'a RunView,
    /// The sub-agent whose fact it is; nothing for the main agent.
    pub(crate) agent: Option<&'a AgentId>,
    /// When, in milliseconds since 1970: by the publisher's clock if it said so, else by the hub's. 0 if nobody knows.
    pub(crate) at: u64,
}

/// Something new. Within a run: the run's start comes first, an agent's start before what the agent does, its end
/// after it; a part or a call starts before it goes on; and all are closed before the run is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fact<'a> {
    /// A message of the history.
    Message(&'a Message),
    /// A run begins, or one that had ended goes on.
    RunStart,
    /// More is known about a run.
    RunUpdate,
    /// A run is over: the scene's run says how.
    RunEnd,
    /// A sub-agent begins.
    AgentStart(&'a AgentId, &'a AgentView),
    /// A sub-agent is done.
    AgentEnd(&'a AgentId, &'a AgentView),
    /// A text.
    Part(&'a PartId, &'a PartView, PartStep<'a>),
    /// A call.
    Tool(&'a ToolCallId, &'a ToolView, ToolStep<'a>),
    /// A line about what goes on.
    Status(&'a str),
    /// Something failed that did not end the run: that is told with the run's end.
    Error(&'a ErrorFact),
    /// An event of the agent's own.
    Custom(&'a str, &'a Json),
    /// A foreign event, or one of a later version.
    Raw(&'a str, &'a Json),
}

/// What happened to a text. [`PartStep::Start`] is first, [`PartStep::End`] is told once; text may come after it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PartStep<'a> {
    /// It begins.
    Start,
    /// It goes on. Never empty.
    Delta(&'a str),
    /// What was told of it is no more true: the part's own text is what stands now.
    Replaced,
    /// It is whole, or as whole as it will be.
    End,
}

/// What happened to a call, in this order; all but the start may be missing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolStep<'a> {
    /// The model begins to write it; its name is known.
    Start,
    /// More of the arguments. Never empty.
    Args(&'a str),
    /// Its arguments are final.
    Called,
    /// It waits for a person.
    Asked,
    /// The person has answered: whether it may go on, and why.
    Answered(bool, Option<&'a str>),
    /// It runs.
    Executing,
    /// How far it is.
    Progress(&'a ToolProgress),
    /// It has printed more. Never empty.
    Output(&'a str),
    /// It gave something back. May come after the end of its run.
    Result {
        /// It had given something back before, which this replaces.
        again: bool,
    },
    /// It is over, and nothing came back: the call's state says why.
    Closed,
}

/// How far a call is, as a line: "2/3: Found 10 results".
pub(super) fn progress_line(progress: &ToolProgress) -> String {
    let text = progress.text.as_deref();
    match (progress.current, progress.total, text) {
        (Some(current), Some(total), Some(text)) => format!("{current}/{total}: {text}"),
        (Some(current), Some(total), None) => format!("{current}/{total}"),
        (Some(current), None, None) => current.to_string(),
        (_, _, text) => text.unwrap_or_default().to_owned(),
    }
}
