//! What was found, as tables.

use std::io::Write as _;

use indexmap::IndexMap;
use serde_json::json;

use crate::Outcome;
use crate::args::Args;
use crate::gauge::Found;
use crate::histogram::median;

/// The medians of all rounds.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// By row, by what was measured, by arm.
    rows: IndexMap<String, IndexMap<&'static str, IndexMap<&'static str, Vec<f64>>>>,
}

impl Report {
    pub(crate) fn add(&mut self, row: &str, arm: &'static str, found: Found) {
        let row = self.rows.entry(row.to_owned()).or_default();
        for (what, value) in found.0 {
            row.entry(what).or_default().entry(arm).or_default().push(value);
        }
    }

    pub(crate) fn write(&self, args: &Args) -> Outcome<()> {
        let mut out = std::io::stdout();
        writeln!(out, "{args:?}\n")?;
        for (row, figures) in &self.rows {
            let Some((_, first)) = figures.first() else { continue };
            let mut arms: Vec<_> = first.keys().copied().collect();
            arms.sort_unstable();
            writeln!(out, "| {row} | {} |\n|---|{}", arms.join(" | "), "---|".repeat(arms.len()))?;
            for (what, by_arm) in figures {
                let cells = arms.iter().map(|arm| {
                    let values = by_arm.get(arm).cloned().unwrap_or_default();
                    let most = values.iter().copied().fold(f64::NAN, f64::max);
                    let least = values.iter().copied().fold(f64::NAN, f64::min);
                    // A page that was too busy to be asked.
                    if most.is_nan() {
                        String::from("–")
                    } else {
                        format!("{:.2} ({least:.2} to {most:.2})", median(values))
                    }
                });
                writeln!(out, "| {what} | {} |", cells.collect::<Vec<_>>().join(" | "))?;
            }
            writeln!(out)?;
        }
        if let Some(file) = &args.json {
            std::fs::write(file, serde_json::to_vec_pretty(&json!(self.rows))?)?;
        }
        Ok(())
    }
}
