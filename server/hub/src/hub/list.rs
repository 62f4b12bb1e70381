//! The list of conversations: those in memory as they are now, the others as the log has them.

use std::cmp::Reverse;
use std::sync::Arc;

use event_log::{ListQuery, LogError};
use model::ConversationId;
use model::frame::ConversationRow;

use super::recency::ListPlace;
use super::{Hub, SeenRows};

/// One page of the list.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The rows, newest activity first.
    pub rows: Vec<ConversationRow>,
    /// Whether more rows follow.
    pub more: bool,
}

impl Hub {
    /// Returns one page of the list. Waits for the disk if the log keeps a list.
    pub fn list(&self, query: &ListQuery) -> Result<ListPage, LogError> {
        let mut rows = self.rows_in_memory(query);
        if self.log.indexes() {
            // What memory has of a conversation is at least as new as what the log has.
            let end = rows.get(query.limit).map(place);
            rows.extend(self.rows_in_log(query, end.as_ref())?);
        }
        // Some may have moved since the order was brought up to date.
        rows.sort_by_cached_key(place);
        let more = rows.len() > query.limit;
        rows.truncate(query.limit);
        Ok(ListPage { rows, more })
    }

    /// Returns one page of the list as people see it: pinned conversations before all others. `query.pinned` narrows it to either; the
    /// page after one that ended among the others asks for `Some(false)`. With `seen` it has only the rows that this allows. Waits for
    /// the disk if the log keeps a list.
    pub fn list_pinned_first(
        &self,
        query: &ListQuery,
        seen: Option<&SeenRows>,
    ) -> Result<ListPage, LogError> {
        let list = |query: &ListQuery| match seen {
            None => self.list(query),
            Some(seen) => self.list_seen(query, seen),
        };
        if query.pinned.is_some() {
            return list(query);
        }
        let mut pinned = list(&ListQuery { pinned: Some(true), ..query.clone() })?;
        if pinned.more {
            return Ok(pinned);
        }
        let limit = query.limit.saturating_sub(pinned.rows.len());
        let others = list(&ListQuery { pinned: Some(false), after: None, limit, ..query.clone() })?;
        pinned.rows.extend(others.rows);
        Ok(ListPage { rows: pinned.rows, more: others.more })
    }

    /// The row of the conversation `id` as it is now; `None` if it is not in memory.
    pub(crate) fn row(&self, id: &ConversationId) -> Option<ConversationRow> {
        let found = self.conversations.get(id).map(|found| Arc::clone(&found))?;
        Some(found.row())
    }

    /// How many conversations there are, in memory and in the log.
    pub fn total(&self) -> u64 {
        let in_memory = self.conversations.len() as u64;
        if !self.log.indexes() {
            return in_memory;
        }
        let stored = self.log.count();
        if stored >= in_memory {
            return stored;
        }
        // The log counts a new conversation up to a second later. One in which nothing was said is only looked at.
        stored.max(self.conversations.iter().filter(|found| found.head() > 0).count() as u64)
    }

    /// The rows from memory, in order: one more than is asked for, if there are as many.
    fn rows_in_memory(&self, query: &ListQuery) -> Vec<ConversationRow> {
        let order = self.order();
        let wanted = |id: &ConversationId| {
            let found = self.conversations.get(id).map(|found| Arc::clone(&found))?;
            // Looked at first, since a row costs more.
            found.read_view(|view| query.wants(&view.label)).then(|| found.row())
        };
        let rows = order.after(query).filter_map(|(_, id)| wanted(id));
        let fits = |row: &ConversationRow| query.state.is_none_or(|wanted| row.state == Some(wanted));
        rows.filter(fits).take(query.limit.saturating_add(1)).collect()
    }

    /// The rows of conversations that are not in memory and may belong to the page: one more than is asked
    /// for at most, and none from `end` on, where the page ends whatever the log has.
    fn rows_in_log(
        &self,
        query: &ListQuery,
        end: Option<&ListPlace>,
    ) -> Result<Vec<ConversationRow>, LogError> {
        let wanted = query.limit.saturating_add(1);
        let mut query = ListQuery { limit: wanted, ..query.clone() };
        let mut rows = Vec::new();
        loop {
            let page = self.log.list(&query)?;
            let Some(last) = page.last() else { return Ok(rows) };
            query.after = Some((last.at, last.conversation.clone()));
            let is_past = end.is_some_and(|end| place(last) >= *end);
            let is_last = page.len() < query.limit || is_past;
            // Rows of conversations in memory are newer than the log's.
            rows.extend(page.into_iter().filter(|row| !self.conversations.contains_key(&row.conversation)));
            if is_last || rows.len() >= wanted {
                rows.truncate(wanted);
                return Ok(rows);
            }
        }
    }
}

/// The place of a row in the list.
fn place(row: &ConversationRow) -> ListPlace {
    (Reverse(row.at), row.conversation.clone())
}

#[cfg(test)]
mod tests;
