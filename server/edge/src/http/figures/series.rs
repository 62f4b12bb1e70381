//! Figures over time: one line for each figure and group, with a number for each step. Of more than
//! `SERIES_GROUPS_MAX` groups of a figure the largest have lines of their own, and the rest is one line
//! `(others)`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use event_log::measure::OTHERS;
use event_log::{MeasureQuery, MeasureSum, Measured, Metric};
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

/// A line: a number for each step.
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

/// A [`Key`] that borrows the names of a sum; those that are not told apart are empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Names<'a> {
    agent: &'a str,
    model: &'a str,
    tool: &'a str,
    reason: &'a str,
    currency: &'a str,
}

/// What the lines of a figure are told apart by.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "one for each name of a line")]
struct Apart {
    agent: bool,
    model: bool,
    tool: bool,
    reason: bool,
    currency: bool,
}

impl Apart {
    /// Only figures about ended runs have a reason, and money of two currencies is no sum.
    fn of(figure: Figure, groups: &[Group]) -> Self {
        let is_ended = matches!(figure, Figure::Failures | Figure::Ended);
        Self {
            agent: groups.contains(&Group::Agent),
            model: groups.contains(&Group::Model),
            tool: groups.contains(&Group::Tool),
            reason: groups.contains(&Group::Reason) && is_ended,
            currency: figure == Figure::Cost,
        }
    }

    /// The line to which `sum` belongs.
    fn names(self, sum: &MeasureSum) -> Names<'_> {
        Names {
            agent: if self.agent { &sum.agent } else { "" },
            model: if self.model { &sum.model } else { "" },
            tool: if self.tool { &sum.tool } else { "" },
            reason: if self.reason { &sum.detail } else { "" },
            currency: if self.currency { &sum.detail } else { "" },
        }
    }

    fn key(self, names: Names<'_>) -> Key {
        let name = |is_told: bool, text: &str| is_told.then(|| text.to_owned());
        Key {
            agent: name(self.agent, names.agent),
            model: name(self.model, names.model),
            tool: name(self.tool, names.tool),
            reason: name(self.reason, names.reason),
            currency: name(self.currency, names.currency),
        }
    }
}

impl Key {
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
        let mut sums = BTreeMap::<Metric, Vec<&MeasureSum>>::new();
        for sum in &measured.sums {
            sums.entry(sum.metric).or_default().push(sum);
        }
        // Percentiles of the same latency are told of the same lines: these are added up once.
        let mut added = Vec::<(Figure, Vec<AddedLine>)>::new();
        let mut metrics = Vec::with_capacity(figures.len());
        for figure in figures {
            let of = added.iter().position(|(known, _)| known.has_values_of(*figure)).unwrap_or_else(|| {
                let own = figure.metrics().iter().filter_map(|metric| sums.get(metric)).flatten().copied();
                let own = own.filter(|sum| figure.takes(sum)).collect::<Vec<_>>();
                added.push((*figure, lines(*figure, groups, query, &own, steps)));
                added.len() - 1
            });
            let lines = added.get(of).map_or(&[][..], |(_, lines)| lines);
            let series = lines.iter().map(|line| line.told(*figure)).collect();
            metrics.push(MetricSeries { metric: figure.name(), unit: figure.unit(), series });
        }
        Self { from: query.from, to: query.to, step_ms: query.step_ms, since: measured.since, metrics }
    }
}

/// A line that is added up, before its numbers are told.
struct AddedLine {
    of: Key,
    total: Value,
    values: Vec<Value>,
}

impl AddedLine {
    fn told(&self, figure: Figure) -> Line {
        Line {
            of: self.of.clone(),
            total: self.total.told(figure),
            values: self.values.iter().map(|value| value.told(figure)).collect(),
        }
    }
}

/// The lines of one figure, of `sums`, which are its own. Two passes: the first finds the largest groups by their totals, the second
/// adds up the steps of those and puts all others together.
fn lines(
    figure: Figure,
    groups: &[Group],
    query: &MeasureQuery,
    sums: &[&MeasureSum],
    steps: usize,
) -> Vec<AddedLine> {
    let apart = Apart::of(figure, groups);
    // The number of each sum's group, and the groups with their totals.
    let mut numbers = HashMap::<Names<'_>, usize>::new();
    let mut totals = Vec::<(Key, Value)>::new();
    let mut of_sum = Vec::with_capacity(sums.len());
    for sum in sums {
        let names = apart.names(sum);
        let number = *numbers.entry(names).or_insert_with(|| {
            totals.push((apart.key(names), Value::default()));
            totals.len() - 1
        });
        if let Some((_, total)) = totals.get_mut(number) {
            total.add(figure, sum);
        }
        of_sum.push(number);
    }
    let mut ranked: Vec<usize> = (0..totals.len()).collect();
    let place = |number: &usize| totals.get(*number).map(|(key, total)| (Reverse(total.weight()), key));
    ranked.sort_by(|left, right| place(left).cmp(&place(right)));
    // The groups beyond the limit share the line of the others.
    let mut homes = BTreeMap::<Key, usize>::new();
    let mut lines = Vec::<AddedLine>::new();
    let mut line_of = vec![0; totals.len()];
    for (rank, number) in ranked.into_iter().enumerate() {
        let Some((key, total)) = totals.get(number) else { continue };
        let of = if rank < SERIES_GROUPS_MAX { key.clone() } else { key.others() };
        let line = *homes.entry(of.clone()).or_insert_with(|| {
            let values = vec![Value::default(); steps];
            lines.push(AddedLine { of, total: Value::default(), values });
            lines.len() - 1
        });
        if let Some(line) = lines.get_mut(line) {
            line.total.plus(total);
        }
        if let Some(home) = line_of.get_mut(number) {
            *home = line;
        }
    }
    for (sum, number) in sums.iter().zip(of_sum) {
        let step = usize::try_from(sum.start.saturating_sub(query.from) / query.step_ms.max(1));
        let line = line_of.get(number).and_then(|line| lines.get_mut(*line));
        let value = line.zip(step.ok()).and_then(|(line, step)| line.values.get_mut(step));
        if let Some(value) = value {
            value.add(figure, sum);
        }
    }
    // The largest first, as they are drawn and read.
    lines.sort_by(|left, right| {
        right.total.weight().cmp(&left.total.weight()).then_with(|| left.of.cmp(&right.of))
    });
    lines
}
