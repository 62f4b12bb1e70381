//! The ids of tool calls. Models that number their calls begin again with each answer, but in a run each id
//! occurs once.
//!
//! ```text
//! answer 1   model says call_0   run has call_0
//! answer 2   model says call_0   run gets call_0.2, whose event keeps `call_0` as the given id
//! ```

use std::collections::{HashMap, HashSet};

use model::{Kind, ToolCallId};

/// Gives each call of a run an id that no other call of the run has. Owned by whoever does the run.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// All ids that the run has used.
    used: HashSet<ToolCallId>,
    /// The model's ids in the present answer, with the ids in the run.
    here: HashMap<ToolCallId, ToolCallId>,
}

impl Ids {
    /// Notes ids that are used already.
    pub(crate) fn taken<'a>(&mut self, ids: impl Iterator<Item = &'a ToolCallId>) {
        self.used.extend(ids.cloned());
    }

    /// Forgets the ids of the answer before.
    pub(crate) fn next_answer(&mut self) {
        self.here.clear();
    }

    /// Makes the id `given` mean the call `own` in the present answer.
    pub(crate) fn carry(&mut self, given: &str, own: ToolCallId) {
        self.here.insert(ToolCallId::new(given), own);
    }

    /// Replaces the id of the call in `kind` by its id in the run.
    pub(crate) fn make_own(&mut self, kind: &mut Kind) {
        let Some(tool) = tool(kind) else { return };
        let given = tool.clone();
        let own = self.here.entry(given.clone()).or_insert_with(|| {
            let numbered = (2_u64..).map(|number| ToolCallId::new(&format!("{given}.{number}")));
            let free = std::iter::once(given.clone()).chain(numbered).find(|id| !self.used.contains(id));
            free.unwrap_or_else(|| given.clone())
        });
        self.used.insert(own.clone());
        if *own != given {
            tool.clone_from(own);
            if let Kind::ToolStart(start) = kind {
                start.given_id.get_or_insert_with(|| given.as_str().into());
            }
        }
    }
}

/// The id of the call in an event.
fn tool(kind: &mut Kind) -> Option<&mut ToolCallId> {
    match kind {
        Kind::ToolStart(start) => Some(&mut start.tool),
        Kind::ToolState(change) => Some(&mut change.tool),
        Kind::ToolResult(result) => Some(&mut result.tool),
        Kind::ToolProgress(progress) => Some(&mut progress.tool),
        Kind::AgentStart(start) => start.tool.as_mut(),
        Kind::ToolArgs { tool, .. }
        | Kind::ToolCall { tool, .. }
        | Kind::ToolOutput { tool, .. }
        | Kind::ApprovalRequest { tool, .. }
        | Kind::ApprovalAnswer { tool, .. } => Some(tool),
        _ => None,
    }
}
