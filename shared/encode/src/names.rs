//! Makes ids that are unique in a whole stream: the ids of parts and calls are unique only in their run.

use std::collections::HashMap;

use model::ids::RunId;
use model::limits::ITEMS_PER_RUN_MAX;

/// The ids that are used. The first run keeps an id; in another run, the id of the run is put in front. At
/// [`ITEMS_PER_RUN_MAX`] ids all are forgotten, so ids of a longer stream may repeat.
#[derive(Debug, Default)]
pub(super) struct UniqueIds {
    /// The run that has each id.
    owners: HashMap<String, RunId>,
}

impl UniqueIds {
    /// The unique id for `id` of `run`; the same one each time.
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
