//! The ids of calls: models that number theirs begin anew with each answer, and a run has each id once.

use std::collections::{HashMap, HashSet};

use model::{Kind, ToolCallId};

/// Gives each call of a run an id that no other call of it has.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    used: HashSet<ToolCallId>,
    /// In this answer, what the model calls it and what we do.
    here: HashMap<ToolCallId, ToolCallId>,
}

impl Ids {
    /// These are taken.
    pub(crate) fn taken<'a>(&mut self, ids: impl Iterator<Item = &'a ToolCallId>) {
        self.used.extend(ids.cloned());
    }

    /// Another answer begins.
    pub(crate) fn next_answer(&mut self) {
        self.here.clear();
    }

    /// What the model calls `given` in this answer is that call.
    pub(crate) fn carry(&mut self, given: &str, own: ToolCallId) {
        self.here.insert(ToolCallId::new(given), own);
    }

    /// Gives the call that `kind` is about its own id.
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

/// The call that `kind` is about.
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
