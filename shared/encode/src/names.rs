//! Ids that are unique in a whole stream: those of parts and calls are so only within their run.

use std::collections::HashMap;

use model::ids::RunId;
use model::limits::ITEMS_PER_RUN_MAX;

/// Who has which id. The first keeps its own; another run's gets the run's id in front.
#[derive(Debug, Default)]
pub(super) struct UniqueIds {
    owners: HashMap<String, RunId>,
}

impl UniqueIds {
    /// The id of `id` of `run`, the same each time.
    pub(super) fn of(&mut self, run: &RunId, id: &str) -> String {
        match self.owners.get(id) {
            Some(owner) if owner == run => id.to_owned(),
            Some(_) => format!("{run}-{id}"),
            None => {
                if self.owners.len() >= ITEMS_PER_RUN_MAX {
                    self.owners.clear();
                }
                self.owners.insert(id.to_owned(), run.clone());
                id.to_owned()
            }
        }
    }
}
