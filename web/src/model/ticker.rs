//! The newest lines of each conversation, taken from the rows of the list, so that the wall needs no further
//! subscriptions.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;
use model::ConversationId;
use model::frame::ConversationRow;

use crate::fleet;
use crate::wall::LINES;

/// The newest lines by conversation. At most [`LINES`] of each.
#[derive(Debug, Default)]
pub(super) struct Tickers(IndexMap<ConversationId, VecDeque<String>>);

impl Tickers {
    /// Adds the activity of a row, unless it is the same as the last line.
    pub(super) fn take(&mut self, row: &ConversationRow) {
        let line = fleet::activity(row);
        let lines = self.0.entry(row.conversation.clone()).or_default();
        if lines.back() == Some(&line) {
            return;
        }
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Forgets all conversations that are not among `rows`.
    pub(super) fn keep_those_of(&mut self, rows: &[ConversationRow]) {
        let there: HashSet<&ConversationId> = rows.iter().map(|row| &row.conversation).collect();
        self.0.retain(|conversation, _| there.contains(conversation));
    }

    /// The lines of a conversation, the newest last.
    pub(super) fn lines(&self, conversation: &ConversationId) -> Vec<String> {
        self.0.get(conversation).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is kept.

    use super::*;

    fn row(activity: &str) -> ConversationRow {
        let row = format!(
            r#"{{"conversation":"a","title":null,"state":"running","activity":"{activity}","epoch":"e","head":1,
            "started_at":1,"ended_at":null,"at":1,"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0}}"#
        );
        serde_json::from_str(&row).unwrap()
    }

    #[test]
    fn the_newest_lines_are_kept_and_none_twice_in_a_row() {
        let mut tickers = Tickers::default();
        for line in ["1", "1", "2", "1", "3", "3", "4"] {
            tickers.take(&row(line));
        }
        let a = ConversationId::parse("a").unwrap();
        assert_eq!(tickers.lines(&a), ["1", "3", "4"]);
        tickers.keep_those_of(&[]);
        assert_eq!(tickers.lines(&a), Vec::<String>::new());
    }
}
