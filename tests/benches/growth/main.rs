//! What grows with what: viewers, conversations, the history of one of them, the rate, and the size of the log, each at sizes that are ten times
//! apart, at the hub that everybody gets. Prints a table for each, says which figures are flat, and draws `docs/images/growth.svg`.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a bench are small"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tests::load::{Outcome, plots, raise_open_files};

mod args;
mod conversations;
mod curve;
mod history;
mod rate;
mod restart;
mod viewers;

use args::Args;
/// The picture of a whole run.
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/images/growth.svg");

fn main() -> Outcome<()> {
    let args = Args::parse(std::env::args().skip(1))?;
    raise_open_files()?;
    let mut drawn = Vec::new();
    for row in &args.rows {
        let curves = match row.as_str() {
            "viewers" => viewers::measure(&args)?,
            "conversations" => conversations::measure(&args)?,
            "history" => history::measure(&args)?,
            "rate" => rate::measure(&args)?,
            _ => restart::measure(&args)?,
        };
        say(&curves.table());
        drawn.extend(curves.plots());
    }
    let picture = args.picture.clone().unwrap_or_else(|| default_picture(&args));
    if let Some(folder) = picture.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let title = "What grows with what: a hub with its default configuration, both axes in powers of ten";
    std::fs::write(&picture, plots::sheet(title, &drawn))?;
    note(&format!("drawn in {}", picture.display()));
    Ok(())
}

/// The picture of the docs for a run of everything; another one for a part.
fn default_picture(args: &Args) -> PathBuf {
    if args.is_whole() {
        return PICTURE.into();
    }
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("growth.svg")
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
