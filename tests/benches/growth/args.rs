//! What was typed.

use std::path::PathBuf;

use tests::load::Outcome;

const USAGE: &str = "cargo xtask bench --bench growth -- [--rows viewers,conversations,history,rate,restart] [--quick yes] [--rounds 5] [--seconds 5] \
    [--queries 20] [--gigabytes 0] [--picture FILE]";

/// The rows that a run without `--rows` has.
const ROWS: [&str; 4] = ["viewers", "conversations", "history", "rate"];

/// The choices for one run.
#[derive(Debug, Clone)]
pub(crate) struct Args {
    pub(crate) rows: Vec<String>,
    /// The largest sizes are left out, and everything is done once and for a second.
    pub(crate) is_quick: bool,
    /// How often what is cheap is measured.
    pub(crate) rounds: u64,
    /// How long a rate is held.
    pub(crate) seconds: u64,
    /// How often a question is asked.
    pub(crate) queries: u64,
    /// The size of the log in the row `restart`.
    pub(crate) gigabytes: f64,
    pub(crate) picture: Option<PathBuf>,
}

impl Args {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut chosen = Self {
            rows: ROWS.map(ToOwned::to_owned).to_vec(),
            is_quick: false,
            rounds: 5,
            seconds: 5,
            queries: 20,
            gigabytes: 0.0,
            picture: None,
        };
        // cargo adds the first one.
        let mut args = args.filter(|arg| arg != "--bench");
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
            match name.as_str() {
                "--rows" => chosen.rows = value.split(',').map(ToOwned::to_owned).collect(),
                "--quick" => chosen.is_quick = value == "yes",
                "--rounds" => chosen.rounds = value.parse()?,
                "--seconds" => chosen.seconds = value.parse()?,
                "--queries" => chosen.queries = value.parse()?,
                "--gigabytes" => chosen.gigabytes = value.parse()?,
                "--picture" => chosen.picture = Some(value.into()),
                other => return Err(format!("{other} is no option\n{USAGE}").into()),
            }
        }
        if chosen.gigabytes > 0.0 && !chosen.rows.iter().any(|row| row == "restart") {
            chosen.rows.push("restart".to_owned());
        }
        if let Some(row) = chosen.rows.iter().find(|row| !ROWS.contains(&row.as_str()) && *row != "restart") {
            return Err(format!("there is no row {row}\n{USAGE}").into());
        }
        if chosen.is_quick {
            (chosen.rounds, chosen.seconds, chosen.queries) = (1, 1, 5);
        }
        Ok(chosen)
    }

    /// Whether all rows are run at all sizes.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_quick && ROWS.iter().all(|row| self.rows.iter().any(|chosen| chosen == row))
    }

    /// Of these sizes those that are measured.
    pub(crate) fn sizes<'a>(&self, all: &'a [u64]) -> &'a [u64] {
        let left_out = if self.is_quick { 2.min(all.len().saturating_sub(2)) } else { 0 };
        all.split_at(all.len() - left_out).0
    }
}
