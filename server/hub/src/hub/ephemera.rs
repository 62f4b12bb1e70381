//! Ephemeral events, of which only the newest counts: progress of calls, token rates. They have no seq and are
//! not logged.

use std::sync::Arc;

use indexmap::IndexMap;
use model::event::Kind;
use model::limits::EPHEMERA_MAX;
use model::{Envelope, RunId, ToolCallId};

/// What an event replaces: an older one with the same run and tool call.
type FactKey = (RunId, Option<ToolCallId>);

/// The newest event for each key, in order of arrival; at most `EPHEMERA_MAX` of them. Owned by its
/// conversation.
#[derive(Debug, Default)]
pub(crate) struct Ephemera {
    /// Each event with its tick.
    newest: IndexMap<FactKey, (u64, Arc<Envelope>)>,
    /// How many events came so far. A viewer's cursor has the tick up to which it has seen them.
    tick: u64,
}

impl Ephemera {
    /// The number of the newest event.
    pub(crate) fn tick(&self) -> u64 {
        self.tick
    }

    /// Adds an event in the place of an older one with its key. Beyond the limit the oldest event is dropped.
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

    /// Drops the events of a run that has ended.
    pub(crate) fn forget(&mut self, run: &RunId) {
        if !self.newest.is_empty() {
            self.newest.retain(|(of, _), _| of != run);
        }
    }

    /// The events that came after `tick`, the oldest first.
    pub(crate) fn after(&self, tick: u64) -> Vec<Arc<Envelope>> {
        if tick >= self.tick {
            return Vec::new();
        }
        let newer = self.newest.values().filter(|(at, _)| *at > tick);
        newer.map(|(_, envelope)| Arc::clone(envelope)).collect()
    }
}
