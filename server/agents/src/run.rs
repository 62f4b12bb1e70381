//! One run of an agent: its address, and what can be said to it.

use compact_str::CompactString;
use model::event::ToolResult;
use model::view::RunView;
use model::{ConversationId, Json, RunId, ToolCallId};
use tokio::sync::mpsc;

/// The dialect that runs of the hub's own loop name.
pub(crate) const RUNNER: &str = "runner";

/// The code of the failure of runs that the hub ended because it stopped. They can be resumed.
pub const HUB_STOPPED: &str = "hub_stopped";

/// The address of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunAddress {
    /// The id of the conversation.
    pub conversation: ConversationId,
    /// The id of the run.
    pub run: RunId,
}

/// A person's answer about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The call may be executed.
    Yes {
        /// Changed arguments, as JSON text; `None` for those of the call.
        arguments: Option<String>,
    },
    /// The call may not be executed. The model is told the reason.
    No {
        /// The person's reason, if one was given.
        why: Option<String>,
    },
}

/// What can be said to a run that goes on.
#[derive(Debug)]
pub(crate) enum Word {
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// Messages were published in the conversation, which the model must get with its next request.
    MessagePublished,
}

/// A call to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Execute {
    /// The id of the tool call.
    pub(crate) tool: ToolCallId,
    /// The name of the tool.
    pub(crate) name: CompactString,
    /// The arguments of the call: JSON text as the model wrote it, or as a person changed it.
    pub(crate) arguments: String,
    /// How long it has waited since it was written, in milliseconds.
    pub(crate) queued_ms: u64,
}

/// The result of a call that failed, with only a reason.
pub(crate) fn failed(tool: ToolCallId, why: &str) -> ToolResult {
    ToolResult::new(tool, Json::string(why), true)
}

/// Whether messages came too late for a run that is over. Afterwards nothing can be said to it.
pub(crate) fn left_unheard(words: &mut mpsc::Receiver<Word>) -> bool {
    words.close();
    std::iter::from_fn(|| words.try_recv().ok()).any(|word| matches!(word, Word::MessagePublished))
}

/// Whether the run is one of the hub's own loop.
pub fn is_of_runner(run: &RunView) -> bool {
    run.own && run.dialect.as_deref() == Some(RUNNER)
}

#[cfg(test)]
mod tests;
