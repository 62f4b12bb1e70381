//! Measurements: what runs, calls and models cost and how long they took, counted by hour and by day of UTC and by agent, model
//! and tool. A log keeps the sums and not the single measurements, so that a question costs as much as the answer is long.
//!
//! A measurement is a change of a sum: what is known better later is taken back where it was counted and counted again.
//!
//! What is counted when a log takes an append:
//!
//! ```text
//! Measurement { metric: RunMs, at, agent: "a", model: "m", detail: bucket, amount: 1 }
//!   × its hour and its day          (MeasureSpan)
//!   × total, by agent, by model     (Facet, by metric)
//!   = one row each, whose amount grows by 1   (MeasureKey)
//! ```

use std::collections::BTreeSet;

use compact_str::CompactString;
use model::limits::ID_BYTES_MAX;
use serde::{Deserialize, Serialize};

mod counts;
mod facet;
mod latency;
mod memory;
mod parts;
mod sums;

pub(crate) use counts::{MeasureCounts, SUM_MAX};
pub(crate) use facet::Facet;
pub use latency::{BUCKETS_MAX, LatencyCounts, bucket, longest, quantile};
pub(crate) use memory::MeasuresInMemory;
pub(crate) use parts::MeasurePart;
pub(crate) use sums::{MeasureRow, Sums};

/// Milliseconds of an hour.
pub const HOUR_MS: u64 = 3_600_000;

/// Milliseconds of a day.
pub const DAY_MS: u64 = 24 * HOUR_MS;

/// Stands for the names beyond a limit. A span keeps a bounded number of rows; what comes beyond counts under
/// this name, so that totals stay right.
pub const OTHERS: &str = "(others)";

/// What is measured. The numbers are those of the database, and the names those of the journal; neither ever
/// changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Runs, when they began.
    Runs = 1,
    /// Runs that ended, by how: `complete`, `cancelled`, `interrupted`, or the code of the failure.
    Ended = 2,
    /// Runs that ended, by how long they took, see [`bucket`].
    RunMs = 3,
    /// Runs, by how long it took until the model gave out the first of anything.
    FirstMs = 4,
    /// Calls that ended with a result.
    Calls = 5,
    /// Calls that ended with a result and failed.
    CallsFailed = 6,
    /// Calls that ended with a result and of which the duration is known, by that, see [`bucket`].
    CallMs = 7,
    /// Calls for which a person was asked and answered.
    Waits = 8,
    /// How long these waited for the answer, in milliseconds.
    WaitMs = 9,
    /// Tokens that models read.
    InputTokens = 10,
    /// Input tokens that were read from a cache.
    CachedTokens = 11,
    /// Tokens that models wrote.
    OutputTokens = 12,
    /// Output tokens that were spent on reasoning.
    ReasoningTokens = 13,
    /// Tokens, read and written, of runs of which nobody knows what they cost.
    UnpricedTokens = 14,
    /// Money, by currency, in 10⁻¹² of it.
    Money = 15,
}

impl Metric {
    /// Every metric, in the order of the numbers.
    pub const ALL: [Self; 15] = [
        Self::Runs,
        Self::Ended,
        Self::RunMs,
        Self::FirstMs,
        Self::Calls,
        Self::CallsFailed,
        Self::CallMs,
        Self::Waits,
        Self::WaitMs,
        Self::InputTokens,
        Self::CachedTokens,
        Self::OutputTokens,
        Self::ReasoningTokens,
        Self::UnpricedTokens,
        Self::Money,
    ];

    /// The number in the database.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Whether it counts latencies: the detail of its measurements is a [`bucket`], and its sums are [`MeasureSum::latencies`].
    pub fn is_latency(self) -> bool {
        matches!(self, Self::RunMs | Self::FirstMs | Self::CallMs)
    }

    /// Whether its measurements have a [`Measurement::detail`].
    pub(crate) fn has_detail(self) -> bool {
        matches!(self, Self::Ended | Self::RunMs | Self::FirstMs | Self::CallMs | Self::Money)
    }
}

/// A change of one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// The metric that changes.
    pub metric: Metric,
    /// When it happened, in milliseconds since 1970. It counts in the hour and the day of UTC that this falls
    /// in.
    pub at: u64,
    /// The name of the agent; empty where it has none.
    pub agent: CompactString,
    /// The model; empty where nobody said.
    pub model: CompactString,
    /// The tool; empty for what belongs to none.
    #[serde(default, skip_serializing_if = "CompactString::is_empty")]
    pub tool: CompactString,
    /// What the metric is divided by beyond that: the reason, the bucket, the currency; empty for most. A latency whose detail is no
    /// bucket below [`BUCKETS_MAX`] is not counted.
    #[serde(default, skip_serializing_if = "CompactString::is_empty")]
    pub detail: CompactString,
    /// How much more; less than 0 takes back.
    pub amount: i64,
}

