//! What an event costs that is stored before its publisher hears of it, at the hub that everybody gets: at full speed over few and many
//! conversations (`full`), for a long time with viewers, and then killed and read again (`long`), and beside a publisher that floods (`flood`).
#![expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]

use std::io::Write as _;

use tests::load::{Outcome, raise_open_files, spread};

mod args;
mod flood;
mod full;
mod long;

use args::Args;

fn main() -> Outcome<()> {
    let args = Args::parse(std::env::args().skip(1))?;
    raise_open_files()?;
    for row in &args.rows {
        match row.as_str() {
            "full" => full::run(&args)?,
            "flood" => flood::run(&args)?,
            _ => long::run(&args)?,
        }
    }
    Ok(())
}

/// The middle of some numbers, the least and the most in brackets.
fn cell(numbers: impl IntoIterator<Item = f64>, digits: usize) -> String {
    let [least, middle, most] = spread(numbers);
    format!("{middle:.digits$} ({least:.digits$} to {most:.digits$})")
}

/// What was not as it must be, each once.
fn problems(all: impl IntoIterator<Item = String>) -> String {
    let all: std::collections::BTreeSet<String> = all.into_iter().collect();
    all.into_iter().collect::<Vec<_>>().join("; ").replace(['|', '\n'], " ")
}

/// A line for whoever wants the result.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to tell when this fails.
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// A line for whoever waits.
fn note(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}
