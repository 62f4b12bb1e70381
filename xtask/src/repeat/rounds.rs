//! What is asked for, and what is read from the output of cargo and of a suite.

use crate::failure::{CommandFailure, CommandResult};
use std::path::{Path, PathBuf};

/// The suites that can be repeated, in the order in which they run.
pub(super) const SUITES: [&str; 3] = ["it", "e2e", "clients"];

/// What `repeat` was asked for: how many rounds of which suites, and whether the cores are kept busy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepeatOptions {
    /// How many times each suite runs, at least once.
    pub(super) rounds: u32,
    /// The suites that run; all of [`SUITES`] if none was named.
    pub(super) suites: Vec<String>,
    /// Parts of names of tests, as `cargo test` takes them.
    pub(super) filters: Vec<String>,
    /// Whether every second round runs beside busy cores.
    pub(super) is_busy: bool,
}

impl RepeatOptions {
    /// Reads `N [SUITE...] [FILTER...] [--busy]`; words that name no suite are filters. Fails with the usage
    /// text if the number is missing or 0.
    pub(super) fn parse(args: &[String]) -> CommandResult<Self> {
        let is_busy = args.iter().any(|arg| arg == "--busy");
        let mut words = args.iter().filter(|arg| *arg != "--busy");
        let rounds = words.next().and_then(|word| word.parse().ok()).filter(|rounds| *rounds > 0);
        let rounds =
            rounds.ok_or_else(|| CommandFailure::usage("`repeat` wants the number of rounds first"))?;
        let (suites, filters): (Vec<String>, Vec<String>) =
            words.cloned().partition(|word| SUITES.contains(&word.as_str()));
        let suites = if suites.is_empty() { SUITES.map(str::to_owned).to_vec() } else { suites };
        Ok(Self { rounds, suites, filters, is_busy })
    }
}

/// What the machine did beside a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackgroundLoad {
    /// No load of ours.
    Nothing,
    /// A thread on each core that never waits.
    BusyCores,
}

/// A test that failed in some rounds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FailedTest {
    /// The number of rounds in which it failed.
    times: u32,
    /// In how many of them the cores were busy.
    times_busy: u32,
    /// What the first of these rounds said.
    first: Option<PathBuf>,
}

impl FailedTest {
    /// Takes one more failure, whose round is kept in `kept`.
    pub(super) fn take(&mut self, beside: BackgroundLoad, kept: &Path) {
        self.times += 1;
        self.times_busy += u32::from(beside == BackgroundLoad::BusyCores);
        self.first.get_or_insert_with(|| kept.to_path_buf());
    }
}

/// What is said of a test that failed.
pub(super) fn line(name: &str, failed: &FailedTest, rounds: u32) -> String {
    let FailedTest { times, times_busy, first } = failed;
    let first = first.as_ref().map(|kept| kept.display().to_string()).unwrap_or_default();
    format!("{name}: failed {times} of {rounds} times, {times_busy} beside busy cores; first: {first}")
}

/// The program of `suite` in cargo's messages, one JSON object a line.
pub(crate) fn executable(messages: &str, suite: &str) -> Option<PathBuf> {
    let of_it = format!("\"name\":\"{suite}\"");
    let line = messages.lines().filter(|line| line.contains(&of_it));
    let mut paths = line.filter_map(|line| {
        let (_, after) = line.split_once("\"executable\":\"")?;
        after.split_once('"').map(|(path, _)| PathBuf::from(path.replace("\\\\", "\\")))
    });
    paths.next_back()
}

/// The names of the tests that failed, as the suite says it.
pub(super) fn failed(output: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    output.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests;
