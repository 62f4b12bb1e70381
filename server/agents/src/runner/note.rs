//! Notes: what comes to a run of the hub's own loop from its model and its tools.

use compact_str::CompactString;
use model::Event;
use model::event::{ErrorFact, ToolProgress, ToolResult};

/// A note from a request to the model, or from the call of a tool.
#[derive(Debug)]
pub(crate) enum Note {
    /// The model says something; with the number of the request.
    Events(u64, Vec<Event>),
    /// The answer to a request is over, or did not begin; with the failure, if there was one.
    Silent(u64, Option<ErrorFact>),
    /// A call reports its progress.
    Progress(ToolProgress),
    /// A call is over.
    Done(ToolResult),
    /// Servers whose tools cannot be used, each with the reason.
    Missing(Vec<(CompactString, String)>),
}
