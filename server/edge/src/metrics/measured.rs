//! The sums of the log as Prometheus reads them: what runs, calls and models took and cost since the log
//! began, whichever process counted it.
//!
//! ```text
//! fanlight_tool_seconds_bucket{tool="sql",le="0.05"} 2
//! fanlight_tokens_total{model="m",kind="fresh"} 6
//! ```
//!
//! Names come from anywhere, so labels are escaped, and of one family at most [`LABELS_MAX`] have lines of
//! their own (I7).

use std::collections::BTreeMap;

use event_log::measure::{HOUR_MS, OTHERS, longest};
use event_log::{Dimension, MeasureQuery, MeasureSum, Measured, Metric};

use super::Page;

/// Most groups of labels of one family; what is more counts together.
const LABELS_MAX: usize = 200;

/// The bounds of histograms, in milliseconds, and as Prometheus writes them.
const BOUNDS: [(u64, &str); 11] = [
    (10, "0.01"),
    (50, "0.05"),
    (100, "0.1"),
    (500, "0.5"),
    (1_000, "1"),
    (5_000, "5"),
    (10_000, "10"),
    (30_000, "30"),
    (60_000, "60"),
    (300_000, "300"),
    (u64::MAX, "+Inf"),
];

/// What is asked of the log, at `now`: the metrics of each family by its labels.
pub(crate) fn queries(now: u64) -> [MeasureQuery; 4] {
    // Whole days: the log has these together.
    let to = now.div_ceil(24 * HOUR_MS).saturating_mul(24 * HOUR_MS);
    let query = |metrics: &[Metric], by: &[Dimension]| MeasureQuery {
        metrics: metrics.to_vec(),
        from: 0,
        to,
        step_ms: to,
        by: by.iter().copied().collect(),
    };
    let of_models = [
        Metric::RunMs,
        Metric::FirstMs,
        Metric::InputTokens,
        Metric::CachedTokens,
        Metric::OutputTokens,
        Metric::ReasoningTokens,
        Metric::Money,
    ];
    [
        query(&[Metric::Runs, Metric::Ended], &[Dimension::Agent, Dimension::Model]),
        query(&[Metric::Calls, Metric::CallsFailed, Metric::CallMs], &[Dimension::Tool]),
        query(&of_models, &[Dimension::Model]),
        query(&[Metric::Waits, Metric::WaitMs], &[]),
    ]
}

/// Writes all families of `measured`.
pub(super) fn put(page: &mut Page, measured: &Measured) {
    let sums = &measured.sums;
    let runs = [Metric::Runs];
    family(page, "fanlight_runs_started_total", "Runs that began.", &grouped(sums, &runs, |_| Vec::new()));
    let ended = grouped(sums, &[Metric::Ended], |sum| {
        vec![("agent", sum.agent.as_str()), ("model", sum.model.as_str()), ("reason", sum.detail.as_str())]
    });
    family(page, "fanlight_runs_ended_total", "Runs that ended, by how.", &ended);
    let by_tool = |metric| grouped(sums, &[metric], |sum| vec![("tool", sum.tool.as_str())]);
    family(page, "fanlight_tool_calls_total", "Calls that ended with a result.", &by_tool(Metric::Calls));
    let failed = by_tool(Metric::CallsFailed);
    family(page, "fanlight_tool_calls_failed_total", "Calls that failed.", &failed);
    histogram(page, "fanlight_tool_seconds", "How long calls took.", &latencies(sums, Metric::CallMs));
    let first = latencies(sums, Metric::FirstMs);
    histogram(page, "fanlight_first_output_seconds", "How long models took to give out anything.", &first);
    histogram(page, "fanlight_run_seconds", "How long runs took.", &latencies(sums, Metric::RunMs));
    tokens(page, sums);
    money(page, sums);
    let waits = [Metric::Waits];
    family(
        page,
        "fanlight_waits_total",
        "Calls that a person answered for.",
        &grouped(sums, &waits, |_| Vec::new()),
    );
    let waited: i128 = sums.iter().filter(|sum| sum.metric == Metric::WaitMs).map(|sum| sum.amount).sum();
    let micros = natural(waited).saturating_mul(1_000);
    page.seconds("fanlight_wait_seconds_total", "How long these waited for the answer.", micros);
}

