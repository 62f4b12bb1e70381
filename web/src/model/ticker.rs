//! What the wall shows of each conversation beside its row: the newest activities, the last words, and how fast it
//! writes. All of it is taken from the rows of the list, so that the wall needs no further subscriptions.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;
use model::ConversationId;
use model::event::RunStatus;
use model::frame::ConversationRow;

use crate::fleet;
use crate::wall::{LINES, Pulse, stitch};

/// What is kept of one conversation.
#[derive(Debug, Default)]
struct Ticker {
    /// The newest activities, at most [`LINES`], the newest last.
    lines: VecDeque<String>,
    /// The last words of the run that goes on; empty when none does.
    words: String,
    /// When that run began, in milliseconds since 1970.
    run: u64,
    /// How fast it writes, from the second row on that says how much it wrote.
    pulse: Option<Pulse>,
}

/// The tickers by conversation.
#[derive(Debug, Default)]
pub(super) struct Tickers(IndexMap<ConversationId, Ticker>);

impl Tickers {
    /// Takes a row that came at `at` by the hub's clock, in milliseconds since 1970. The activity is added unless it is
    /// the same as the last line.
    pub(super) fn take(&mut self, row: &ConversationRow, at: u64) {
        let ticker = self.0.entry(row.conversation.clone()).or_default();
        let line = fleet::activity(row);
        if ticker.lines.back() != Some(&line) {
            if ticker.lines.len() >= LINES {
                ticker.lines.pop_front();
            }
            ticker.lines.push_back(line);
        }
        let is_running = row.state == Some(RunStatus::Running);
        if !is_running || ticker.run != row.started_at {
            ticker.words.clear();
        }
        ticker.run = row.started_at;
        if is_running && let Some(said) = &row.said {
            ticker.words = stitch(&ticker.words, said);
        }
        match &mut ticker.pulse {
            Some(pulse) => pulse.take(at, row.written),
            None if is_running => ticker.pulse = Some(Pulse::begin(at, row.written)),
            None => {}
        }
    }

    /// Forgets all conversations that are not among `rows`.
    pub(super) fn keep_those_of(&mut self, rows: &[ConversationRow]) {
        let there: HashSet<&ConversationId> = rows.iter().map(|row| &row.conversation).collect();
        self.0.retain(|conversation, _| there.contains(conversation));
    }

    /// The activities of a conversation, the newest last.
    pub(super) fn lines(&self, conversation: &ConversationId) -> Vec<String> {
        self.0.get(conversation).into_iter().flat_map(|ticker| &ticker.lines).cloned().collect()
    }

    /// The last words of its running run; empty if there is none.
    pub(super) fn words(&self, conversation: &ConversationId) -> &str {
        self.0.get(conversation).map_or("", |ticker| &ticker.words)
    }

    /// How fast it writes; `None` as long as nobody has said.
    pub(super) fn pulse(&self, conversation: &ConversationId) -> Option<&Pulse> {
        self.0.get(conversation)?.pulse.as_ref()
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
            tickers.take(&row(line), 0);
        }
        let a = ConversationId::parse("a").unwrap();
        assert_eq!(tickers.lines(&a), ["1", "3", "4"]);
        tickers.keep_those_of(&[]);
        assert_eq!(tickers.lines(&a), Vec::<String>::new());
    }

    #[test]
    fn words_and_speed_are_those_of_the_run_that_goes_on() {
        let mut tickers = Tickers::default();
        let a = ConversationId::parse("a").unwrap();
        let told = |said: &str, written, started_at| ConversationRow {
            said: Some(said.to_owned()),
            written,
            started_at,
            ..row("working")
        };
        tickers.take(&told("I read", 6, 1), 10_000);
        tickers.take(&told("I read the list", 15, 1), 10_500);
        assert_eq!(tickers.words(&a), "I read the list");
        assert_eq!(tickers.pulse(&a).map(|pulse| pulse.recent(10_500)), Some(9));
        tickers.take(&told("Next", 4, 2), 11_000);
        assert_eq!(tickers.words(&a), "Next");
        assert_eq!(tickers.pulse(&a).map(|pulse| pulse.recent(11_000)), Some(13));
        let over = ConversationRow { state: Some(RunStatus::Complete), ..told("Next", 4, 2) };
        tickers.take(&over, 11_500);
        assert_eq!(tickers.words(&a), "");
    }
}
