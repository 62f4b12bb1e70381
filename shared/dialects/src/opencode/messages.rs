//! Who writes a message: parts name only their message, and whether that is the user's is in the message
//! itself. Messages of a run that is over are sent again (they get titles and summaries) and must not begin
//! another.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::REMEMBERED_MAX;
use model::print::Fingerprint;

/// The messages of a stream, over all its runs.
#[derive(Debug, Default)]
pub(super) struct OpenCodeMessages {
    /// Messages of agents, with the number of the run that each is of; nothing for those of users.
    told: IndexMap<CompactString, Option<u64>>,
    /// The hashes of users' parts, by their ids.
    parts: IndexMap<CompactString, u64>,
    /// The number of runs that have begun.
    runs: u64,
}

impl OpenCodeMessages {
    /// Begins a run: counts it, and forgets messages if there are too many.
    pub(super) fn begin(&mut self) {
        self.runs = self.runs.saturating_add(1);
        if self.told.len() > REMEMBERED_MAX {
            self.told.clear();
        }
        if self.parts.len() > REMEMBERED_MAX {
            self.parts.clear();
        }
    }

    /// Notes that a message is a user's.
    pub(super) fn user(&mut self, id: &str) {
        if self.told.len() <= REMEMBERED_MAX {
            self.told.insert(CompactString::new(id), None);
        }
    }

    /// Whether the message is known to be a user's.
    pub(super) fn is_user(&self, id: &str) -> bool {
        self.told.get(id).is_some_and(Option::is_none)
    }

    /// Notes that a message is one of the open run.
    pub(super) fn assistant(&mut self, id: &str) {
        if self.told.len() <= REMEMBERED_MAX && !self.told.contains_key(id) {
            self.told.insert(CompactString::new(id), Some(self.runs));
        }
    }

    /// Whether an event about an agent's message is of the open run, or begins one. A message that is new and
    /// already complete begins none.
    pub(super) fn may_speak(&self, id: &str, is_running: bool, is_whole: bool) -> bool {
        match self.told.get(id) {
            Some(run) => is_running && *run == Some(self.runs),
            None => is_running || !is_whole,
        }
    }

    /// Whether a part of a user's message is new or has changed.
    pub(super) fn is_news(&mut self, id: &str, content: &str) -> bool {
        let print = Fingerprint::of(&[content]);
        if self.parts.len() > REMEMBERED_MAX {
            return false;
        }
        self.parts.insert(CompactString::new(id), print) != Some(print)
    }
}