/// Amounts by their labels, as they are written.
type Amounts = BTreeMap<String, i128>;

/// Adds up the sums of `metrics` by the labels that `labels` gives them. Beyond [`LABELS_MAX`] groups the
/// names become `(others)`.
fn grouped<'a>(
    sums: &'a [MeasureSum],
    metrics: &[Metric],
    labels: impl Fn(&'a MeasureSum) -> Vec<(&'static str, &'a str)>,
) -> Amounts {
    let mut amounts = Amounts::new();
    for sum in sums.iter().filter(|sum| metrics.contains(&sum.metric)) {
        let mut labels = labels(sum);
        let mut text = written(&labels);
        if amounts.len() >= LABELS_MAX && !amounts.contains_key(&text) {
            for (_, value) in &mut labels {
                *value = OTHERS;
            }
            text = written(&labels);
        }
        *amounts.entry(text).or_default() += sum.amount;
    }
    amounts
}

/// Labels as they stand behind a name; nothing for none.
fn written(labels: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

/// A value as it stands within the quotes of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// An amount as a number that Prometheus takes: none below 0, none over 64 bits.
fn natural(amount: i128) -> u64 {
    u64::try_from(amount.max(0)).unwrap_or(u64::MAX)
}

/// Writes a counter with a line for each group of labels.
fn family(page: &mut Page, name: &str, help: &str, amounts: &Amounts) {
    page.head(name, help, "counter");
    for (labels, amount) in amounts {
        page.line(name, labels, natural(*amount));
    }
}

/// Writes tokens by model in four kinds that add up to all. The log counts cached and thinking tokens within
/// others, so they are taken off there.
fn tokens(page: &mut Page, sums: &[MeasureSum]) {
    let name = "fanlight_tokens_total";
    page.head(name, "Tokens, by what they are.", "counter");
    let mut models = BTreeMap::<&str, [i128; 4]>::new();
    for sum in sums {
        let full = models.len() >= LABELS_MAX && !models.contains_key(sum.model.as_str());
        let model = if full { OTHERS } else { sum.model.as_str() };
        let of = |kinds: [i128; 4]| kinds.map(|sign| sign * sum.amount);
        let more = match sum.metric {
            Metric::InputTokens => of([1, 0, 0, 0]),
            Metric::CachedTokens => of([-1, 1, 0, 0]),
            Metric::OutputTokens => of([0, 0, 1, 0]),
            Metric::ReasoningTokens => of([0, 0, -1, 1]),
            _ => continue,
        };
        let kept = models.entry(model).or_default();
        kept.iter_mut().zip(more).for_each(|(kept, more)| *kept += more);
    }
    for (model, amounts) in models {
        for (kind, amount) in ["fresh", "cached", "answer", "thinking"].into_iter().zip(amounts) {
            page.line(name, &written(&[("model", model), ("kind", kind)]), natural(amount));
        }
    }
}

/// Writes money by model and currency, in units of the currency. The log has picos.
fn money(page: &mut Page, sums: &[MeasureSum]) {
    let name = "fanlight_cost_total";
    page.head(name, "Money, by model and currency.", "counter");
    let by = grouped(sums, &[Metric::Money], |sum| {
        vec![("model", sum.model.as_str()), ("currency", sum.detail.as_str())]
    });
    for (labels, picos) in by {
        let (whole, rest) =
            (natural(picos) / 1_000_000_000_000, natural(picos) % 1_000_000_000_000 / 1_000_000);
        page.put(format_args!("{name}{labels} {whole}.{rest:06}\n"));
    }
}

/// Counts by bucket, by label.
type Histograms = BTreeMap<String, BTreeMap<u32, u64>>;

/// The latencies of `metric` by tool or, for first outputs, by model.
fn latencies(sums: &[MeasureSum], metric: Metric) -> Histograms {
    let mut all = Histograms::new();
    for sum in sums.iter().filter(|sum| sum.metric == metric) {
        let (name, value) = if metric == Metric::CallMs {
            ("tool", sum.tool.as_str())
        } else {
            ("model", sum.model.as_str())
        };
        let mut label = format!("{name}=\"{}\"", escaped(value));
        if all.len() >= LABELS_MAX && !all.contains_key(&label) {
            label = format!("{name}=\"{OTHERS}\"");
        }
        let counts = all.entry(label).or_default();
        for (bucket, count) in sum.latencies.iter() {
            let known = counts.entry(bucket).or_default();
            *known = known.saturating_add(natural(i128::from(count)));
        }
    }
    all
}

/// Writes histograms with the bounds of [`BOUNDS`], from the finer buckets of the log.
fn histogram(page: &mut Page, name: &str, help: &str, histograms: &Histograms) {
    page.head(name, help, "histogram");
    for (label, buckets) in histograms {
        for (bound, le) in BOUNDS {
            let below =
                buckets.iter().filter(|(bucket, _)| longest(**bucket) <= bound).map(|(_, count)| count);
            let below = below.fold(0_u64, |sum, count| sum.saturating_add(*count));
            page.put(format_args!("{name}_bucket{{{label},le=\"{le}\"}} {below}\n"));
        }
        let count = buckets.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        // Each counts as long as the longest of its bucket: within 1/32 of the truth.
        let ms = buckets.iter().map(|(bucket, count)| u128::from(longest(*bucket)) * u128::from(*count));
        let ms = ms.fold(0_u128, u128::saturating_add);
        page.put(format_args!("{name}_sum{{{label}}} {}.{:03}\n", ms / 1_000, ms % 1_000));
        page.put(format_args!("{name}_count{{{label}}} {count}\n"));
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the sums' lines.

    use event_log::measure::LatencyCounts;

    use super::*;

    fn sum(metric: Metric, tool: &str, detail: &str, amount: i128) -> MeasureSum {
        let (agent, model) = ("a\"b".into(), "m".into());
        let (tool, detail, latencies) = (tool.into(), detail.into(), LatencyCounts::default());
        MeasureSum { metric, start: 0, agent, model, tool, detail, amount, latencies }
    }

    fn text(sums: Vec<MeasureSum>) -> String {
        let mut page = Page::default();
        put(&mut page, &Measured { sums, since: 0 });
        page.text
    }

    #[test]
    fn sums_become_counters_and_histograms_with_escaped_labels() {
        let page = text(vec![
            sum(Metric::Ended, "", "rate_limited", 3),
            MeasureSum { latencies: LatencyCounts::of(20, 2), ..sum(Metric::CallMs, "sql", "", 2) },
            sum(Metric::InputTokens, "", "", 10),
            sum(Metric::CachedTokens, "", "", 4),
            sum(Metric::Money, "", "USD", 1_250_000_000_000),
        ]);
        for line in [
            "fanlight_runs_ended_total{agent=\"a\\\"b\",model=\"m\",reason=\"rate_limited\"} 3",
            "fanlight_tool_seconds_bucket{tool=\"sql\",le=\"0.01\"} 0",
            "fanlight_tool_seconds_bucket{tool=\"sql\",le=\"0.05\"} 2",
            "fanlight_tool_seconds_bucket{tool=\"sql\",le=\"+Inf\"} 2",
            "fanlight_tool_seconds_sum{tool=\"sql\"} 0.040",
            "fanlight_tool_seconds_count{tool=\"sql\"} 2",
            "fanlight_tokens_total{model=\"m\",kind=\"fresh\"} 6",
            "fanlight_tokens_total{model=\"m\",kind=\"cached\"} 4",
            "fanlight_cost_total{model=\"m\",currency=\"USD\"} 1.250000",
        ] {
            assert!(page.lines().any(|it| it == line), "{line} is not in\n{page}");
        }
    }

    #[test]
    fn i7_labels_beyond_the_limit_are_one() {
        let names: Vec<String> = (0..LABELS_MAX + 9).map(|n| format!("t{n}")).collect();
        let page = text(names.iter().map(|name| sum(Metric::Calls, name, "", 1)).collect());
        let lines: Vec<&str> =
            page.lines().filter(|line| line.starts_with("fanlight_tool_calls_total")).collect();
        assert_eq!(lines.len(), LABELS_MAX + 1);
        assert!(lines.contains(&"fanlight_tool_calls_total{tool=\"(others)\"} 9"));
    }
}
