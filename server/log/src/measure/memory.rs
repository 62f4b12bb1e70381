//! Sums of the log in memory: by the hour alone, one row for each bucket of a latency.

use std::collections::BTreeMap;

use model::limits::MEASURES_IN_MEMORY_MAX;

use super::{Facet, HOUR_MS, MeasureKey, MeasureQuery, MeasureRow, MeasureSpan, Measured, Measurement, Sums};
use crate::{LogError, QueryCancel};

/// Sums in memory, by the hour: the newest [`MEASURES_IN_MEMORY_MAX`] rows. The log in memory owns it. There
/// are no days, since nothing lasts longer than the process.
#[derive(Debug, Default)]
pub(crate) struct MeasuresInMemory {
    /// Ordered by hour first, so that the oldest are at the front.
    pub(super) rows: BTreeMap<MeasureKey, i64>,
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
