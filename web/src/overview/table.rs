//! The table of runs: its columns, what stands in them, and in which order the rows are. A row is a conversation and tells of its
//! newest run; tokens and money are those of all its runs.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};

use model::event::RunStatus;
use model::frame::ConversationRow;

use crate::fleet::{self, Filter};
use crate::format;

mod sorted;
mod sums;

pub use sorted::{Rows, SortedRows};
pub use sums::RowSums;

/// A column of the table. Its name in the address is [`Column::name`], so names must not change: saved links
/// contain them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The state in a word, by [`fleet::state`]; in this order, what needs somebody comes first.
    State,
    /// The title of the conversation, or its id.
    Title,
    /// The name of the main agent of the newest run.
    Agent,
    /// The model of the newest run.
    Model,
    /// The machine that the agent of the newest run runs on.
    Host,
    /// How long no event has come although a run is active and waits for nothing.
    Silent,
    /// The call that executes, and for how long; the tool that asks for consent if none does.
    Call,
    /// For how long the newest run went on, or goes on.
    Took,
    /// The tokens of all runs.
    Tokens,
    /// What all runs cost.
    Cost,
    /// The number of calls that the newest run made.
    Calls,
    /// How many calls of the newest run failed.
    Failed,
    /// The number of sub-agents of the newest run.
    Agents,
    /// The number of runs in the conversation.
    Runs,
    /// How many of its runs and messages people rated good and bad.
    Rated,
    /// The time since the newest run began.
    Started,
    /// The time since the newest event came.
    Last,
    /// What was said last, or what is being done.
    Words,
}

impl Column {
    /// All columns, in the order in which they stand. A reader chooses which are shown, not their order.
    pub const ALL: [Self; 18] = [
        Self::State,
        Self::Title,
        Self::Agent,
        Self::Model,
        Self::Host,
        Self::Silent,
        Self::Call,
        Self::Took,
        Self::Tokens,
        Self::Cost,
        Self::Calls,
        Self::Failed,
        Self::Agents,
        Self::Runs,
        Self::Rated,
        Self::Started,
        Self::Last,
        Self::Words,
    ];

    /// The columns that are shown unless the reader chose others.
    pub const USUAL: [Self; 12] = [
        Self::State,
        Self::Title,
        Self::Agent,
        Self::Model,
        Self::Silent,
        Self::Call,
        Self::Tokens,
        Self::Cost,
        Self::Calls,
        Self::Failed,
        Self::Last,
        Self::Words,
    ];

