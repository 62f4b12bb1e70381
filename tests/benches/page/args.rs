//! What is measured, and how long.

use std::path::PathBuf;

use crate::Outcome;
use crate::arm::Arm;

const USAGE: &str = "cargo xtask bench --bench page -- [--rows steady,calls,fleet,wall,resume,first,runs,soak] \
    [--arms fanlight,react-markdown,streamdown] [--rounds 5] [--rate 1000] [--seconds 20] [--throttle 1] [--minutes 60] \
    [--conversations 100000] [--json FILE]";

/// See the usage.
#[derive(Debug, Clone)]
pub(crate) struct Args {
    pub(crate) rows: Vec<String>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) rounds: u64,
    /// Tokens in a second.
    pub(crate) rate: u64,
    pub(crate) seconds: u64,
    /// How many times slower the page's CPU is made.
    pub(crate) throttle: u64,
    /// Of the soak.
    pub(crate) minutes: u64,
    /// In the hub of the row `runs`.
    pub(crate) conversations: u64,
    pub(crate) json: Option<PathBuf>,
}

impl Args {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut chosen = Self {
            rows: ["steady", "calls", "fleet", "resume", "first"].map(String::from).to_vec(),
            arms: Arm::ALL.to_vec(),
            rounds: 5,
            rate: 1_000,
            seconds: 20,
            throttle: 1,
            minutes: 60,
            conversations: 100_000,
            json: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
            match name.as_str() {
                "--rows" => chosen.rows = value.split(',').map(String::from).collect(),
                "--arms" => {
                    let named = |name: &str| Arm::ALL.into_iter().find(|arm| arm.name() == name);
                    let arms =
                        value.split(',').map(|name| named(name).ok_or_else(|| format!("no page {name}")));
                    chosen.arms = arms.collect::<Result<_, _>>()?;
                }
                "--rounds" => chosen.rounds = value.parse()?,
                "--rate" => chosen.rate = value.parse()?,
                "--seconds" => chosen.seconds = value.parse()?,
                "--throttle" => chosen.throttle = value.parse()?,
                "--minutes" => chosen.minutes = value.parse()?,
                "--conversations" => chosen.conversations = value.parse()?,
                "--json" => chosen.json = Some(value.into()),
                other => return Err(format!("{other} is no option\n{USAGE}").into()),
            }
        }
        Ok(chosen)
    }
}
