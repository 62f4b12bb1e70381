//! What the dashboard shows: its panels, what it asks the hub for, and what the hub answers.

use serde::Deserialize;

use super::address::{DashboardAddress, GroupBy, RunsAddress};

/// Milliseconds of an hour.
pub const HOUR_MS: u64 = 3_600_000;

/// Figures over time, as `GET /v1/series` answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Series {
    /// When the first step begins, in milliseconds since 1970.
    pub from: u64,
    /// The length of each step, in milliseconds.
    pub step_ms: u64,
    /// When the hub began to count, in milliseconds since 1970: what happened before is in no number. 0 if
    /// all was counted.
    pub since: u64,
    /// One for each metric that was asked for.
    pub metrics: Vec<MetricSeries>,
}

/// The figures of one metric over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct MetricSeries {
    /// The name that was asked for, such as `runs` or `tool_p95`.
    pub metric: String,
    /// The lines of the metric, the largest first.
    pub series: Vec<Line>,
}

/// A line of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Line {
    /// The agent, if lines are told apart by agent; the next four fields likewise.
    pub agent: Option<String>,
    /// The name of the model.
    pub model: Option<String>,
    /// The name of the tool.
    pub tool: Option<String>,
    /// The way in which the runs ended.
    pub reason: Option<String>,
    /// The code of the currency.
    pub currency: Option<String>,
    /// All steps together, in the metric's unit; `None` where the hub gives no sum.
    pub total: Option<i64>,
    /// A number for each step, in the metric's unit; `None` where nothing was measured.
    pub values: Vec<Option<i64>>,
}

impl Line {
    /// What it is called beside others of its kind: how runs ended, agent, model or tool, and the currency
    /// unless it is USD. Empty if it is all there is.
    pub fn name(&self) -> String {
        let word = |name: &Option<String>| {
            name.as_deref().map(|it| if it.is_empty() { "(no name)".to_owned() } else { it.to_owned() })
        };
        let of = word(&self.agent).or_else(|| word(&self.model)).or_else(|| word(&self.tool));
        let names = [word(&self.reason), of, self.currency.clone().filter(|it| it != "USD")];
        names.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// What the numbers of a panel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Milliseconds of time.
    Ms,
    /// Millionths of a currency.
    Money,
}

/// The form in which a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Bars, one line on the other: values can be added.
    Bars,
    /// Lines: values, such as percentiles, cannot be added.
    Lines,
}

/// What a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PanelSpec {
    /// The heading of the panel.
    pub title: &'static str,
    /// The metrics that it asks `GET /v1/series` for, each with the word for it in the legend.
    pub metrics: &'static [(&'static str, &'static str)],
    /// The unit of its numbers.
    pub unit: Unit,
    /// The form in which it is drawn.
    pub shape: Shape,
    /// The filter of the table of runs behind a point, in the language of [`crate::fleet`].
    pub filter: &'static str,
    /// Whether tools are what its lines can be told apart by, besides agents and models.
    pub is_of_tools: bool,
}

/// All panels, in the order in which they stand.
pub const PANELS: [PanelSpec; 9] = [
    PanelSpec {
        title: "Runs",
        metrics: &[("runs", "runs")],
        unit: Unit::Count,
        shape: Shape::Bars,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Runs that did not complete",
        metrics: &[("failures", "")],
        unit: Unit::Count,
        shape: Shape::Bars,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Tokens",
        metrics: &[
            ("fresh_tokens", "read"),
            ("cached_tokens", "read from cache"),
            ("answer_tokens", "written"),
            ("thinking_tokens", "thinking"),
        ],
        unit: Unit::Count,
        shape: Shape::Bars,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Cost",
        metrics: &[("cost", "")],
        unit: Unit::Money,
        shape: Shape::Bars,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Time to first output",
        metrics: &[("first_p50", "p50"), ("first_p95", "p95"), ("first_p99", "p99")],
        unit: Unit::Ms,
        shape: Shape::Lines,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Duration of runs",
        metrics: &[("run_p50", "p50"), ("run_p95", "p95"), ("run_p99", "p99")],
        unit: Unit::Ms,
        shape: Shape::Lines,
        filter: "",
        is_of_tools: false,
    },
    PanelSpec {
        title: "Duration of tool calls",
        metrics: &[("tool_p50", "p50"), ("tool_p95", "p95"), ("tool_p99", "p99")],
        unit: Unit::Ms,
        shape: Shape::Lines,
        filter: "",
        is_of_tools: true,
    },
    PanelSpec {
        title: "Tool calls that failed",
        metrics: &[("call_failures", "failed")],
        unit: Unit::Count,
        shape: Shape::Bars,
        filter: "has:error",
        is_of_tools: true,
    },
    PanelSpec {
        title: "Waiting for a person",
        metrics: &[("wait_ms", "waited")],
        unit: Unit::Ms,
        shape: Shape::Bars,
        filter: "",
        is_of_tools: true,
    },
];

