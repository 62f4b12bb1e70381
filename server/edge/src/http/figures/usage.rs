//! What was used: a table with one row for each agent, model, tool or day, or for each combination that there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use event_log::measure::DAY_MS;
use event_log::{LogError, MeasureSum, Measured, Metric};
use model::event::{Cost, Currency};
use model::limits::USAGE_ROWS_MAX;
use serde::Serialize;

use super::Group;

/// The table of what was used.
#[derive(Debug, Serialize)]
pub(super) struct Usage {
    /// What happened before was not counted, in milliseconds since 1970; 0 where all was.
    since: u64,
    /// The rows, in the order of day, agent, model and tool.
    rows: Vec<Row>,
}

/// A row. What models used stands in rows without a tool, since no tool used it. The numbers have the meaning
/// of the figures of the same names in `metric`.
#[derive(Debug, Clone, Default, Serialize)]
struct Row {
    #[serde(flatten)]
    of: Key,
    runs: i64,
    failures: i64,
    calls: i64,
    call_failures: i64,
    fresh_tokens: i64,
    cached_tokens: i64,
    answer_tokens: i64,
    thinking_tokens: i64,
    unpriced_tokens: i64,
    waits: i64,
    wait_ms: i64,
    cost: Vec<Cost>,
}

/// What a row is about: a name for each group that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Key {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
}

impl Usage {
    /// What of the log it is made of.
    pub(super) fn metrics() -> Vec<Metric> {
        let is_latency = |metric: &Metric| matches!(metric, Metric::RunMs | Metric::FirstMs | Metric::CallMs);
        Metric::ALL.into_iter().filter(|metric| !is_latency(metric)).collect()
    }

    /// The table of `measured`, by `groups`. Fails with `BadQuery` when it has more than `USAGE_ROWS_MAX`
    /// rows.
    pub(super) fn of(groups: &[Group], measured: &Measured) -> Result<Self, LogError> {
        let mut rows = BTreeMap::<Key, (Row, BTreeMap<String, i128>)>::new();
        for sum in &measured.sums {
            let name = |group: Group, text: &str| groups.contains(&group).then(|| text.to_owned());
            let key = Key {
                day: name(Group::Day, &day(sum.start)),
                agent: name(Group::Agent, &sum.agent),
                model: name(Group::Model, &sum.model),
                tool: name(Group::Tool, &sum.tool),
            };
            let (row, money) = rows.entry(key).or_default();
            row.add(sum);
            if sum.metric == Metric::Money {
                *money.entry(sum.detail.to_string()).or_default() += sum.amount;
            }
        }
        if rows.len() > USAGE_ROWS_MAX {
            return Err(LogError::BadQuery(format!(
                "these are {} rows, and the limit is {USAGE_ROWS_MAX}; ask for a shorter time or fewer groups",
                rows.len()
            )));
        }
        let rows = rows.into_iter().map(|(of, (row, money))| Row { of, cost: costs(&money), ..row });
        Ok(Self { since: measured.since, rows: rows.collect() })
    }

    /// The table for a spreadsheet.
    pub(super) fn csv(&self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
            (header::CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\""),
        ];
        (headers, self.csv_text()).into_response()
    }

    /// A line with the names of the columns and one for each row, with `\r\n` between them (RFC 4180). A
    /// table without rows is empty.
    fn csv_text(&self) -> String {
        let code = |cost: &Cost| cost.currency().as_str().to_owned();
        let currencies: BTreeSet<String> = self.rows.iter().flat_map(|row| &row.cost).map(code).collect();
        let Some(first) = self.rows.first() else { return String::new() };
        let mut text = String::new();
        let keys = first.of.cells().into_iter().map(|(name, _)| name.to_owned());
        let numbers = first.numbers().into_iter().map(|(name, _)| name.to_owned());
        let money = currencies.iter().map(|currency| format!("cost_{currency}"));
        line(&mut text, keys.chain(numbers).chain(money));
        for row in &self.rows {
            let keys = row.of.cells().into_iter().map(|(_, value)| cell(value));
            let numbers = row.numbers().into_iter().map(|(_, value)| value.to_string());
            let money = currencies.iter().map(|currency| {
                let cost = row.cost.iter().find(|cost| cost.currency().as_str() == *currency);
                cost.map(Cost::amount).unwrap_or_default()
            });
            line(&mut text, keys.chain(numbers).chain(money));
        }
        text
    }
}

/// Appends a line of CSV; the cells are quoted already.
fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    // A string takes everything.
    writeln!(text, "{}\r", cells.join(",")).unwrap_or_default();
}

