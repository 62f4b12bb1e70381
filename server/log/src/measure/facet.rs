//! By which names sums are kept. Counts are told apart by all names at once. A latency has a row for each of its buckets, and
//! those of all combinations of names would be more than a question can add up in time: so latencies are kept in total and by one
//! name alone.

use std::collections::BTreeSet;

use super::{Dimension, MeasureQuery, Metric};
use crate::LogError;

/// The names that tell the rows of a metric apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Facet {
    /// Agent, model and tool.
    Every = 0,
    /// No name: totals.
    Total = 1,
    /// Only the name of the agent.
    Agent = 2,
    /// Only the name of the model.
    Model = 3,
    /// Only the name of the tool.
    Tool = 4,
    /// The agent and the model together.
    AgentModel = 5,
}

/// The step between the numbers of facets in the database's column of metrics: a metric that is kept by facet
/// 2 has the number 200 plus its own. So one column holds both, and metrics may have numbers up to 99.
const FACET: i64 = 100;

impl Facet {
    /// The facets by which a metric is kept.
    pub(crate) fn of(metric: Metric) -> &'static [Self] {
        match metric {
            Metric::RunMs | Metric::FirstMs => &[Self::Total, Self::Agent, Self::Model],
            Metric::CallMs => &[Self::Total, Self::Agent, Self::Model, Self::Tool],
            _ => &[Self::Every],
        }
    }

    /// By what the log on disk keeps sums of a metric besides, so that a question reads about as many rows as it answers. A month by the
    /// hour has 10,000 rows of runs by agent and model, and 720 totals. Calls have as many rows by agent, model and tool together
    /// as there are tools in each conversation, and a question about them names few of these.
    pub(crate) fn summed(metric: Metric) -> &'static [Self] {
        match metric {
            Metric::Calls | Metric::CallsFailed => {
                &[Self::Total, Self::Agent, Self::Model, Self::Tool, Self::AgentModel]
            }
            Metric::RunMs | Metric::FirstMs | Metric::CallMs => &[],
            _ => &[Self::Total],
        }
    }

    /// Of the facets in [`Facet::summed`] the one that answers a question by these names; `None` if no such sums are kept.
    pub(crate) fn summed_by(metric: Metric, by: &BTreeSet<Dimension>) -> Option<Self> {
        let facet = match by.iter().copied().collect::<Vec<_>>().as_slice() {
            [] => Self::Total,
            [Dimension::Agent] => Self::Agent,
            [Dimension::Model] => Self::Model,
            [Dimension::Tool] => Self::Tool,
            [Dimension::Agent, Dimension::Model] => Self::AgentModel,
            _ => return None,
        };
        Self::summed(metric).contains(&facet).then_some(facet)
    }

    /// Each metric with each of its facets, those of [`Facet::summed`] too.
    pub(crate) fn all() -> impl Iterator<Item = (Metric, Self)> {
        let facets = |metric| Self::of(metric).iter().chain(Self::summed(metric));
        Metric::ALL.into_iter().flat_map(move |metric| facets(metric).map(move |facet| (metric, *facet)))
    }

    /// Whether rows of this facet name `dimension`.
    pub(crate) fn tells_apart(self, dimension: Dimension) -> bool {
        match self {
            Self::Every => true,
            Self::Total => false,
            Self::Agent => dimension == Dimension::Agent,
            Self::Model => dimension == Dimension::Model,
            Self::Tool => dimension == Dimension::Tool,
            Self::AgentModel => dimension != Dimension::Tool,
        }
    }

    /// The metrics of a query, each with the facet that answers it. Fails with [`LogError::BadQuery`] for a latency that is asked
    /// for by several names.
    pub(crate) fn asked(query: &MeasureQuery) -> Result<Vec<(Metric, Self)>, LogError> {
        query.metrics.iter().map(|metric| Ok((*metric, Self::asked_of(*metric, query)?))).collect()
    }

    /// The facet that answers `query` for `metric`: the one name that the metric is kept by and the query
    /// asks for; the total if there is none; an error if there are several.
    fn asked_of(metric: Metric, query: &MeasureQuery) -> Result<Self, LogError> {
        let facets = Self::of(metric);
        if let [Self::Every] = facets {
            return Ok(Self::Every);
        }
        // What has no such name is in the total.
        let mut names = query
            .by
            .iter()
            .map(|dimension| match dimension {
                Dimension::Agent => Self::Agent,
                Dimension::Model => Self::Model,
                Dimension::Tool => Self::Tool,
            })
            .filter(|facet| facets.contains(facet));
        match (names.next(), names.next()) {
            (found, None) => Ok(found.unwrap_or(Self::Total)),
            (_, Some(_)) => Err(LogError::BadQuery(String::from(
                "latencies are kept by one name at a time: by agent, by model or by tool; ask for each of them",
            ))),
        }
    }

    /// The number of `metric` with this facet in a database.
    pub(crate) fn number(self, metric: Metric) -> i64 {
        metric.number() + FACET * self as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_a_number_of_its_own_in_each_facet() {
        let numbers: Vec<_> = Facet::all().map(|(metric, facet)| facet.number(metric)).collect();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    }

    #[test]
    fn latencies_are_asked_for_by_one_name() {
        let asked = |metric: Metric, by: &[Dimension]| {
            let by = by.iter().copied().collect();
            Facet::asked(&MeasureQuery { metrics: vec![metric], from: 0, to: 1, step_ms: 1, by })
        };
        use Dimension::{Agent, Model, Tool};
        assert_eq!(asked(Metric::CallMs, &[]).unwrap(), [(Metric::CallMs, Facet::Total)]);
        assert_eq!(asked(Metric::CallMs, &[Tool]).unwrap(), [(Metric::CallMs, Facet::Tool)]);
        assert_eq!(asked(Metric::RunMs, &[Tool]).unwrap(), [(Metric::RunMs, Facet::Total)]);
        assert_eq!(asked(Metric::RunMs, &[Model, Tool]).unwrap(), [(Metric::RunMs, Facet::Model)]);
        assert_eq!(asked(Metric::Runs, &[Agent, Model, Tool]).unwrap(), [(Metric::Runs, Facet::Every)]);
        assert!(asked(Metric::CallMs, &[Agent, Tool]).unwrap_err().to_string().contains("by tool"));
    }
}
