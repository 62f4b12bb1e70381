//! Figures over time: one line for each figure and group, with a number for each step. Of more than
//! `SERIES_GROUPS_MAX` groups of a figure the largest have lines of their own, and the rest is one line
//! `(others)`.

use std::collections::BTreeMap;

use event_log::measure::OTHERS;
use event_log::{MeasureQuery, MeasureSum, Measured};
use model::limits::SERIES_GROUPS_MAX;
use serde::Serialize;

use super::Group;
use super::metric::{Figure, Unit, Value};

/// The answer to `GET /v1/series`.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    /// When the first step begins, in milliseconds since 1970.
    from: u64,
    /// When the last one ends, in milliseconds since 1970.
    to: u64,
    /// How long a step is; the last one may be shorter.
    step_ms: u64,
    /// When counting began, in milliseconds since 1970: what happened before was not counted. 0 where all
    /// was.
    since: u64,
    /// One entry for each figure, in the order of the request.
    metrics: Vec<MetricSeries>,
}

/// The lines of one figure.
#[derive(Debug, Serialize)]
struct MetricSeries {
    /// The name of the figure.
    metric: &'static str,
    /// What its numbers count.
    unit: Unit,
    /// The lines, the largest first.
    series: Vec<Line>,
}

/// One line: a number for each step.
#[derive(Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    of: Key,
    /// All steps together; for a percentile that of all.
    total: Option<i64>,
    /// A number for each step, in order; null for a percentile of nothing.
    values: Vec<Option<i64>>,
}

/// What a line is about: a name for each group that was asked for, and the currency of money.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Key {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

impl Key {
    /// The line to which `sum` belongs. Only figures about ended runs have a reason.
    fn of(figure: Figure, groups: &[Group], sum: &MeasureSum) -> Self {
        let name = |group: Group, text: &str| groups.contains(&group).then(|| text.to_owned());
        let is_ended = matches!(figure, Figure::Failures | Figure::Ended);
        Self {
            agent: name(Group::Agent, &sum.agent),
            model: name(Group::Model, &sum.model),
            tool: name(Group::Tool, &sum.tool),
            reason: name(Group::Reason, &sum.detail).filter(|_| is_ended),
            // Money of two currencies is no sum.
            currency: (figure == Figure::Cost).then(|| sum.detail.to_string()),
        }
    }

    /// The line of those that have none of their own.
    fn others(&self) -> Self {
        let others = |name: &Option<String>| name.as_ref().map(|_| OTHERS.to_owned());
        Self {
            agent: others(&self.agent),
            model: others(&self.model),
            tool: others(&self.tool),
            reason: others(&self.reason),
            currency: self.currency.clone(),
        }
    }
}

impl Series {
    /// The lines of `figures`, told apart by `groups`.
    pub(super) fn of(
        figures: &[Figure],
        groups: &[Group],
        query: &MeasureQuery,
        measured: &Measured,
    ) -> Self {
        let steps = usize::try_from((query.to - query.from).div_ceil(query.step_ms.max(1))).unwrap_or(0);
        let metrics = figures.iter().map(|figure| MetricSeries {
            metric: figure.name(),
            unit: figure.unit(),
            series: lines(*figure, groups, query, &measured.sums, steps),
        });
        Self {
            from: query.from,
            to: query.to,
            step_ms: query.step_ms,
            since: measured.since,
            metrics: metrics.collect(),
        }
    }
}

/// The lines of one figure. Two passes: the first finds the largest groups by their totals, the second adds
/// up the steps of those and puts all others together.
fn lines(
    figure: Figure,
    groups: &[Group],
    query: &MeasureQuery,
    sums: &[MeasureSum],
    steps: usize,
) -> Vec<Line> {
    let sums: Vec<&MeasureSum> = sums.iter().filter(|sum| figure.takes(sum)).collect();
    let mut totals = BTreeMap::<Key, Value>::new();
    for sum in &sums {
        totals.entry(Key::of(figure, groups, sum)).or_default().add(figure, sum);
    }
    let mut ranked: Vec<(&Key, i128)> = totals.iter().map(|(key, value)| (key, value.weight())).collect();
    ranked.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let own: Vec<Key> = ranked.iter().take(SERIES_GROUPS_MAX).map(|(key, _)| (*key).clone()).collect();
    let mut lines = BTreeMap::<Key, (Value, Vec<Value>)>::new();
    for sum in sums {
        let key = Key::of(figure, groups, sum);
        let key = if own.contains(&key) { key } else { key.others() };
        let (total, values) =
            lines.entry(key).or_insert_with(|| (Value::default(), vec![Value::default(); steps]));
        total.add(figure, sum);
        let step = usize::try_from(sum.start.saturating_sub(query.from) / query.step_ms.max(1))
            .unwrap_or(usize::MAX);
        if let Some(value) = values.get_mut(step) {
            value.add(figure, sum);
        }
    }
    // The largest first, as they are drawn and read.
    let mut lines: Vec<(i128, Line)> = lines
        .into_iter()
        .map(|(of, (total, values))| {
            let told = values.iter().map(|value| value.told(figure)).collect();
            (total.weight(), Line { of, total: total.told(figure), values: told })
        })
        .collect();
    lines.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    lines.into_iter().map(|(_, line)| line).collect()
}