/// A text as a cell, quoted if it must be. Programs that show tables take what begins with some signs for a
/// formula, and names come from anywhere: such a text gets an apostrophe in front.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Money by currency, from picos; of one that has no code nothing is told.
fn costs(money: &BTreeMap<String, i128>) -> Vec<Cost> {
    let cost = |(code, picos): (&String, &i128)| {
        Some(Cost::new(u64::try_from(*picos).ok()?, Currency::parse(code)?))
    };
    money.iter().filter_map(cost).collect()
}

impl Key {
    /// The columns with names, those that were asked for alone.
    fn cells(&self) -> Vec<(&'static str, &str)> {
        let all = [("day", &self.day), ("agent", &self.agent), ("model", &self.model), ("tool", &self.tool)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }
}

impl Row {
    /// Adds a sum of the log to the fields that it belongs to. Cached and thinking tokens are part of others
    /// in the log and are taken off there.
    fn add(&mut self, sum: &MeasureSum) {
        let amount = i64::try_from(sum.amount).unwrap_or(i64::MAX);
        let add = |fields: &mut [(&mut i64, i64)]| {
            for (field, amount) in fields {
                **field = field.saturating_add(*amount);
            }
        };
        match sum.metric {
            Metric::Runs => add(&mut [(&mut self.runs, amount)]),
            Metric::Ended if sum.detail != "complete" => add(&mut [(&mut self.failures, amount)]),
            Metric::Calls => add(&mut [(&mut self.calls, amount)]),
            Metric::CallsFailed => add(&mut [(&mut self.call_failures, amount)]),
            Metric::InputTokens => add(&mut [(&mut self.fresh_tokens, amount)]),
            Metric::CachedTokens => {
                add(&mut [(&mut self.cached_tokens, amount), (&mut self.fresh_tokens, -amount)]);
            }
            Metric::OutputTokens => add(&mut [(&mut self.answer_tokens, amount)]),
            Metric::ReasoningTokens => {
                add(&mut [(&mut self.thinking_tokens, amount), (&mut self.answer_tokens, -amount)]);
            }
            Metric::UnpricedTokens => add(&mut [(&mut self.unpriced_tokens, amount)]),
            Metric::Waits => add(&mut [(&mut self.waits, amount)]),
            Metric::WaitMs => add(&mut [(&mut self.wait_ms, amount)]),
            Metric::Ended | Metric::RunMs | Metric::FirstMs | Metric::CallMs | Metric::Money => {}
        }
    }

    /// The columns with numbers, in the order of the file.
    fn numbers(&self) -> [(&'static str, i64); 11] {
        [
            ("runs", self.runs),
            ("failures", self.failures),
            ("calls", self.calls),
            ("call_failures", self.call_failures),
            ("fresh_tokens", self.fresh_tokens),
            ("cached_tokens", self.cached_tokens),
            ("answer_tokens", self.answer_tokens),
            ("thinking_tokens", self.thinking_tokens),
            ("unpriced_tokens", self.unpriced_tokens),
            ("waits", self.waits),
            ("wait_ms", self.wait_ms),
        ]
    }
}

/// The day of UTC that a time is in: `2026-11-25`.
fn day(at: u64) -> String {
    // Howard Hinnant's algorithm, for days since 1970-01-01.
    let days = at / DAY_MS + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    //! Tests of the table's texts.

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (at, told) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_795_300_000_000, "2026-11-21"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(day(at), told);
        }
    }

    #[test]
    fn cells_are_quoted_and_are_no_formulas() {
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(cell("=1+2"), "'=1+2");
        assert_eq!(cell("@cmd"), "'@cmd");
        assert_eq!(cell("plain"), "plain");
    }

    #[test]
    fn money_of_each_currency_has_a_column() {
        let cost = |code: &str, amount: &str| Cost::parse(amount, Currency::parse(code).unwrap()).unwrap();
        let of = |agent: &str| Key { agent: Some(agent.into()), ..Key::default() };
        let rows = vec![
            Row { of: of("a"), runs: 1, cost: vec![cost("EUR", "0.5"), cost("USD", "1")], ..Row::default() },
            Row { of: of("b,c"), runs: 2, ..Row::default() },
        ];
        let text = Usage { since: 0, rows }.csv_text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("agent,runs,failures") && lines[0].ends_with("cost_EUR,cost_USD"),
            "{text}"
        );
        assert!(lines[1].ends_with(",0.5,1") && lines[2].starts_with("\"b,c\",2,"), "{text}");
    }
}
