//! Filters the rows of the list by what a viewer may see. A viewer that may not see all conversations learns of the others neither by a row nor by a
//! count.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use event_log::{ListQuery, LogError};
use model::frame::ConversationRow;
use model::limits::FLEET_ROWS_MAX;
use model::{ConversationId, Mask};

use super::{Hub, ListPage};

/// The rows of the list that a viewer may see, and how many of them were found so far. Clones share the
/// count.
#[derive(Clone)]
pub struct SeenRows {
    /// Decides for each conversation; called under locks, so it must be quick.
    is_seen: Arc<dyn Fn(&ConversationId) -> bool + Send + Sync>,
    /// What is hidden of the rows that are shown.
    mask: Option<Arc<Mask>>,
    /// The highest number of rows that was found at once.
    count: Arc<AtomicU64>,
}

impl fmt::Debug for SeenRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeenRows")
    }
}

impl SeenRows {
    /// Allows the conversations for which `is_seen` returns true.
    pub fn new(is_seen: impl Fn(&ConversationId) -> bool + Send + Sync + 'static) -> Self {
        Self { is_seen: Arc::new(is_seen), mask: None, count: Arc::default() }
    }

    /// Adds a mask: what it hides of a row is left out.
    #[must_use]
    pub fn masked(self, mask: Option<Arc<Mask>>) -> Self {
        Self { mask, ..self }
    }

    /// The row as it is shown; nothing where it is not.
    pub(crate) fn shown(&self, row: ConversationRow) -> Option<ConversationRow> {
        if !self.has(&row.conversation) {
            return None;
        }
        Some(match &self.mask {
            None => row,
            Some(mask) => mask.row(row),
        })
    }

    /// Whether the viewer may see this conversation.
    pub fn has(&self, conversation: &ConversationId) -> bool {
        (self.is_seen)(conversation)
    }

    /// The highest number of rows that was found at once: a lower bound of how many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Notes that at least `count` rows were found.
    pub(crate) fn are(&self, count: usize) {
        self.count.fetch_max(count as u64, Ordering::Relaxed);
    }
}

impl Hub {
    /// Returns one page of the list with only those rows that `seen` allows. Reads as many pages of the whole
    /// list as it takes to fill one; waits for the disk if the log keeps a list.
    pub fn list_seen(&self, query: &ListQuery, seen: &SeenRows) -> Result<ListPage, LogError> {
        let wanted = query.limit;
        let mut rows = Vec::new();
        // Pages are read large, because most rows of each may be hidden.
        let mut query = ListQuery { limit: wanted.max(FLEET_ROWS_MAX), ..query.clone() };
        loop {
            let page = self.list(&query)?;
            let last = page.rows.last().map(|row| (row.at, row.conversation.clone()));
            rows.extend(page.rows.into_iter().filter_map(|row| seen.shown(row)));
            if rows.len() > wanted || !page.more || last.is_none() {
                let more = rows.len() > wanted;
                rows.truncate(wanted);
                return Ok(ListPage { rows, more });
            }
            query.after = last;
        }
    }
}