    /// The name of the column in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Title => "title",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Host => "host",
            Self::Silent => "silent",
            Self::Call => "call",
            Self::Took => "took",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Calls => "calls",
            Self::Failed => "failed",
            Self::Agents => "agents",
            Self::Runs => "runs",
            Self::Rated => "rated",
            Self::Started => "started",
            Self::Last => "last",
            Self::Words => "words",
        }
    }

    /// The column that [`Column::name`] calls so.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// The words of its head.
    pub fn title(self) -> &'static str {
        match self {
            Self::State => "State",
            Self::Title => "Conversation",
            Self::Agent => "Agent",
            Self::Model => "Model",
            Self::Host => "Host",
            Self::Silent => "Silent for",
            Self::Call => "Running call",
            Self::Took => "Duration",
            Self::Tokens => "Tokens",
            Self::Cost => "Cost",
            Self::Calls => "Calls",
            Self::Failed => "Failed",
            Self::Agents => "Sub-agents",
            Self::Runs => "Runs",
            Self::Rated => "Rated",
            Self::Started => "Started",
            Self::Last => "Last event",
            Self::Words => "Latest text",
        }
    }

    /// How wide it is, as a track of a CSS grid.
    pub fn track(self) -> &'static str {
        match self {
            Self::Title => "minmax(176px,2fr)",
            Self::Words => "minmax(170px,3fr)",
            Self::Call => "minmax(132px,1fr)",
            Self::State => "108px",
            Self::Agent | Self::Host => "minmax(88px,1fr)",
            Self::Model => "minmax(124px,1fr)",
            Self::Silent | Self::Took | Self::Started => "84px",
            Self::Last => "98px",
            Self::Agents | Self::Rated => "100px",
            Self::Tokens | Self::Cost => "76px",
            Self::Calls | Self::Failed | Self::Runs => "64px",
        }
    }

    /// Whether it holds numbers, which stand at the right.
    pub fn is_number(self) -> bool {
        match self {
            Self::State | Self::Title | Self::Agent | Self::Model | Self::Host | Self::Call | Self::Words => {
                false
            }
            Self::Silent
            | Self::Took
            | Self::Tokens
            | Self::Cost
            | Self::Calls
            | Self::Failed
            | Self::Agents
            | Self::Runs
            | Self::Rated
            | Self::Started
            | Self::Last => true,
        }
    }

    /// Whether the first click on its head puts the greatest first.
    fn begins_with_greatest(self) -> bool {
        self.is_number()
    }

    /// What stands in it, at the hub's time `now` in milliseconds since 1970; empty for what is unknown or 0.
    pub fn text(self, row: &ConversationRow, now: u64) -> String {
        let count = |n: u64| if n == 0 { String::new() } else { format::grouped(n) };
        match self {
            Self::State => fleet::state(row, now).to_owned(),
            Self::Title => fleet::title(row).to_owned(),
            Self::Agent => row.agent.clone().unwrap_or_default(),
            Self::Model => row.model.clone().unwrap_or_default(),
            Self::Host => row.host.clone().unwrap_or_default(),
            Self::Silent => fleet::silent(row, now).map(silent_for).unwrap_or_default(),
            Self::Call => called(row, now),
            Self::Took => took(row, now).map(format::clock).unwrap_or_default(),
            Self::Tokens => tokens(row).map(format::count).unwrap_or_default(),
            Self::Cost => row.usage.and_then(|usage| usage.cost).map(format::cost).unwrap_or_default(),
            Self::Calls => count(row.tools),
            Self::Failed => count(row.failed),
            Self::Agents => count(row.agents),
            Self::Runs => count(row.runs),
            Self::Rated => rated(row),
            Self::Started if row.started_at == 0 => String::new(),
            Self::Started => format::age(now.saturating_sub(row.started_at)),
            Self::Last => format::age(now.saturating_sub(row.at)),
            Self::Words => words(row),
        }
    }

    /// Whether rows that nobody changed can change their places in it as time goes on: those that run, see [`Wanted::is_timed`].
    fn is_timed(self) -> bool {
        match self {
            Self::State | Self::Silent | Self::Call | Self::Took => true,
            Self::Title
            | Self::Agent
            | Self::Model
            | Self::Host
            | Self::Tokens
            | Self::Cost
            | Self::Calls
            | Self::Failed
            | Self::Agents
            | Self::Runs
            | Self::Rated
            | Self::Started
            | Self::Last
            | Self::Words => false,
        }
    }

    /// What rows are compared by in it, at the hub's time `now`; what has nothing there comes first. Times and amounts are compared
    /// as numbers, not as they are written.
    fn key(self, row: &ConversationRow, now: u64) -> SortKey<'_> {
        match self {
            Self::State => SortKey::Number(Some(urgency(row, now))),
            Self::Title => SortKey::Text(fleet::title(row).into()),
            Self::Agent => SortKey::Text(row.agent.as_deref().unwrap_or_default().into()),
            Self::Model => SortKey::Text(row.model.as_deref().unwrap_or_default().into()),
            Self::Host => SortKey::Text(row.host.as_deref().unwrap_or_default().into()),
            Self::Silent => SortKey::Number(fleet::silent(row, now)),
            Self::Call => SortKey::Number(call(row).map(|call| now.saturating_sub(call.since))),
            Self::Took => SortKey::Number(took(row, now)),
            Self::Tokens => SortKey::Number(tokens(row)),
            // Amounts of two currencies cannot be compared: those of each stand together.
            Self::Cost => {
                let cost = row.usage.and_then(|usage| usage.cost);
                SortKey::Money(cost.map(|cost| (cost.currency().as_str().to_owned(), cost.picos())))
            }
            Self::Calls => SortKey::Number(Some(row.tools)),
            Self::Failed => SortKey::Number(Some(row.failed)),
            Self::Agents => SortKey::Number(Some(row.agents)),
            Self::Runs => SortKey::Number(Some(row.runs)),
            // The worst first.
            Self::Rated => SortKey::Number(
                Some(row.bad.saturating_mul(1_000_000))
                    .filter(|_| row.bad > 0)
                    .or((row.good > 0).then_some(row.good)),
            ),
            // The longer ago, the greater, as they are written; but without `now`, so that no row changes its place as time goes on.
            Self::Started => SortKey::Number(Some(u64::MAX.saturating_sub(row.started_at))),
            Self::Last => SortKey::Number(Some(u64::MAX.saturating_sub(row.at))),
            Self::Words => SortKey::Text(words(row).into()),
        }
    }
}

/// What rows are compared by in one column, made once for each row: a sorting compares each row about 17 times if there are 100,000.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey<'a> {
    Number(Option<u64>),
    Text(Cow<'a, str>),
    /// The currency, and the amount in its smallest unit.
    Money(Option<(String, u64)>),
}

/// The rank of a state by how much it asks for somebody; 0 asks the most.
fn urgency(row: &ConversationRow, now: u64) -> u64 {
    match fleet::state(row, now) {
        "approval" => 0,
        "stalled" => 1,
        "silent" => 2,
        "error" => 3,
        "interrupted" => 4,
        "running" => 5,
        "complete" => 6,
        "cancelled" => 7,
        _ => 8,
    }
}

/// How many are rated good and bad, in words; empty for none.
fn rated(row: &ConversationRow) -> String {
    let words = [(row.good, "good"), (row.bad, "bad")].into_iter().filter(|(count, _)| *count > 0);
    words.map(|(count, word)| format!("{} {word}", format::grouped(count))).collect::<Vec<_>>().join(" · ")
}

