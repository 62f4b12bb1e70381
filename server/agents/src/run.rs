//! One run of an agent: where it is, and what comes to it from outside.

use compact_str::CompactString;
use model::event::ToolResult;
use model::view::RunView;
use model::{ConversationId, Json, RunId, ToolCallId};
use tokio::sync::mpsc;

/// What the runs of the hub's own agents name as their dialect.
pub(crate) const RUNNER: &str = "runner";

/// The failure of runs that the hub ended because it stopped; they can go on.
pub const HUB_STOPPED: &str = "hub_stopped";

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunAddress {
    /// The conversation.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
}

/// What a person says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may be executed, with these arguments where they are changed.
    Yes {
        /// JSON text.
        arguments: Option<String>,
    },
    /// It may not. The model is told why.
    No {
        /// In the person's words.
        why: Option<String>,
    },
}

/// What comes to a run from outside.
#[derive(Debug)]
pub(crate) enum Word {
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// Somebody said something in the conversation: the model is told with its next request.
    MessagePublished,
}

/// A call that is to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Execute {
    /// The call.
    pub(crate) tool: ToolCallId,
    /// The name of the tool.
    pub(crate) name: CompactString,
    /// Its arguments: JSON text as the model wrote it, or as a person changed it.
    pub(crate) arguments: String,
    /// How long it waited since it was written, in milliseconds.
    pub(crate) queued_ms: u64,
}

/// The result of a call that failed with nothing but a reason.
pub(crate) fn failed(tool: ToolCallId, why: &str) -> ToolResult {
    ToolResult::new(tool, Json::string(why), true)
}

/// Whether something was said that came too late for a run that is over. Nothing more can be told it from now on.
pub(crate) fn left_unheard(words: &mut mpsc::Receiver<Word>) -> bool {
    words.close();
    std::iter::from_fn(|| words.try_recv().ok()).any(|word| matches!(word, Word::MessagePublished))
}

/// Whether the hub itself does the run, or did.
pub fn is_of_runner(run: &RunView) -> bool {
    run.own && run.dialect.as_deref() == Some(RUNNER)
}

#[cfg(test)]
mod tests;
