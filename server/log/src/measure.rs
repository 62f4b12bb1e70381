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

use std::collections::{BTreeMap, BTreeSet, HashMap};

use compact_str::CompactString;
use model::limits::{ID_BYTES_MAX, MEASURE_SUMS_MAX, MEASURES_IN_MEMORY_MAX};
use serde::{Deserialize, Serialize};

use crate::{LogError, QueryCancel};

mod counts;
mod facet;
mod latency;

pub(crate) use counts::{MeasureCounts, SUM_MAX};
pub(crate) use facet::Facet;
pub use latency::{bucket, longest, quantile};

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
    /// Those of them that failed.
    CallsFailed = 6,
    /// Those of them of which it is known, by how long they took.
    CallMs = 7,
    /// Calls for which a person was asked and answered.
    Waits = 8,
    /// How long these waited for the answer, in milliseconds.
    WaitMs = 9,
    /// Tokens that models read.
    InputTokens = 10,
    /// Of those, from a cache.
    CachedTokens = 11,
    /// Tokens that models wrote.
    OutputTokens = 12,
    /// Of those, for reasoning.
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

    /// Whether its measurements have a [`Measurement::detail`].
    pub(crate) fn has_detail(self) -> bool {
        matches!(self, Self::Ended | Self::RunMs | Self::FirstMs | Self::CallMs | Self::Money)
    }
}

/// A change of one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// What is measured.
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
    /// What the metric is divided by beyond that: the reason, the bucket, the currency; empty for most.
    #[serde(default, skip_serializing_if = "CompactString::is_empty")]
    pub detail: CompactString,
    /// How much more; less than 0 takes back.
    pub amount: i64,
}

/// What sums are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// The name of the agent.
    Agent,
    /// The model.
    Model,
    /// The tool.
    Tool,
}

/// Which sums are asked for.
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
    /// The model.
    pub model: CompactString,
    /// The tool.
    pub tool: CompactString,
    /// See [`Measurement::detail`].
    pub detail: CompactString,
    /// The sum of all changes in the step. It may be negative where more was taken back in the step than
    /// counted.
    pub amount: i128,
}

/// The answer to a [`MeasureQuery`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    /// The sums, without those that are 0, in no order.
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
    /// Hour and day.
    pub(crate) const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// How long it is, in milliseconds.
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

