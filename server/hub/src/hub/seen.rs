//! Which conversations somebody is shown in lists, and how. Whoever may not see all of them is told of the others neither by a row nor by a count.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use event_log::{ListQuery, LogError};
use model::frame::ConversationRow;
use model::limits::FLEET_ROWS_MAX;
use model::{ConversationId, Mask};

use super::{Hub, Listed};

/// Which rows of the list a viewer is shown, and how many there are of them. Clones count together.
#[derive(Clone)]
pub struct SeenRows {
    is_seen: Arc<dyn Fn(&ConversationId) -> bool + Send + Sync>,
    mask: Option<Arc<Mask>>,
    count: Arc<AtomicU64>,
}

impl fmt::Debug for SeenRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeenRows")
    }
}

impl SeenRows {
    /// Those of which `is_seen` says so.
    pub fn new(is_seen: impl Fn(&ConversationId) -> bool + Send + Sync + 'static) -> Self {
        Self { is_seen: Arc::new(is_seen), mask: None, count: Arc::default() }
    }

    /// The same, without what `mask` hides of a row.
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

    /// Whether this one is shown.
    pub fn has(&self, conversation: &ConversationId) -> bool {
        (self.is_seen)(conversation)
    }

    /// How many there are, as far as that was found out.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Found out that there are at least `count`.
    pub(crate) fn are(&self, count: usize) {
        self.count.fetch_max(count as u64, Ordering::Relaxed);
    }
}

impl Hub {
    /// A page of the list with those rows alone that `seen` shows. Looks through as many as it takes to fill the page; waits for the disk
    /// where the log keeps a list.
    pub fn list_seen(&self, query: &ListQuery, seen: &SeenRows) -> Result<Listed, LogError> {
        let wanted = query.limit;
        let mut rows = Vec::new();
        // Pages that are not too small: most rows of each may be kept back.
        let mut query = ListQuery { limit: wanted.max(FLEET_ROWS_MAX), ..query.clone() };
        loop {
            let page = self.list(&query)?;
            let last = page.rows.last().map(|row| (row.at, row.conversation.clone()));
            rows.extend(page.rows.into_iter().filter_map(|row| seen.shown(row)));
            if rows.len() > wanted || !page.more || last.is_none() {
                let more = rows.len() > wanted;
                rows.truncate(wanted);
                return Ok(Listed { rows, more });
            }
            query.after = last;
        }
    }
}
