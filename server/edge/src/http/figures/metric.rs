//! The figures that can be asked for, and what of the log each is made of. What each means is in
//! docs/protocol.md, section 10.

use event_log::measure::LatencyCounts;
use event_log::{MeasureSum, Metric};
use serde::Serialize;

/// A figure over time, by the name in [`NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Figure {
    /// Runs that began in the time.
    Runs,
    /// Runs that ended, in whatever way.
    Ended,
    /// Runs that ended otherwise than complete.
    Failures,
    /// Tool calls that ended with a result.
    Calls,
    /// Tool calls that ended with a result and failed.
    CallFailures,
    /// A percentile of a latency: what took the time, and which percentile.
    Latency(Latency, u64),
    /// Tokens, read and written.
    Tokens,
    /// Tokens read that came from no cache: those read without those cached.
    FreshTokens,
    /// Tokens read from a cache.
    CachedTokens,
    /// Tokens written without those of thinking.
    AnswerTokens,
    /// Tokens written while thinking.
    ThinkingTokens,
    /// Tokens of runs of which no cost is known.
    UnpricedTokens,
    /// Money, a line for each currency.
    Cost,
    /// Calls for which a person was asked and answered.
    Waits,
    /// How long those calls waited for a person, together, in milliseconds.
    WaitMs,
}

/// The kinds of latency that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Latency {
    /// A call of a tool.
    Tool,
    /// A whole run.
    Run,
    /// A model, until it gives out the first of anything.
    First,
}

/// What the numbers of a figure count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// Things, such as runs.
    Count,
    /// Milliseconds of time.
    Ms,
    /// Tokens of a model.
    Tokens,
    /// Millionths of a currency.
    Micros,
}

/// All figures with their names.
const NAMES: [(&str, Figure); 23] = [
    ("runs", Figure::Runs),
    ("ended", Figure::Ended),
    ("failures", Figure::Failures),
    ("calls", Figure::Calls),
    ("call_failures", Figure::CallFailures),
    ("tool_p50", Figure::Latency(Latency::Tool, 50)),
    ("tool_p95", Figure::Latency(Latency::Tool, 95)),
    ("tool_p99", Figure::Latency(Latency::Tool, 99)),
    ("run_p50", Figure::Latency(Latency::Run, 50)),
    ("run_p95", Figure::Latency(Latency::Run, 95)),
    ("run_p99", Figure::Latency(Latency::Run, 99)),
    ("first_p50", Figure::Latency(Latency::First, 50)),
    ("first_p95", Figure::Latency(Latency::First, 95)),
    ("first_p99", Figure::Latency(Latency::First, 99)),
    ("tokens", Figure::Tokens),
    ("fresh_tokens", Figure::FreshTokens),
    ("cached_tokens", Figure::CachedTokens),
    ("answer_tokens", Figure::AnswerTokens),
    ("thinking_tokens", Figure::ThinkingTokens),
    ("unpriced_tokens", Figure::UnpricedTokens),
    ("cost", Figure::Cost),
    ("waits", Figure::Waits),
    ("wait_ms", Figure::WaitMs),
];

impl Figure {
    /// The figure of that name; the error lists all names.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == word);
        found.map(|(_, figure)| *figure).ok_or_else(|| format!("there are {}", Self::names()))
    }

    /// The names of all.
    pub(super) fn names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }

    pub(super) fn unit(self) -> Unit {
        match self {
            Self::Latency(..) | Self::WaitMs => Unit::Ms,
            Self::Tokens
            | Self::FreshTokens
            | Self::CachedTokens
            | Self::AnswerTokens
            | Self::ThinkingTokens
            | Self::UnpricedTokens => Unit::Tokens,
            Self::Cost => Unit::Micros,
            Self::Runs | Self::Ended | Self::Failures | Self::Calls | Self::CallFailures | Self::Waits => {
                Unit::Count
            }
        }
    }

    /// What of the log it is made of.
    pub(super) fn metrics(self) -> &'static [Metric] {
        match self {
            Self::Runs => &[Metric::Runs],
            Self::Ended | Self::Failures => &[Metric::Ended],
            Self::Calls => &[Metric::Calls],
            Self::CallFailures => &[Metric::CallsFailed],
            Self::Latency(Latency::Tool, _) => &[Metric::CallMs],
            Self::Latency(Latency::Run, _) => &[Metric::RunMs],
            Self::Latency(Latency::First, _) => &[Metric::FirstMs],
            Self::Tokens => &[Metric::InputTokens, Metric::OutputTokens],
            Self::FreshTokens => &[Metric::InputTokens, Metric::CachedTokens],
            Self::CachedTokens => &[Metric::CachedTokens],
            Self::AnswerTokens => &[Metric::OutputTokens, Metric::ReasoningTokens],
            Self::ThinkingTokens => &[Metric::ReasoningTokens],
            Self::UnpricedTokens => &[Metric::UnpricedTokens],
            Self::Cost => &[Metric::Money],
            Self::Waits => &[Metric::Waits],
            Self::WaitMs => &[Metric::WaitMs],
        }
    }

    /// Whether the values of `other` are added up as its own are, and only told otherwise.
    pub(super) fn has_values_of(self, other: Self) -> bool {
        match (self, other) {
            (Self::Latency(own, _), Self::Latency(of, _)) => own == of,
            _ => self == other,
        }
    }

    /// Whether `sum` belongs to it.
    pub(super) fn takes(self, sum: &MeasureSum) -> bool {
        self.metrics().contains(&sum.metric) && !(self == Self::Failures && sum.detail == "complete")
    }
}

/// The value of a figure in one step, while it is added up. Amounts are in the log's units: money in picos of
/// a currency.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    /// The sum of everything but latencies. Subtracted are the parts of a whole that the log counts too.
    amount: i128,
    /// For latencies: how many values fell into each bucket.
    latencies: LatencyCounts,
}

impl Value {
    /// Adds a sum that belongs to `figure`.
    pub(super) fn add(&mut self, figure: Figure, sum: &MeasureSum) {
        match figure {
            Figure::Latency(..) => self.latencies.plus(&sum.latencies),
            Figure::FreshTokens if sum.metric == Metric::CachedTokens => self.amount -= sum.amount,
            Figure::AnswerTokens if sum.metric == Metric::ReasoningTokens => self.amount -= sum.amount,
            _ => self.amount = self.amount.saturating_add(sum.amount),
        }
    }

    /// Adds another value of the same figure.
    pub(super) fn plus(&mut self, other: &Self) {
        self.amount = self.amount.saturating_add(other.amount);
        self.latencies.plus(&other.latencies);
    }

    /// How large it is among others: the amount, or the number of values of a latency. Lines are sorted by
    /// it.
    pub(super) fn weight(&self) -> i128 {
        self.amount.saturating_add(self.latencies.total())
    }

    /// The number that is told; nothing for a percentile of none.
    pub(super) fn told(&self, figure: Figure) -> Option<i64> {
        let bounded = |number: i128| i64::try_from(number).unwrap_or(i64::MAX);
        match figure {
            Figure::Latency(_, percent) => self.latencies.quantile(percent).map(|ms| bounded(i128::from(ms))),
            Figure::Cost => Some(bounded(self.amount / 1_000_000)),
            _ => Some(bounded(self.amount)),
        }
    }
}