impl MeasureQuery {
    /// The longest spans of which its steps are made. Days where the query begins, ends and steps at midnight
    /// of UTC: then fewer rows are read, and the query reaches beyond the hours that are kept.
    pub(crate) fn span(&self) -> MeasureSpan {
        let is_whole = |ms: u64| ms.is_multiple_of(DAY_MS);
        if is_whole(self.from) && is_whole(self.to) && is_whole(self.step_ms) {
            MeasureSpan::Day
        } else {
            MeasureSpan::Hour
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
    /// Which names tell it apart; the others are empty.
    pub(crate) facet: Facet,
    /// At most [`ID_BYTES_MAX`] bytes, as are the next three.
    pub(crate) agent: CompactString,
    pub(crate) model: CompactString,
    pub(crate) tool: CompactString,
    pub(crate) detail: CompactString,
}

impl MeasureKey {
    /// The rows that `it` counts in, among those of `span`: one for each facet of its metric.
    pub(crate) fn of(it: &Measurement, span: MeasureSpan) -> impl Iterator<Item = Self> {
        Facet::of(it.metric).iter().map(move |facet| {
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
}

/// Adds up the rows that a log reads for one query. At most [`MEASURE_SUMS_MAX`] sums are held at a time, and
/// no row is held at all, so the memory is bounded by the answer and not by what is read.
pub(crate) struct Sums<'a> {
    /// The query that says how rows are told apart and how long a step is.
    query: &'a MeasureQuery,
    /// Ends the adding up early.
    stop: &'a QueryCancel,
    /// How many rows were added.
    rows: u64,
    /// The sums so far. `start` is the number of the step, and the facet is always [`Facet::Every`].
    totals: HashMap<MeasureKey, i128>,
}

/// A row of a log, borrowed. It is a sum over one hour or day, never a single measurement.
pub(crate) struct MeasureRow<'a> {
    /// When its span begins, in milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) metric: Metric,
    pub(crate) agent: &'a str,
    pub(crate) model: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) detail: &'a str,
    pub(crate) amount: i128,
}

/// After so many rows it is looked whether the query is stopped.
const LOOK_EVERY_ROWS: u64 = 1_024;

impl<'a> Sums<'a> {
    /// Begins without any sum.
    pub(crate) fn new(query: &'a MeasureQuery, stop: &'a QueryCancel) -> Self {
        Self { query, stop, rows: 0, totals: HashMap::new() }
    }

    /// Adds a row, which must be within the query's time. Fails when there are too many sums, and when the query is stopped.
    pub(crate) fn add(&mut self, row: &MeasureRow<'_>) -> Result<(), LogError> {
        self.rows += 1;
        if self.rows.is_multiple_of(LOOK_EVERY_ROWS) && self.stop.is_cancelled() {
            return Err(Self::stopped());
        }
        let named = |dimension: Dimension, name: &str| {
            if self.query.by.contains(&dimension) {
                CompactString::from(name)
            } else {
                CompactString::default()
            }
        };
        let key = MeasureKey {
            start: row.at.saturating_sub(self.query.from) / self.query.step_ms.max(HOUR_MS),
            metric: row.metric,
            // One question has one facet for each metric.
            facet: Facet::Every,
            agent: named(Dimension::Agent, row.agent),
            model: named(Dimension::Model, row.model),
            tool: named(Dimension::Tool, row.tool),
            detail: row.detail.into(),
        };
        let sum = self.totals.entry(key).or_default();
        *sum = sum.saturating_add(row.amount);
        if self.totals.len() > MEASURE_SUMS_MAX {
            return Err(LogError::BadQuery(format!(
                "these are more than {MEASURE_SUMS_MAX} sums; ask for a shorter time, longer steps or fewer groups"
            )));
        }
        Ok(())
    }

    /// The error of a query that is stopped.
    pub(crate) fn stopped() -> LogError {
        LogError::BadQuery(String::from(
            "adding up takes too long; ask for a shorter time, longer steps or fewer metrics",
        ))
    }

    /// The sums of all rows that were added. Those of 0 are left out: everything that counted in them was
    /// taken back.
    pub(crate) fn finish(self) -> Vec<MeasureSum> {
        let (from, step) = (self.query.from, self.query.step_ms.max(HOUR_MS));
        let sums = self.totals.into_iter().filter(|(_, amount)| *amount != 0);
        let sum = |(key, amount): (MeasureKey, i128)| {
            let MeasureKey { start, metric, agent, model, tool, detail, .. } = key;
            let start = from.saturating_add(start.saturating_mul(step));
            MeasureSum { metric, start, agent, model, tool, detail, amount }
        };
        sums.map(sum).collect()
    }
}

/// Sums in memory, by the hour: the newest [`MEASURES_IN_MEMORY_MAX`] rows. The log in memory owns it. There
/// are no days, since nothing lasts longer than the process.
#[derive(Debug, Default)]
pub(crate) struct MeasuresInMemory {
    /// Ordered by hour first, so that the oldest are at the front.
    rows: BTreeMap<MeasureKey, i64>,
    /// The end of the newest hour that was dropped, in milliseconds since 1970; 0 while none was.
    since: u64,
}

impl MeasuresInMemory {
    /// Counts measurements, and drops the oldest hours beyond the limit.
    pub(crate) fn add(&mut self, measurements: &[Measurement]) {
        for it in measurements {
            for key in MeasureKey::of(it, MeasureSpan::Hour) {
                let sum = self.rows.entry(key).or_default();
                *sum = sum.saturating_add(it.amount);
            }
        }
        while self.rows.len() > MEASURES_IN_MEMORY_MAX {
            // The whole hour: half of one would look like an hour with less in it.
            let Some(oldest) = self.rows.first_key_value().map(|(key, _)| key.start) else { return };
            self.rows.retain(|key, _| key.start > oldest);
            self.since = oldest.saturating_add(1).saturating_mul(HOUR_MS);
        }
    }

    /// Answers a query. Fails with [`LogError::BadQuery`] for a latency by several names, for too many sums,
    /// and when it is stopped.
    pub(crate) fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        let facets = Facet::asked(query)?;
        let mut sums = Sums::new(query, stop);
        let (from, to) = (query.from / HOUR_MS, query.to.div_ceil(HOUR_MS));
        for (key, amount) in &self.rows {
            if key.start < from || key.start >= to || !facets.contains(&(key.metric, key.facet)) {
                continue;
            }
            sums.add(&MeasureRow {
                at: key.start.saturating_mul(HOUR_MS),
                metric: key.metric,
                agent: &key.agent,
                model: &key.model,
                tool: &key.tool,
                detail: &key.detail,
                amount: i128::from(*amount),
            })?;
        }
        Ok(Measured { sums: sums.finish(), since: self.since })
    }
}

#[cfg(test)]
mod tests;
