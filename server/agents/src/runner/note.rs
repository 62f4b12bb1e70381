//! What comes to a run of the hub's own loop from its model and its tools.

use compact_str::CompactString;
use model::Event;
use model::event::{ErrorFact, ToolProgress, ToolResult};

/// What came of a request to the model, or of a call of a tool.
#[derive(Debug)]
pub(crate) enum Note {
    /// The model says something; with the number of the request.
    Events(u64, Vec<Event>),
    /// The answer is over, or was never begun.
    Silent(u64, Option<ErrorFact>),
    /// A call says how far it is.
    Progress(ToolProgress),
    /// A call is over.
    Done(ToolResult),
    /// Servers whose tools are not there, and why.
    Missing(Vec<(CompactString, String)>),
}