/// The call that executes. None once the newest run has ended.
fn call(row: &ConversationRow) -> Option<&model::frame::RowCall> {
    row.call.as_ref().filter(|_| row.state == Some(RunStatus::Running))
}

/// The words of the column [`Column::Call`]. The time of a stalled run stands still: what it called is not known to go on.
fn called(row: &ConversationRow, now: u64) -> String {
    match call(row) {
        Some(call) => format!("{} · {}", call.name, fleet::lasts(row, call.since, now, true)),
        None => row.asks.clone().map(|tool| format!("{tool} · waiting for approval")).unwrap_or_default(),
    }
}

/// For how many milliseconds nothing came, in the words of the column [`Column::Silent`].
fn silent_for(ms: u64) -> String {
    if ms < 60_000 { "< 1 m".to_owned() } else { format::age(ms) }
}

/// How long the newest run took or has taken so far, in milliseconds; `None` if it has no known end.
fn took(row: &ConversationRow, now: u64) -> Option<u64> {
    match row.state? {
        RunStatus::Running if row.stalled => Some(row.at.saturating_sub(row.started_at)),
        RunStatus::Running => Some(now.saturating_sub(row.started_at)),
        _ => row.ended_at.map(|end| end.saturating_sub(row.started_at)),
    }
}

/// The tokens of all runs; `None` if none were reported.
fn tokens(row: &ConversationRow) -> Option<u64> {
    row.usage.map(|usage| usage.tokens()).filter(|tokens| *tokens > 0)
}

/// What was said last, else the answer, else what the conversation does.
fn words(row: &ConversationRow) -> String {
    let said = row.said.as_deref().or(row.answer.as_deref()).filter(|words| !words.is_empty());
    said.map_or_else(|| fleet::activity(row), str::to_owned)
}

/// In which order rows are. Unless the reader chose one, that is the newest event first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// The column whose values are compared.
    pub column: Column,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Last, descending: false }
    }
}

impl Sort {
    /// The order after a click on the head of `column`: the same column turned round, another one from the
    /// end that a reader wants first.
    #[must_use]
    pub fn clicked(self, column: Column) -> Self {
        if self.column == column {
            Self { descending: !self.descending, ..self }
        } else {
            Self { column, descending: column.begins_with_greatest() && column != Column::Last }
        }
    }

    /// The order as it stands in addresses: the name of the column, with `-` before it if the greatest comes
    /// first: `-cost`.
    pub fn word(self) -> String {
        format!("{}{}", if self.descending { "-" } else { "" }, self.column.name())
    }

    /// Reads what [`Sort::word`] wrote; `None` if there is no such column.
    pub fn parse(word: &str) -> Option<Self> {
        let (descending, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
        Some(Self { column: Column::parse(name)?, descending })
    }
}

/// The rows that are shown, and their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The conditions that a row must fit.
    pub filter: Filter,
    /// The order of the rows.
    pub sort: Sort,
    /// The time in which something of theirs happened, from (inclusive) to (exclusive), in milliseconds since
    /// 1970; `None` is any time.
    pub time: Option<(u64, u64)>,
}

impl Wanted {
    /// Whether `row` is shown at the hub's time `now`. A row belongs to a time if its newest run began before
    /// the end of it and its newest event is not before its beginning.
    pub fn shows(&self, row: &ConversationRow, now: u64) -> bool {
        let is_then = self.time.is_none_or(|(from, to)| row.at >= from && row.started_at < to);
        is_then && self.filter.fits(row, now)
    }

    /// The indices in `rows` of those that are shown, in order. Rows that are alike stand by their newest
    /// event, the newest first, then by their ids, so that the order is the same each time.
    pub fn order<'a>(&self, rows: impl Iterator<Item = &'a ConversationRow>, now: u64) -> Vec<usize> {
        let shown = rows.enumerate().filter(|(_, row)| self.shows(row, now));
        let mut shown: Vec<Keyed<'_>> =
            shown.map(|(at, row)| Keyed { key: self.sort.column.key(row, now), row, at }).collect();
        shown.sort_unstable_by(|left, right| self.compare(left, right));
        shown.into_iter().map(|it| it.at).collect()
    }

    /// Whether the row may change its place, or be shown or hidden, although nobody changed it: time goes on for what runs.
    fn is_timed(&self, row: &ConversationRow) -> bool {
        let is_alive = row.state == Some(RunStatus::Running) || row.call.is_some();
        is_alive && (self.sort.column.is_timed() || !self.filter.is_empty())
    }

    /// The order of two rows. Never equal for two conversations.
    fn compare(&self, left: &Keyed<'_>, right: &Keyed<'_>) -> Ordering {
        let order = if self.sort.descending { right.key.cmp(&left.key) } else { left.key.cmp(&right.key) };
        order
            .then_with(|| Reverse(left.row.at).cmp(&Reverse(right.row.at)))
            .then_with(|| left.row.conversation.cmp(&right.row.conversation))
    }
}

/// A row with what it is compared by, and its index.
struct Keyed<'a> {
    key: SortKey<'a>,
    row: &'a ConversationRow,
    at: usize,
}

#[cfg(test)]
mod tests;
