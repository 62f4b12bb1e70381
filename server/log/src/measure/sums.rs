//! Adding up the rows of one query.

use std::collections::HashMap;

use compact_str::CompactString;
use model::limits::MEASURE_SUMS_MAX;

use super::{
    Dimension, Facet, HOUR_MS, LatencyCounts, MeasureKey, MeasureQuery, MeasureSum, Metric, latency,
};
use crate::{LogError, QueryCancel};

/// Adds up the rows that a log reads for one query. At most [`MEASURE_SUMS_MAX`] sums are held at a time, and
/// no row is held at all, so the memory is bounded by the answer and not by what is read. Rows of which no two count in the same sum
/// are sums already ([`Sums::push`]). A latency counts as one sum for each of its buckets.
pub(crate) struct Sums<'a> {
    /// The query that says how rows are told apart and how long a step is.
    query: &'a MeasureQuery,
    /// Ends the adding up early.
    stop: &'a QueryCancel,
    /// The number of rows that were added.
    rows: u64,
    /// The sums so far. `start` is the number of the step, and the facet is always [`Facet::Every`].
    totals: HashMap<MeasureKey, i128>,
    /// Latencies so far, in the same way; their keys have no detail.
    latencies: HashMap<MeasureKey, LatencyCounts>,
    /// The sums that nothing more is added to.
    whole: Vec<MeasureSum>,
    /// How many sums are held in all of these, where each bucket of a latency is one.
    held: usize,
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
pub(super) const LOOK_EVERY_ROWS: u64 = 1_024;

impl<'a> Sums<'a> {
    /// Begins without any sum.
    pub(crate) fn new(query: &'a MeasureQuery, stop: &'a QueryCancel) -> Self {
        let (totals, latencies, whole) = (HashMap::new(), HashMap::new(), Vec::new());
        Self { query, stop, rows: 0, totals, latencies, whole, held: 0 }
    }

    /// Takes a row that no other row is added to, and whose names that the query does not tell apart are empty; of a latency all its
    /// buckets. Fails as [`Sums::add`] does.
    pub(crate) fn push(&mut self, row: &MeasureRow<'_>, latencies: LatencyCounts) -> Result<(), LogError> {
        self.look()?;
        self.held += latencies.len().max(1);
        let step = self.query.step_ms.max(HOUR_MS);
        let at = row.at.saturating_sub(self.query.from);
        self.whole.push(MeasureSum {
            metric: row.metric,
            start: self.query.from.saturating_add(at - at % step),
            agent: row.agent.into(),
            model: row.model.into(),
            tool: row.tool.into(),
            detail: row.detail.into(),
            amount: row.amount,
            latencies,
        });
        self.bounded()
    }

    /// Counts a row. Fails when the query is stopped.
    fn look(&mut self) -> Result<(), LogError> {
        self.rows += 1;
        if self.rows.is_multiple_of(LOOK_EVERY_ROWS) && self.stop.is_cancelled() {
            return Err(Self::stopped());
        }
        Ok(())
    }

    /// Fails when there are too many sums.
    fn bounded(&self) -> Result<(), LogError> {
        if self.held > MEASURE_SUMS_MAX {
            return Err(LogError::BadQuery(format!(
                "these are more than {MEASURE_SUMS_MAX} sums; ask for a shorter time, longer steps or fewer groups"
            )));
        }
        Ok(())
    }

    /// Adds a row, which must be within the query's time; of a latency, a row of one bucket. Fails when there are too many sums, and when the
    /// query is stopped.
    pub(crate) fn add(&mut self, row: &MeasureRow<'_>) -> Result<(), LogError> {
        if row.metric.is_latency() {
            // A file that is damaged may name a bucket that is none.
            let Some(bucket) = latency::parse(row.detail) else { return self.look() };
            let count = i64::try_from(row.amount).unwrap_or(if row.amount < 0 { i64::MIN } else { i64::MAX });
            return self.add_latencies(row, &LatencyCounts::of(bucket, count));
        }
        self.look()?;
        let key = MeasureKey { detail: row.detail.into(), ..self.key(row) };
        let before = self.totals.len();
        let sum = self.totals.entry(key).or_default();
        *sum = sum.saturating_add(row.amount);
        self.held += self.totals.len() - before;
        self.bounded()
    }

    /// Adds many buckets of a latency at once; the detail and the amount of `row` do not count. Fails as [`Sums::add`] does.
    pub(crate) fn add_latencies(
        &mut self,
        row: &MeasureRow<'_>,
        latencies: &LatencyCounts,
    ) -> Result<(), LogError> {
        self.look()?;
        let key = self.key(row);
        let sum = self.latencies.entry(key).or_default();
        let before = sum.len();
        sum.plus(latencies);
        self.held = (self.held + sum.len()).saturating_sub(before);
        self.bounded()
    }

    /// The sum that a row counts in, without its detail.
    fn key(&self, row: &MeasureRow<'_>) -> MeasureKey {
        let named = |dimension: Dimension, name: &str| {
            if self.query.by.contains(&dimension) {
                CompactString::from(name)
            } else {
                CompactString::default()
            }
        };
        MeasureKey {
            start: row.at.saturating_sub(self.query.from) / self.query.step_ms.max(HOUR_MS),
            metric: row.metric,
            // One question has one facet for each metric.
            facet: Facet::Every,
            agent: named(Dimension::Agent, row.agent),
            model: named(Dimension::Model, row.model),
            tool: named(Dimension::Tool, row.tool),
            detail: CompactString::default(),
        }
    }

    /// The error of a query that is stopped.
    pub(crate) fn stopped() -> LogError {
        LogError::BadQuery(String::from(
            "adding up takes too long; ask for a shorter time, longer steps or fewer metrics",
        ))
    }

    /// The sums of all rows that were added. Sums of 0 are left out: everything that counted in them was taken back.
    /// taken back.
    pub(crate) fn finish(self) -> Vec<MeasureSum> {
        let (from, step) = (self.query.from, self.query.step_ms.max(HOUR_MS));
        let mut whole = self.whole;
        for sum in whole.iter_mut().filter(|sum| sum.metric.is_latency()) {
            sum.amount = sum.latencies.total();
        }
        let sum = |key: MeasureKey, amount: i128, latencies: LatencyCounts| {
            let MeasureKey { start, metric, agent, model, tool, detail, .. } = key;
            let start = from.saturating_add(start.saturating_mul(step));
            MeasureSum { metric, start, agent, model, tool, detail, amount, latencies }
        };
        whole.extend(self.totals.into_iter().map(|(key, amount)| sum(key, amount, LatencyCounts::default())));
        whole.extend(self.latencies.into_iter().map(|(key, counts)| sum(key, counts.total(), counts)));
        whole.retain(|sum| if sum.metric.is_latency() { !sum.latencies.is_empty() } else { sum.amount != 0 });
        whole
    }
}
