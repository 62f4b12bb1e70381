//! What a run has asked a person about.

use std::collections::HashMap;

use compact_str::CompactString;
use model::ToolCallId;
use model::digest::digest;
use parking_lot::Mutex;

/// What a run has asked a person about: for each of its calls that waits or waited, the hash of the arguments. At most as many
/// as the run has calls.
#[derive(Debug, Default)]
pub(crate) struct AskedAbout(Mutex<HashMap<ToolCallId, CompactString>>);

impl AskedAbout {
    /// A person is asked about `tool` with these arguments. False where it was asked about it with others before.
    pub(crate) fn remember(&self, tool: &ToolCallId, arguments: &str) -> bool {
        let now = digest(arguments);
        let before = self.0.lock().insert(tool.clone(), now.clone());
        before.is_none_or(|before| before == now)
    }

    /// The same for arguments that cannot have changed since.
    pub(crate) fn remember_once(&self, tool: &ToolCallId, arguments: &str) {
        let mut asked = self.0.lock();
        if !asked.contains_key(tool) {
            asked.insert(tool.clone(), digest(arguments));
        }
    }

    /// The hash of the arguments.
    pub(crate) fn of(&self, tool: &ToolCallId) -> Option<CompactString> {
        self.0.lock().get(tool).cloned()
    }
}
