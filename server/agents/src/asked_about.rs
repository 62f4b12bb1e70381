//! The arguments about which a person is asked.

use std::collections::HashMap;

use compact_str::CompactString;
use model::ToolCallId;
use model::digest::digest;
use parking_lot::Mutex;

/// For each call of a run that waits or waited for consent: the hash of the arguments that the person was
/// asked about. At most as many as the run has calls. Shared by the run and by the doors through which people
/// answer.
#[derive(Debug, Default)]
pub(crate) struct AskedAbout(Mutex<HashMap<ToolCallId, CompactString>>);

impl AskedAbout {
    /// Notes that a person is asked about `tool` with these arguments. False if they differ from those of an
    /// earlier question.
    pub(crate) fn remember(&self, tool: &ToolCallId, arguments: &str) -> bool {
        let now = digest(arguments);
        let before = self.0.lock().insert(tool.clone(), now.clone());
        before.is_none_or(|before| before == now)
    }

    /// Does the same, but keeps what an earlier question has noted.
    pub(crate) fn remember_once(&self, tool: &ToolCallId, arguments: &str) {
        let mut asked = self.0.lock();
        if !asked.contains_key(tool) {
            asked.insert(tool.clone(), digest(arguments));
        }
    }

    /// The hash of the arguments that a person was asked about.
    pub(crate) fn of(&self, tool: &ToolCallId) -> Option<CompactString> {
        self.0.lock().get(tool).cloned()
    }
}
