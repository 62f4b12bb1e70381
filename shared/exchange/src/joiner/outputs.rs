//! Calls that are the answer itself: frameworks offer the form of their result as a tool, and stop when the model calls it.
//! No request follows that would bring a result, so the end of the run is told from what the request asked for.

use compact_str::CompactString;

use crate::answer::HandedOverCall;
use crate::request::{ModelRequest, OfferedTool};

/// What frameworks call such tools, alone or with an underscore and a type behind it: Pydantic AI, smolagents, Google's ADK.
const NAMES: [&str; 3] = ["final_result", "final_answer", "set_model_response"];

/// What Pydantic AI says of them, whatever their names are.
const DESCRIPTION: &str = "The final response which ends this conversation";

/// What a request says about how its loop can end.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputContract {
    /// The one tool that it asks for.
    forced: Option<CompactString>,
    /// The tools that end the loop, by their names or descriptions.
    named: Vec<CompactString>,
    /// The model must call a tool, so that the loop can end with a call alone.
    is_required: bool,
}

/// Whether the calls of an answer are the answer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputVerdict {
    /// They are not.
    No,
    /// The request asked for just this call.
    Forced,
    /// Among them is one that ends the loop.
    Ends,
    /// They may be: nothing else could be the end, and the tool was never seen to be executed.
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

    /// What `calls` are, in a loop that `has_executed` some tools before.
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

fn is_output(tool: &OfferedTool) -> bool {
    let is_name = |name: &str| {
        tool.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    NAMES.into_iter().any(is_name)
        || tool.description.as_deref().is_some_and(|description| description.contains(DESCRIPTION))
}
