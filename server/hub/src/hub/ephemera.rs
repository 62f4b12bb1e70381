//! Facts of which only the newest counts: progress of calls, token rates. They have no seq and no place in the log.

use std::sync::Arc;

use indexmap::IndexMap;
use model::event::Kind;
use model::limits::EPHEMERA_MAX;
use model::{Envelope, RunId, ToolCallId};

/// What a fact replaces.
type Key = (RunId, Option<ToolCallId>);

/// The newest fact for each key, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Ephemera {
    newest: IndexMap<Key, (u64, Arc<Envelope>)>,
    /// Counts what came, so that a viewer knows what it has seen.
    tick: u64,
}

impl Ephemera {
    /// The number of the newest fact.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    /// Takes a fact; the one that came first is forgotten when there are too many.
    pub(crate) fn put(&mut self, envelope: Arc<Envelope>) {
        self.tick += 1;
        let tool = match &envelope.event.kind {
            Kind::ToolProgress(progress) => Some(progress.tool.clone()),
            _ => None,
        };
        let key = (envelope.event.run.clone(), tool);
        self.newest.shift_remove(&key);
        if self.newest.len() >= EPHEMERA_MAX {
            self.newest.shift_remove_index(0);
        }
        self.newest.insert(key, (self.tick, envelope));
    }

    /// The run is over: nothing of it is news.
    pub(crate) fn forget(&mut self, run: &RunId) {
        if !self.newest.is_empty() {
            self.newest.retain(|(of, _), _| of != run);
        }
    }

    /// What came after `tick`.
    pub(crate) fn after(&self, tick: u64) -> Vec<Arc<Envelope>> {
        if tick >= self.tick {
            return Vec::new();
        }
        let newer = self.newest.values().filter(|(at, _)| *at > tick);
        newer.map(|(_, envelope)| Arc::clone(envelope)).collect()
    }
}
