//! The measurements of one commit, added up to the rows that they change. A commit of a thousand measurements
//! of one agent changes a few rows, and each of them once.

use std::collections::BTreeMap;

use super::{LatencyCounts, MeasureKey, MeasureSpan, Measurement, Metric, OTHERS, latency};

/// The largest sum of one row, either way. Twice that still fits into a database's 64 bits, so adding a
/// change to a row cannot overflow before the result is brought back into the bound.
pub(crate) const SUM_MAX: i64 = i64::MAX / 4;

/// The measurements of one commit, by row, in the order of the rows.
#[derive(Debug, Default)]
pub(crate) struct MeasureCounts {
    rows: BTreeMap<(MeasureSpan, MeasureKey), i64>,
}

impl MeasureCounts {
    /// Adds measurements to their hours and days.
    pub(crate) fn add(&mut self, measurements: &[Measurement]) {
        for it in measurements {
            for span in MeasureSpan::ALL {
                for key in MeasureKey::of(it, span) {
                    let sum = self.rows.entry((span, key)).or_default();
                    *sum = sum.saturating_add(it.amount).clamp(-SUM_MAX, SUM_MAX);
                }
            }
        }
    }

    /// The rows that change, and by how much: at most [`SUM_MAX`] either way.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (MeasureSpan, &MeasureKey, i64)> {
        self.rows
            .iter()
            .filter(|(_, amount)| **amount != 0)
            .map(|((span, key), amount)| (*span, key, *amount))
    }

    /// Of [`Self::changes`] those of latencies, where all buckets of one span and one set of names are together; the keys have no detail.
    pub(crate) fn latencies(&self) -> Vec<(MeasureSpan, MeasureKey, LatencyCounts)> {
        let mut all = Vec::<(MeasureSpan, MeasureKey, LatencyCounts)>::new();
        for (span, key, amount) in self.changes().filter(|(_, key, _)| key.metric.is_latency()) {
            let Some(bucket) = latency::parse(&key.detail) else { continue };
            // The detail is the last part of the order.
            match all.last_mut() {
                Some((of, last, counts)) if *of == span && last.differs_in_detail(key) => {
                    counts.add(bucket, amount);
                }
                _ => {
                    let key = MeasureKey { detail: "".into(), ..key.clone() };
                    all.push((span, key, LatencyCounts::of(bucket, amount)));
                }
            }
        }
        all
    }
}

impl MeasureKey {
    /// Whether nothing but the detail may differ.
    fn differs_in_detail(&self, other: &Self) -> bool {
        (self.start, self.metric, self.facet) == (other.start, other.metric, other.facet)
            && (&self.agent, &self.model, &self.tool) == (&other.agent, &other.model, &other.tool)
    }

    /// The row that this one counts in when its span has as many rows as it may have. Names that are empty stay so. A reason is not
    /// kept, since others may be made up without end; a bucket and a currency are.
    pub(crate) fn among_others(&self) -> Self {
        let others = |name: &str| if name.is_empty() { "".into() } else { OTHERS.into() };
        let detail = if self.metric == Metric::Ended { OTHERS.into() } else { self.detail.clone() };
        let (agent, model, tool) = (others(&self.agent), others(&self.model), others(&self.tool));
        Self { agent, model, tool, detail, ..*self }
    }
}
