//! Facts: what encoders get instead of events. Everything that a strict client would not accept is removed or
//! put in order, so that a dialect only says how each fact is written. Facts borrow from the view that the
//! teller keeps and are valid during one call.

use model::event::{ErrorFact, Message, ToolProgress};
use model::ids::{AgentId, PartId, RunId, ToolCallId};
use model::json::Json;
use model::view::{AgentView, PartView, RunView, ToolView};

/// The conversation, run, agent and time of a fact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactContext<'a> {
    /// The id of the run.
    pub(crate) run_id: &'a RunId,
    /// The run after the event.
    pub(crate) run: &'a RunView,
    /// The sub-agent whose fact it is; nothing for the main agent.
    pub(crate) agent: Option<&'a AgentId>,
    /// When it happened, in milliseconds since 1970: by the publisher's clock if it said so, else by the
    /// hub's. 0 if unknown.
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
    /// More has become known about a run.
    RunUpdate,
    /// A run is over; the run in the context says how.
    RunEnd,
    /// A sub-agent begins; the values are its id and its view.
    AgentStart(&'a AgentId, &'a AgentView),
    /// A sub-agent has ended.
    AgentEnd(&'a AgentId, &'a AgentView),
    /// A step of a part.
    Part(&'a PartId, &'a PartView, PartStep<'a>),
    /// A step of a tool call.
    Tool(&'a ToolCallId, &'a ToolView, ToolStep<'a>),
    /// A status line of the run.
    Status(&'a str),
    /// A failure that did not end the run. One that did comes with the end of the run.
    Error(&'a ErrorFact),
    /// An event with a name of the agent's own, and its value.
    Custom(&'a str, &'a Json),
    /// A foreign event, or one of a later version.
    Raw(&'a str, &'a Json),
}

/// What happened to a part. [`PartStep::Start`] is first, [`PartStep::End`] comes once; text may come after
/// it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PartStep<'a> {
    /// The part begins.
    Start,
    /// More text. Never empty.
    Delta(&'a str),
    /// The text before is not valid any more: the part has the text that replaces it.
    Replaced,
    /// The part ends, complete or not.
    End,
}

/// What happened to a tool call, in this order. All but the start may be missing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolStep<'a> {
    /// The model begins to write it; its name is known.
    Start,
    /// More of the arguments. Never empty.
    Args(&'a str),
    /// The arguments are final.
    Called,
    /// The call waits for a person's consent.
    Asked,
    /// The person has answered: whether it may go on, and why.
    Answered(bool, Option<&'a str>),
    /// The call is being executed.
    Executing,
    /// The tool reports its progress.
    Progress(&'a ToolProgress),
    /// The tool has printed more. Never empty.
    Output(&'a str),
    /// The call has a result. This may come after the end of its run.
    Result {
        /// The call had a result before, which this one replaces.
        again: bool,
    },
    /// The call is over without a result; its state says why.
    Closed,
}

/// The progress of a call as a line: "2/3: Found 10 results".
pub(super) fn progress_line(progress: &ToolProgress) -> String {
    let text = progress.text.as_deref();
    match (progress.current, progress.total, text) {
        (Some(current), Some(total), Some(text)) => format!("{current}/{total}: {text}"),
        (Some(current), Some(total), None) => format!("{current}/{total}"),
        (Some(current), None, None) => current.to_string(),
        (_, _, text) => text.unwrap_or_default().to_owned(),
    }
}
