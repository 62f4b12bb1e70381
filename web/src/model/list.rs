//! The list of conversations as the hub sends it: the newest of them, then what changes; older ones as far as the reader
//! pages on.

use indexmap::IndexMap;
use serde::Deserialize;
use shared::ConversationId;
use shared::frame::ConversationRow;

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

    /// Takes rows: all that the hub sends, or those that changed.
    pub(super) fn take_rows(&mut self, is_full: bool, rows: &mut Vec<ConversationRow>, total: u64) {
        if is_full {
            // Some may be gone, also of those that were paged to.
            self.fleet.clear();
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
        let rows = self.fleet.values();
        let oldest = rows.max_by_key(|row| (std::cmp::Reverse(row.at), &row.conversation))?;
        let after = encoded(&format!("{}:{}", oldest.at, oldest.conversation));
        (self.total > self.fleet.len() as u64)
            .then(|| format!("/v1/conversations?limit={OLDER_ROWS}&after={after}"))
    }

    /// Takes what the hub answered there; false where that is no list. What is known already is newer.
    pub fn take_older(&mut self, answer: &str) -> bool {
        let Ok(Page { conversations, total }) = serde_json::from_str(answer) else { return false };
        for row in conversations {
            self.fleet.entry(row.conversation.clone()).or_insert(row);
        }
        self.total = total;
        self.touched.fleet = true;
        true
    }
}
