//! What was typed.

use tests::load::Outcome;

const USAGE: &str = "cargo xtask bench --bench stored -- [--rows full,flood,long] [--rounds 5] [--seconds 10] [--ahead 1200] \
    [--conversations 300,30000] [--batches 24,1] [--publishers 8] [--minutes 30] [--rate 20000] [--viewers 300] [--batch 1] [--length 6000]";

/// The choices for one run.
#[derive(Debug, Clone)]
pub(crate) struct Args {
    pub(crate) rows: Vec<String>,
    pub(crate) rounds: u64,
    /// How long `full` and `flood` measure.
    pub(crate) seconds: u64,
    /// Events without an ack at a time, in the row `full`.
    pub(crate) ahead: u64,
    /// How many conversations, in the row `full`.
    pub(crate) conversations: Vec<u64>,
    /// Events in a frame, in the row `full`.
    pub(crate) batches: Vec<u64>,
    /// Connections that publish, but for `flood`.
    pub(crate) publishers: u64,
    /// Of the row `long`, as what follows.
    pub(crate) minutes: u64,
    /// Events in a second.
    pub(crate) rate: u64,
    /// Viewers, and conversations at a time.
    pub(crate) viewers: u64,
    /// Events in a frame.
    pub(crate) batch: u64,
    /// Events of a conversation; then the next begins.
    pub(crate) length: u64,
}

impl Args {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut chosen = Self {
            rows: vec!["full".to_owned(), "flood".to_owned()],
            rounds: 5,
            seconds: 10,
            ahead: 1_200,
            conversations: vec![300, 30_000],
            batches: vec![24, 1],
            publishers: 8,
            minutes: 30,
            rate: 20_000,
            viewers: 300,
            batch: 1,
            length: 6_000,
        };
        // cargo adds the first one.
        let mut args = args.filter(|arg| arg != "--bench");
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
            let numbers = || value.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>();
            match name.as_str() {
                "--rows" => chosen.rows = value.split(',').map(ToOwned::to_owned).collect(),
                "--rounds" => chosen.rounds = value.parse()?,
                "--seconds" => chosen.seconds = value.parse()?,
                "--ahead" => chosen.ahead = value.parse()?,
                "--conversations" => chosen.conversations = numbers()?,
                "--batches" => chosen.batches = numbers()?,
                "--publishers" => chosen.publishers = value.parse()?,
                "--minutes" => chosen.minutes = value.parse()?,
                "--rate" => chosen.rate = value.parse()?,
                "--viewers" => chosen.viewers = value.parse()?,
                "--batch" => chosen.batch = value.parse()?,
                "--length" => chosen.length = value.parse()?,
                other => return Err(format!("{other} is no option\n{USAGE}").into()),
            }
        }
        if let Some(row) = chosen.rows.iter().find(|row| !["full", "flood", "long"].contains(&row.as_str())) {
            return Err(format!("there is no row {row}\n{USAGE}").into());
        }
        Ok(chosen)
    }
}
