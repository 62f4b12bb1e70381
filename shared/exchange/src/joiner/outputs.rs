//! Recognizes tool calls that are the answer itself: frameworks offer the form of their result as a tool, and
//! stop when the model calls it. No later request brings a result, so the end of the run is derived from what
//! the request offers and requires.

use compact_str::CompactString;

use crate::answer::HandedOverCall;
use crate::request::{ModelRequest, OfferedTool};

/// The names that frameworks give to such tools, alone or with an underscore and a type after it: Pydantic
/// AI, smolagents, Google's ADK.
const NAMES: [&str; 3] = ["final_result", "final_answer", "set_model_response"];

/// The description that Pydantic AI gives to them, whatever their names are.
const DESCRIPTION: &str = "The final response which ends this conversation";

/// What a request says about how its loop can end.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputContract {
    /// The tool that the request forces the model to call.
    forced: Option<CompactString>,
    /// The tools that end the loop, recognized by their names or descriptions.
    named: Vec<CompactString>,
    /// The model must call a tool, so that the loop can end with a call alone.
    is_required: bool,
}

/// Whether the calls of an answer are the answer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputVerdict {
    /// The calls are not the answer: the caller executes them.
    No,
    /// The calls are the answer: the request forced the model to call this tool.
    Forced,
    /// The calls are the answer: one of them calls a tool that ends the loop.
    Ends,
    /// The calls may be the answer: the model had to call a tool, so nothing else could be the end, and the tool was never seen to be executed.
    Perhaps,
}

impl OutputContract {
    /// Reads from `request` how its agent loop can end.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let named = request.tools.iter().filter(|tool| is_output(tool));
        Self {
            forced: request.forced.clone(),
            named: named.map(|tool| tool.name.clone()).collect(),
            is_required: request.required,
        }
    }

    /// Decides whether `calls` are the answer itself, in a loop that `has_executed` some tools before.
    pub(super) fn judge(
        &self,
        calls: &[HandedOverCall],
        has_executed: impl Fn(&str) -> bool,
    ) -> OutputVerdict {
        if calls.is_empty() {
            return OutputVerdict::No;
        }
        if self.forced.as_ref().is_some_and(|forced| calls.iter().all(|call| call.name == *forced)) {
            return OutputVerdict::Forced;
        }
        if calls.iter().any(|call| self.is_named(&call.name)) {
            return OutputVerdict::Ends;
        }
        // Where tools that end the loop are known, all others are executed.
        match calls {
            [only]
                if self.is_required && self.named.is_empty() && !only.asks && !has_executed(&only.name) =>
            {
                OutputVerdict::Perhaps
            }
            _ => OutputVerdict::No,
        }
    }

    /// Whether the tool `name` ends the loop.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.named.iter().any(|named| named == name)
    }
}

/// Whether a tool ends the loop, by its name or description.
fn is_output(tool: &OfferedTool) -> bool {
    let is_name = |name: &str| {
        tool.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    NAMES.into_iter().any(is_name)
        || tool.description.as_deref().is_some_and(|description| description.contains(DESCRIPTION))
}
