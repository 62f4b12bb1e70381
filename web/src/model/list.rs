//! The list of conversations as the hub sends it: the newest of them, then what changes; older ones as far as the reader
//! pages on.

use indexmap::IndexMap;
use model::ConversationId;
use model::frame::ConversationRow;
use serde::Deserialize;

use super::Model;
use crate::search::encoded;

/// Rows that are asked for at once.
const OLDER_ROWS: usize = 500;

/// A page of the list, as `GET /v1/conversations` answers.
#[derive(Deserialize)]
struct Page {
    conversations: Vec<ConversationRow>,
    total: u64,
}

impl Model {
    /// The list, by name; nothing before the hub has sent it.
    pub fn fleet(&self) -> Option<&IndexMap<ConversationId, ConversationRow>> {
        self.has_fleet.then_some(&self.fleet)
    }

    /// How many conversations the hub has in all; never fewer than there are rows.
    pub fn total(&self) -> u64 {
        self.total.max(self.fleet.len() as u64)
    }

    /// Where the list ends: the time and the name of its last row.
    pub fn fleet_end(&self) -> Option<&(u64, ConversationId)> {
        self.older_than.as_ref()
    }

    /// Takes rows: all that the hub sends, or those that changed.
    pub(super) fn take_rows(&mut self, is_full: bool, rows: &mut Vec<ConversationRow>, total: u64) {
        if is_full {
            // Some may be gone, also of those that were paged to.
            self.fleet.clear();
            self.older_than = last_of(rows);
            self.tickers.keep_those_of(rows);
        }
        for row in &*rows {
            self.tickers.take(row);
        }
        self.fleet.extend(rows.drain(..).map(|row| (row.conversation.clone(), row)));
        self.total = total;
        self.has_fleet = true;
        self.touched.fleet = true;
    }

    /// Where to ask for conversations that are older than all rows; nothing when there are none.
    pub fn older_path(&self) -> Option<String> {
        // Not behind the oldest row that is known: one that somebody looked at may be far behind those of the list.
        let (at, conversation) = self.older_than.as_ref()?;
        let after = encoded(&format!("{at}:{conversation}"));
        (self.total > self.fleet.len() as u64)
            .then(|| format!("/v1/conversations?limit={OLDER_ROWS}&after={after}"))
    }

    /// Takes what the hub answered there; false where that is not a list. What is known already is newer.
    pub fn take_older(&mut self, answer: &str) -> bool {
        let Ok(Page { conversations, total }) = serde_json::from_str(answer) else { return false };
        // Where there is nothing behind, all are known.
        self.older_than = last_of(&conversations);
        self.total = if conversations.is_empty() { self.fleet.len() as u64 } else { total };
        for row in conversations {
            self.fleet.entry(row.conversation.clone()).or_insert(row);
        }
        self.touched.fleet = true;
        true
    }
}

/// The row behind which the hub goes on.
fn last_of(rows: &[ConversationRow]) -> Option<(u64, ConversationId)> {
    let last = rows.iter().max_by_key(|row| (std::cmp::Reverse(row.at), &row.conversation))?;
    Some((last.at, last.conversation.clone()))
}