impl PanelSpec {
    /// Whether its lines are told apart by `by`. Tools tell apart only what is of tools: a run has no tool.
    pub fn is_told_by(&self, by: GroupBy) -> bool {
        match by {
            GroupBy::All => false,
            GroupBy::Tool => self.is_of_tools,
            GroupBy::Agent | GroupBy::Model => true,
        }
    }

    /// The metrics that it draws. If lines are told apart, each group has one line: of several percentiles
    /// the one in the middle, of several kinds of tokens all of them together.
    pub fn drawn(&self, by: GroupBy) -> &'static [(&'static str, &'static str)] {
        match self.metrics {
            // One colour is one group: percentiles and kinds of tokens would be as many for each.
            [_, middle, ..] if self.is_told_by(by) && self.shape == Shape::Lines => {
                std::slice::from_ref(middle)
            }
            [_, _, ..] if self.is_told_by(by) => &[("tokens", "")],
            metrics => metrics,
        }
    }

    /// The path of the request: whole steps up to the hub's time `now`, the one that has begun included.
    pub fn path(&self, address: DashboardAddress, now: u64) -> String {
        let ((from, to), step) = span(address, now);
        let names: Vec<&str> = self.drawn(address.by).iter().map(|(name, _)| *name).collect();
        let mut by = Vec::new();
        by.extend(self.metrics.first().filter(|(name, _)| *name == "failures").map(|_| "reason"));
        by.extend(self.is_told_by(address.by).then(|| address.by.word()));
        format!("/v1/series?metric={}&from={from}&to={to}&step={step}h&by={}", names.join(","), by.join(","))
    }

    /// The address of the table of runs of the time from `from` to `to`, in milliseconds since 1970, and of those behind `line` if
    /// there is one. Names are cut to their first word, since a condition of the filter is one word.
    pub fn behind(&self, line: Option<&Line>, (from, to): (u64, u64)) -> String {
        let mut words = vec![self.filter.to_owned()];
        let mut narrow = |key: &str, name: Option<&String>| {
            // A condition has one word, which is looked for in the name.
            let word = name.and_then(|name| name.split_whitespace().next()).filter(|it| !it.starts_with('('));
            words.extend(word.map(|word| format!("{key}:{word}")));
        };
        if let Some(line) = line {
            narrow("agent", line.agent.as_ref());
            narrow("model", line.model.as_ref());
            narrow("tool", line.tool.as_ref());
            // A reason is compared as a whole, so that one with spaces cannot be asked for.
            words.extend(line.reason.as_deref().map(|reason| {
                if reason.contains(char::is_whitespace) {
                    "state:error".to_owned()
                } else {
                    format!("reason:{reason}")
                }
            }));
        }
        let filter = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        RunsAddress { filter, time: Some((from, to)), ..RunsAddress::default() }.address()
    }
}

/// The time that is chosen, in milliseconds since 1970, and the length of one step in hours. It ends with the
/// step in which `now` is.
fn span(address: DashboardAddress, now: u64) -> ((u64, u64), u64) {
    let (hours, step) = address.range.hours();
    let unit = step.saturating_mul(HOUR_MS);
    let to = now.div_ceil(unit).saturating_mul(unit);
    ((to.saturating_sub(hours.saturating_mul(HOUR_MS)), to), step)
}

