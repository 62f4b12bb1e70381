//! The list of conversations: those in memory as they are now, the others as the log has them.

use std::sync::Arc;

use event_log::{ListQuery, LogError};
use model::ConversationId;
use model::frame::ConversationRow;

use super::{Conversation, Hub};

/// A page of the list.
#[derive(Debug, Default)]
pub struct Listed {
    /// The rows, the newest activity first.
    pub rows: Vec<ConversationRow>,
    /// Whether more follow.
    pub more: bool,
}

/// Where a conversation stands in the list: the later, the further in front; of one moment in the order of the names.
fn place(at: u64, id: &ConversationId) -> (std::cmp::Reverse<u64>, &ConversationId) {
    (std::cmp::Reverse(at), id)
}

impl Hub {
    /// A page of the list. Waits for the disk where the log keeps a list.
    pub fn list(&self, query: &ListQuery) -> Result<Listed, LogError> {
        let mut rows = self.rows_in_memory(query);
        if self.log.indexes() {
            rows.extend(self.rows_in_log(query)?);
            rows.sort_unstable_by(|a, b| place(a.at, &a.conversation).cmp(&place(b.at, &b.conversation)));
        }
        let more = rows.len() > query.limit;
        rows.truncate(query.limit);
        Ok(Listed { rows, more })
    }

    /// The row of the conversation `id` as it is now; nothing for one that is not in memory.
    pub(crate) fn row(&self, id: &ConversationId) -> Option<ConversationRow> {
        let found = self.conversations.get(id).map(|found| Arc::clone(&found))?;
        Some(found.row())
    }

    /// How many conversations there are.
    pub fn total(&self) -> u64 {
        if self.log.indexes() { self.log.count() } else { self.conversations.len() as u64 }
    }

    /// One row more than is asked for, if there are as many.
    fn rows_in_memory(&self, query: &ListQuery) -> Vec<ConversationRow> {
        let after = query.after.as_ref().map(|(at, id)| place(*at, id));
        let all = self.conversations.iter().map(|found| (found.stand(), Arc::clone(&found)));
        let mut wanted: Vec<((u64, _), Arc<Conversation>)> = all
            .filter(|((at, state), found)| {
                let fits = query.state.is_none_or(|wanted| *state == Some(wanted));
                // One in which nothing has happened is only looked at.
                fits && found.head() > 0 && after.is_none_or(|after| place(*at, found.id()) > after)
            })
            .collect();
        wanted.sort_unstable_by(|((a, _), one), ((b, _), other)| {
            place(*a, one.id()).cmp(&place(*b, other.id()))
        });
        wanted.into_iter().take(query.limit.saturating_add(1)).map(|(_, found)| found.row()).collect()
    }

    /// One row more than is asked for of conversations that are not in memory, if there are as many.
    fn rows_in_log(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        let wanted = query.limit.saturating_add(1);
        let mut query = ListQuery { limit: wanted, ..query.clone() };
        let mut rows = Vec::new();
        loop {
            let page = self.log.list(&query)?;
            let Some(last) = page.last() else { return Ok(rows) };
            query.after = Some((last.at, last.conversation.clone()));
            let is_last = page.len() < query.limit;
            // Those in memory are newer than what the log says of them.
            rows.extend(page.into_iter().filter(|row| !self.conversations.contains_key(&row.conversation)));
            if is_last || rows.len() >= wanted {
                rows.truncate(wanted);
                return Ok(rows);
            }
        }
    }
}

#[cfg(test)]
mod tests;
