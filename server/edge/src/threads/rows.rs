//! Metadata that clients give their threads. It is kept in memory only, and is all that exists of a thread in
//! which nothing was said yet.

use indexmap::IndexMap;
use model::ConversationId;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use event_log::clock;

/// Most threads with metadata. Beyond them, the one that was touched longest ago is forgotten.
const ROWS_MAX: usize = 10_000;

/// The longest metadata of a thread, in bytes of JSON.
pub(crate) const METADATA_BYTES_MAX: usize = 64 << 10;

/// The threads that clients have created or described, the one touched longest ago first; at most
/// [`ROWS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Rows(Mutex<IndexMap<ConversationId, Row>>);

/// What is known of one thread; times are in milliseconds since 1970.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// What clients gave it, at most [`METADATA_BYTES_MAX`] for each request.
    pub(crate) metadata: Map<String, Value>,
    /// When the thread was first created or described.
    pub(crate) created_at: u64,
    /// When the thread was last described.
    pub(crate) updated_at: u64,
}

impl Rows {
    /// The metadata of a thread, if it was created or described.
    pub(crate) fn get(&self, thread: &ConversationId) -> Option<Row> {
        self.0.lock().get(thread).cloned()
    }

    /// Adds metadata to a thread, which is created if necessary.
    pub(crate) fn describe(&self, thread: &ConversationId, metadata: Map<String, Value>) -> Row {
        let (mut rows, now) = (self.0.lock(), clock::now_ms());
        let mut row = rows.shift_remove(thread).unwrap_or_else(|| Row { created_at: now, ..Row::default() });
        row.updated_at = now;
        row.metadata.extend(metadata);
        if rows.len() >= ROWS_MAX {
            rows.shift_remove_index(0);
        }
        rows.insert(thread.clone(), row.clone());
        row
    }

    /// Forgets the metadata of a thread.
    pub(crate) fn forget(&self, thread: &ConversationId) {
        self.0.lock().shift_remove(thread);
    }

    /// All threads, the last touched first.
    pub(crate) fn all(&self) -> Vec<(ConversationId, Row)> {
        self.0.lock().iter().rev().map(|(id, row)| (id.clone(), row.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ROWS_MAX, Rows};
    use model::ConversationId;

    fn id(name: &str) -> ConversationId {
        ConversationId::parse(name).unwrap()
    }

    #[test]
    fn the_thread_that_was_touched_longest_ago_is_forgotten_first() {
        let rows = Rows::default();
        for number in 0..ROWS_MAX {
            rows.describe(&id(&format!("t{number}")), serde_json::Map::new());
        }
        rows.describe(&id("t0"), serde_json::Map::new());
        rows.describe(&id("one-more"), serde_json::Map::new());
        assert!(rows.get(&id("t0")).is_some() && rows.get(&id("t1")).is_none());
        assert_eq!(rows.all().len(), ROWS_MAX);
    }
}