/// The names by which sums are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// The name of the agent.
    Agent,
    /// The name of the model.
    Model,
    /// The name of the tool.
    Tool,
}

/// A query for sums of measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureQuery {
    /// The metrics whose sums are wanted.
    pub metrics: Vec<Metric>,
    /// From this hour on, in milliseconds since 1970; a time inside of an hour stands for all of it.
    pub from: u64,
    /// Up to before this hour. A time inside of an hour includes that hour.
    pub to: u64,
    /// How long each step is, in milliseconds; the first begins at `from`. At least an hour.
    pub step_ms: u64,
    /// What they are told apart by.
    pub by: BTreeSet<Dimension>,
}

/// A sum over one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureSum {
    /// The metric that was summed.
    pub metric: Metric,
    /// When the step begins, in milliseconds since 1970.
    pub start: u64,
    /// The agent; empty where sums are not told apart by it, as are the next two.
    pub agent: CompactString,
    /// The name of the model.
    pub model: CompactString,
    /// The name of the tool.
    pub tool: CompactString,
    /// See [`Measurement::detail`]; empty for latencies.
    pub detail: CompactString,
    /// The sum of all changes in the step, for latencies that of all buckets. It may be negative where more was taken back in the step
    /// than counted.
    pub amount: i128,
    /// Of a latency, how many took how long; empty for all else.
    pub latencies: LatencyCounts,
}

/// The answer to a [`MeasureQuery`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    /// The sums, without those that are 0, in no order. All buckets of a latency that belong together are one.
    pub sums: Vec<MeasureSum>,
    /// What happened before this was not counted, or not by the hour any more; in milliseconds since 1970, 0 where all was.
    pub since: u64,
}

/// The length of time over which a row of sums counts. Every measurement counts once in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasureSpan {
    /// An hour of UTC. Logs that write drop hours that are older than `MEASURE_HOURS_KEPT` hours.
    Hour,
    /// A day of UTC. Kept as long as the log.
    Day,
}

impl MeasureSpan {
    /// Both spans: hour and day.
    pub(crate) const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// The length of the span, in milliseconds.
    pub(crate) fn ms(self) -> u64 {
        match self {
            Self::Hour => HOUR_MS,
            Self::Day => DAY_MS,
        }
    }

    /// The number in the database. It never changes.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Hour => 0,
            Self::Day => 1,
        }
    }
}

/// The beginning of `name` under which it is counted, at most [`ID_BYTES_MAX`] bytes, so that a name of any
/// length costs a row of bounded size.
pub(crate) fn short(name: &str) -> CompactString {
    CompactString::from(name.get(..name.floor_char_boundary(ID_BYTES_MAX)).unwrap_or_default())
}

/// The key of one row of sums. Names that the facet does not tell apart are empty, so that all their
/// measurements meet in one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MeasureKey {
    /// The number of the span since 1970. Multiplied by the span's length it is a time in milliseconds.
    pub(crate) start: u64,
    pub(crate) metric: Metric,
    /// The facet: which names tell the row apart; the others are empty.
    pub(crate) facet: Facet,
    /// At most [`ID_BYTES_MAX`] bytes, as are the next three.
    pub(crate) agent: CompactString,
    pub(crate) model: CompactString,
    pub(crate) tool: CompactString,
    pub(crate) detail: CompactString,
}

impl MeasureKey {
    /// The rows that `it` counts in, among those of `span`: one for each facet of its metric; none for a latency without a bucket.
    pub(crate) fn of(it: &Measurement, span: MeasureSpan) -> impl Iterator<Item = Self> {
        let is_countable = !it.metric.is_latency() || latency::parse(&it.detail).is_some();
        let facets = if is_countable { Facet::of(it.metric) } else { &[] };
        facets.iter().map(move |facet| {
            let named = |dimension: Dimension, name: &str| {
                if facet.tells_apart(dimension) { short(name) } else { CompactString::default() }
            };
            Self {
                start: it.at / span.ms(),
                metric: it.metric,
                facet: *facet,
                agent: named(Dimension::Agent, &it.agent),
                model: named(Dimension::Model, &it.model),
                tool: named(Dimension::Tool, &it.tool),
                detail: short(&it.detail),
            }
        })
    }

    /// The row of the same span and metric that this one, of the facet [`Facet::Every`], counts in by `facet`.
    pub(crate) fn by(&self, facet: Facet) -> Self {
        let named = |dimension: Dimension, name: &CompactString| {
            if facet.tells_apart(dimension) { name.clone() } else { CompactString::default() }
        };
        Self {
            facet,
            agent: named(Dimension::Agent, &self.agent),
            model: named(Dimension::Model, &self.model),
            tool: named(Dimension::Tool, &self.tool),
            detail: self.detail.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests;