/// What to ask the hub for to know of how many tokens no price is known: the metrics `tokens` and
/// `unpriced_tokens` of the chosen time.
pub fn unpriced_path(address: DashboardAddress, now: u64) -> String {
    let ((from, to), step) = span(address, now);
    format!("/v1/series?metric=tokens,unpriced_tokens&from={from}&to={to}&step={step}h&by=")
}

/// The address of the figures of the chosen time as CSV, by day and by what lines are told apart by.
pub fn csv_path(address: DashboardAddress, now: u64) -> String {
    let ((from, to), _) = span(address, now);
    let by = match address.by {
        GroupBy::All => "day",
        GroupBy::Agent => "day,agent",
        GroupBy::Model => "day,model",
        GroupBy::Tool => "day,tool",
    };
    format!("/v1/usage?format=csv&by={by}&from={from}&to={to}")
}

#[cfg(test)]
mod tests {
    //! Tests of what is asked for.

    use super::super::address::Range;
    use super::*;

    #[test]
    fn a_panel_asks_for_whole_steps_and_its_own_groups() {
        let [runs, failures, .., waits] = PANELS;
        let now = 1_795_300_000_000;
        let day = DashboardAddress { range: Range::Month, by: GroupBy::Model };
        let path = runs.path(day, now);
        assert!(path.contains("step=24h") && path.ends_with("by=model"), "{path}");
        assert!(failures.path(day, now).ends_with("by=reason,model"));
        assert!(waits.path(DashboardAddress { by: GroupBy::Tool, ..day }, now).ends_with("by=tool"));
        assert!(runs.path(DashboardAddress { by: GroupBy::Tool, ..day }, now).ends_with("by="));
        let hour = DashboardAddress::default();
        let (from, to) = (1_795_212_000_000_u64, 1_795_302_000_000_u64);
        let asked = runs.path(hour, now);
        let number = |name: &str| -> u64 {
            asked.split(name).nth(1).unwrap().split('&').next().unwrap().parse().unwrap()
        };
        assert_eq!(number("to=") - number("from="), 24 * HOUR_MS);
        assert!(number("from=") >= from && number("to=") <= to + HOUR_MS && number("to=") >= now);
    }

    #[test]
    fn the_table_and_the_notes_are_of_the_time_that_is_shown() {
        let now = 1_795_300_000_000;
        let address = DashboardAddress { range: Range::Month, by: GroupBy::Tool };
        let asked = PANELS[0].path(address, now);
        let time = asked.split_once("&from=").unwrap().1.split_once("&step=").unwrap().0;
        assert_eq!(csv_path(address, now), format!("/v1/usage?format=csv&by=day,tool&from={time}"));
        let notes = unpriced_path(address, now);
        assert_eq!(notes, format!("/v1/series?metric=tokens,unpriced_tokens&from={time}&step=24h&by="));
    }

    #[test]
    fn behind_a_point_are_the_runs_of_that_time_and_kind() {
        let [_, failures, ..] = PANELS;
        let line = Line { model: Some("m 1".into()), reason: Some("rate_limited".into()), ..Line::default() };
        let address = failures.behind(Some(&line), (1_000, 1_500));
        let read = RunsAddress::parse(address.split_once('?').unwrap().1);
        assert_eq!((read.filter.as_str(), read.time), ("model:m reason:rate_limited", Some((1_000, 1_500))));
        let spaced = Line { reason: Some("rate limited".into()), ..Line::default() };
        let address = failures.behind(Some(&spaced), (1, 2));
        assert_eq!(RunsAddress::parse(address.split_once('?').unwrap().1).filter, "state:error");
        let others = Line { agent: Some("(others)".into()), ..Line::default() };
        assert_eq!(RunsAddress::parse(&failures.behind(Some(&others), (1, 2))).filter, "");
    }

    #[test]
    fn lines_are_named_by_what_tells_them_apart() {
        let line = Line { model: Some(String::new()), currency: Some("EUR".into()), ..Line::default() };
        assert_eq!(line.name(), "(no name) · EUR");
        assert_eq!(Line { currency: Some("USD".into()), ..Line::default() }.name(), "");
    }
}
