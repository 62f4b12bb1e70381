//! The list of conversations: the newest ones as the hub sends them, their changes, and older ones that the
//! reader loads.

use indexmap::IndexMap;
use model::ConversationId;
use model::frame::ConversationRow;
use serde::Deserialize;

use super::Model;
use crate::search::encoded;

/// How many older rows are requested at a time.
const OLDER_ROWS: usize = 500;

/// A page of the list, from `GET /v1/conversations`.
#[derive(Deserialize)]
struct Page {
    conversations: Vec<ConversationRow>,
    total: u64,
}

impl Model {
    /// The list by conversation; `None` before the hub has sent it.
    pub fn fleet(&self) -> Option<&IndexMap<ConversationId, ConversationRow>> {
        self.has_fleet.then_some(&self.fleet)
    }

    /// The number of conversations at the hub, at least that of the known rows.
    pub fn total(&self) -> u64 {
        self.total.max(self.fleet.len() as u64)
    }

    /// The end of the list: the time and the id of its last row.
    pub fn fleet_end(&self) -> Option<&(u64, ConversationId)> {
        self.older_than.as_ref()
    }

    /// Takes rows from the hub: the whole list if `is_full`, otherwise those that changed. `at` is the hub's time, in
    /// milliseconds since 1970.
    pub(super) fn take_rows(&mut self, is_full: bool, rows: &mut Vec<ConversationRow>, total: u64, at: u64) {
        if is_full {
            // The hub may have removed conversations, also older ones that were loaded.
            self.fleet.clear();
            self.older_than = last_of(rows);
            self.tickers.keep_those_of(rows);
        }
        for row in &*rows {
            self.tickers.take(row, at);
        }
        self.fleet.extend(rows.drain(..).map(|row| (row.conversation.clone(), row)));
        self.total = total;
        self.has_fleet = true;
        self.touched.fleet = true;
    }

    /// Takes out the rows of conversations that were deleted.
    pub(super) fn lose_rows(&mut self, gone: &[ConversationId]) {
        for id in gone {
            self.touched.fleet |= self.fleet.shift_remove(id).is_some();
        }
    }

    /// The path that returns the next older conversations; `None` if there are none.
    pub fn older_path(&self) -> Option<String> {
        // Not the oldest known row: a conversation that the reader opened may be much older than the rest of
        // the list.
        let (at, conversation) = self.older_than.as_ref()?;
        let after = encoded(&format!("{at}:{conversation}"));
        (self.total > self.fleet.len() as u64)
            .then(|| format!("/v1/conversations?limit={OLDER_ROWS}&archived=all&after={after}"))
    }

    /// Takes the hub's answer; false if it cannot be read. Known rows are newer and stay.
    pub fn take_older(&mut self, answer: &str) -> bool {
        let Ok(Page { conversations, total }) = serde_json::from_str(answer) else { return false };
        // An empty page means that all are known.
        self.older_than = last_of(&conversations);
        self.total = if conversations.is_empty() { self.fleet.len() as u64 } else { total };
        for row in conversations {
            self.fleet.entry(row.conversation.clone()).or_insert(row);
        }
        self.touched.fleet = true;
        true
    }
}

/// The last of `rows`, after which the hub's next page begins. Pinned ones stand before the others, whatever their time.
fn last_of(rows: &[ConversationRow]) -> Option<(u64, ConversationId)> {
    let others = rows.iter().filter(|row| !row.pinned);
    let last = others.max_by_key(|row| (std::cmp::Reverse(row.at), &row.conversation))?;
    Some((last.at, last.conversation.clone()))
}
