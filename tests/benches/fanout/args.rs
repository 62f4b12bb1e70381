//! What was typed.

use crate::Outcome;
use crate::arm::{self, Arm};
use crate::rows::Row;

const USAGE: &str = "cargo bench -p tests --bench fanout -- [--rows hot,many,saturate,idle,late,slow] \
    [--arms floor,fanlight,fanlight-memory,fanlight-unredacted,\
    fanlight-known,fanlight-one-role,fanlight-five-roles,nats,jetstream,jetstream-always,nchan,mosquitto,ws,socketio] [--rounds 5] [--seconds 10]";

/// The choices for one run.
pub(crate) struct Args {
    pub(crate) rows: Vec<Row>,
    pub(crate) arms: Vec<Box<dyn Arm>>,
    pub(crate) rounds: u64,
    pub(crate) seconds: u64,
}

impl Args {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut chosen = Self { rows: Row::ALL.to_vec(), arms: arm::all(), rounds: 5, seconds: 10 };
        while let Some(name) = args.next() {
            // cargo adds this one.
            if name == "--bench" {
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
            let names: Vec<&str> = value.split(',').collect();
            match name.as_str() {
                "--rows" => {
                    chosen.rows.retain(|row| names.contains(&row.name()));
                    known(&names, &Row::ALL.map(Row::name))?;
                }
                "--arms" => {
                    known(&names, &arm::all().iter().map(|arm| arm.name()).collect::<Vec<_>>())?;
                    // The batched floor goes with the floor.
                    let is_chosen =
                        |arm: &str| names.contains(&arm) || names.contains(&arm.trim_end_matches("-batched"));
                    chosen.arms.retain(|arm| is_chosen(arm.name()));
                }
                "--rounds" => chosen.rounds = value.parse()?,
                "--seconds" => chosen.seconds = value.parse()?,
                other => return Err(format!("{other} is no option\n{USAGE}").into()),
            }
        }
        Ok(chosen)
    }
}

fn known(names: &[&str], all: &[&str]) -> Outcome<()> {
    match names.iter().find(|name| !all.contains(name)) {
        Some(name) => Err(format!("{name} is none of {}\n{USAGE}", all.join(", ")).into()),
        None => Ok(()),
    }
}
