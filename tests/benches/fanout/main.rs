//! What a delivery costs: this hub, the usual servers and the kernel's floor in one run, each asked the same questions.
//! Method and figures are in `docs/performance.md`.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a load generator: offsets and sizes are computed beside their use, and a wrong one must stop the run"
)]

use std::fmt::Arguments;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Resource, getrlimit};

mod args;
mod arm;
mod floor;
mod publisher;
mod report;
mod rows;
mod stream;
mod viewer;

use args::Args;
use report::{Finding, Report};
use tests::load::{Failure, Outcome, raise_open_files};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let done = if args.next_if_eq("serve-floor").is_some() {
        raise_open_files().and_then(|()| floor::serve(args.next().is_some()))
    } else {
        Args::parse(args).and_then(|args| run(&args))
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

/// Rounds are interleaved, so that a disturbance meets all arms alike.
fn run(args: &Args) -> Outcome<()> {
    raise_open_files()?;
    let mut report = Report::default();
    for row in &args.rows {
        for round in 1..=args.rounds {
            for arm in args.arms.iter().filter(|arm| row.suits(arm.as_ref())) {
                let place = target_folder().join("bench").join(format!("place-{}", std::process::id()));
                std::fs::create_dir_all(&place)?;
                let guess = report.headline(*row, arm.name());
                let asked = row.ask(arm.as_ref(), args.seconds, &place, guess);
                std::fs::remove_dir_all(&place)?;
                let answer = asked.unwrap_or_else(|error| rows::RowAnswer {
                    problems: vec![error.to_string()],
                    ..rows::RowAnswer::default()
                });
                let (numbers, problems) = (&answer.numbers, &answer.problems);
                note(format_args!("{} {round} {}: {numbers:.2?} {problems:?}", row.name(), arm.name()));
                report.findings.push(Finding { row: *row, arm: arm.name(), round, answer });
            }
        }
    }
    let (table, figures) =
        (target_folder().join("bench/fanout.md"), target_folder().join("bench/fanout.json"));
    std::fs::write(&table, report.markdown())?;
    std::fs::write(&figures, serde_json::to_vec_pretty(&report.json())?)?;
    say(format_args!("{}", report.markdown()));
    note(format_args!("written to {} and {}", table.display(), figures.display()));
    Ok(())
}

/// The build directory that this program lies in.
fn target_folder() -> PathBuf {
    // …/target/release/deps/fanout-0123456789abcdef
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(3).map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

fn open_files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A line for whoever wants the result.
fn say(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to tell when this fails.
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// A line for whoever waits.
fn note(text: Arguments<'_>) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}
