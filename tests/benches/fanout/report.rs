//! What a run found: medians over the rounds, ratios to the floor, as Markdown and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::json;
use tests::load::spread;

use crate::rows::{Row, RowAnswer, median};

/// Arms of ours that are compared with each other: the first, the second, how many times the cost of the second it may
/// cost, and what that is about.
const PAIRS: [(&str, &str, f64, &str); 2] = [
    ("fanlight-five-roles", "fanlight-one-role", 1.1, "Five roles"),
    ("fanlight", "fanlight-unredacted", 1.05, "Redaction"),
];

/// One answer and where it belongs.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) row: Row,
    pub(crate) arm: &'static str,
    pub(crate) round: u64,
    pub(crate) answer: RowAnswer,
}

/// All answers of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// In the order in which they came.
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// The answers about one arm.
    fn of(&self, row: Row, arm: &str) -> Vec<&RowAnswer> {
        let these = self.findings.iter().filter(|finding| finding.row == row && finding.arm == arm);
        these.map(|finding| &finding.answer).collect()
    }

    /// The median of what the row asks for; nothing when there is no answer.
    pub(crate) fn headline(&self, row: Row, arm: &str) -> Option<f64> {
        let answers = self.of(row, arm);
        let values: Vec<f64> = answers.iter().filter_map(|answer| Some(answer.numbers.first()?.1)).collect();
        (!values.is_empty()).then(|| median(values))
    }

    fn arms(&self, row: Row) -> Vec<&'static str> {
        let mut known = BTreeSet::new();
        let these = self.findings.iter().filter(|finding| finding.row == row).map(|finding| finding.arm);
        these.filter(|arm| known.insert(*arm)).collect()
    }

    /// One table for each row.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for row in Row::ALL {
            let arms = self.arms(row);
            let mut heads: Vec<&str> = Vec::new();
            for (name, _) in arms.iter().flat_map(|arm| self.of(row, arm)).flat_map(|answer| &answer.numbers)
            {
                if !heads.contains(name) {
                    heads.push(name);
                }
            }
            let Some((first, others)) = heads.split_first() else { continue };
            let mut line = |cells: String| writeln!(text, "{cells}").unwrap_or_default();
            line(format!("### {}: {}\n", row.name(), row.title()));
            line(format!("| server | {first} | ratio to floor | {} | problems |", others.join(" | ")));
            line(format!("|---|{}---|", "--:|".repeat(others.len() + 2)));
            for arm in arms {
                line(self.line(row, arm, first, others));
            }
            line(String::new());
            for (arm, beside, most, what) in PAIRS {
                if let (Some(mine), Some(other)) = (self.headline(row, arm), self.headline(row, beside)) {
                    line(format!(
                        "{what}: {arm} takes {:.3} of {beside} ({first}); {most} is the most.\n",
                        mine / other
                    ));
                }
            }
        }
        text
    }

    fn line(&self, row: Row, arm: &str, first: &str, others: &[&str]) -> String {
        let answers = self.of(row, arm);
        let cell = |name: &str| {
            let numbers = answers.iter().flat_map(|answer| &answer.numbers);
            let values: Vec<f64> =
                numbers.filter(|(known, _)| *known == name).map(|(_, value)| *value).collect();
            spread_cell(values)
        };
        let ratio = match (self.headline(row, arm), self.headline(row, "floor")) {
            (Some(mine), Some(floor)) if floor > 0.0 => format!("{:.2}", mine / floor),
            _ => "–".to_owned(),
        };
        let problems: BTreeSet<&str> =
            answers.iter().flat_map(|answer| &answer.problems).map(String::as_str).collect();
        let problems = problems.into_iter().collect::<Vec<_>>().join("; ").replace(['|', '\n'], " ");
        let others: Vec<String> = others.iter().map(|name| cell(name)).collect();
        format!("| {arm} | {} | {ratio} | {} | {problems} |", cell(first), others.join(" | "))
    }

    /// Every number of every round.
    pub(crate) fn json(&self) -> serde_json::Value {
        let each = self.findings.iter().map(|finding| {
            let numbers = finding.answer.numbers.iter();
            let numbers: serde_json::Map<_, _> =
                numbers.map(|(name, value)| ((*name).trim().to_owned(), json!(value))).collect();
            json!({"row": finding.row.name(), "arm": finding.arm, "round": finding.round,
                "numbers": numbers, "problems": finding.answer.problems})
        });
        each.collect()
    }
}

fn readable(value: f64) -> String {
    match value.abs() {
        huge if huge >= 1e6 => format!("{:.2} M", value / 1e6),
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The median, and with several values the least and the most.
fn spread_cell(values: Vec<f64>) -> String {
    let few = values.len() < 2;
    match (values.is_empty(), spread(values)) {
        (true, _) => "–".to_owned(),
        (false, [_, middle, _]) if few => readable(middle),
        (false, [least, middle, most]) => {
            format!("{} ({} to {})", readable(middle), readable(least), readable(most))
        }
    }
}
