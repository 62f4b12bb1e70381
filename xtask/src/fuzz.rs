//! Random bytes against everything that comes in, with the corpus of all times before. A target is a program of its own in
//! `tests/fuzz/fuzz_targets`, or a dialect, which the program `decode` tries.
//!
//! ```text
//! tests/fuzz/corpus/NAME.txt ─unpack─▶ target/fuzz/corpus/NAME ─┐
//! fixtures, seeds ──────────────────────────────────────────────┴▶ fuzzer ─▶ target/fuzz/found/NAME
//!                                                                              │ -merge: the smallest set, short inputs
//! tests/fuzz/corpus/NAME.txt ◀─pack─ target/fuzz/kept/NAME ◀───────────────────┘
//! an input that fails ─▶ tests/fuzz/artifacts/NAME-…
//! ```
//!
//! No nightly compiler is needed, and no sanitizer is used: what is looked for are panics, endless loops and
//! memory without bound.

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::process::run;
use crate::tools::ToolCache;
use crate::workspace::Workspace;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where the fixtures of each dialect stand; they are where the fuzzer begins.
const FIXTURES: &str = "shared/dialects/fixtures";
/// Where the other targets begin: each has a folder.
const SEEDS: &str = "tests/fuzz/seeds";
/// The folder of the programs.
const PROGRAMS: &str = "tests/fuzz/fuzz_targets";
/// The program that tries dialects.
const DECODE: &str = "decode";
/// Longest time for one input, in seconds.
const INPUT_SECONDS: u32 = 5;
/// Most memory of a program, in MiB: what several hubs in a row leave behind is in it.
const MEMORY_MIB: u32 = 2048;
/// The longest input that is tried, in bytes.
const LENGTH_MAX: usize = 4096;
/// The longest input that is kept, in bytes.
const KEPT_MAX: usize = 256;
/// How long each target runs when nobody says it.
const SECONDS: &str = "60";

/// Runs the targets that `args` name, or all: `[SECONDS] [TARGET...]`. All of them run, also after one
/// failed; the failures are told together.
pub(crate) fn run_targets(ws: &Workspace, args: &[String]) -> CommandResult {
    let (seconds, named) = match args.split_first() {
        Some((first, rest)) if first.parse::<u64>().is_ok() => (first.as_str(), rest),
        _ => (SECONDS, args),
    };
    let all = targets(ws)?;
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        return Err(CommandFailure::usage(format!(
            "no target is named {unknown:?}; there are {}",
            all.join(", ")
        )));
    }
    build(ws)?;
    let (mut tries, mut failures) = (0, Vec::new());
    for target in if named.is_empty() { &all } else { named } {
        match (FuzzTarget { ws, name: target }).run(seconds) {
            Ok(more) => tries += more,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    say(format!("{tries} executions, {} targets failed", failures.len()));
    if failures.is_empty() { Ok(()) } else { Err(CommandFailure::new(failures.join("\n\n"))) }
}

/// Each program of its own, and each dialect that has fixtures.
fn targets(ws: &Workspace) -> CommandResult<Vec<String>> {
    let mut names = programs(ws)?;
    let dialects = entries(ws, FIXTURES)?;
    names.extend(dialects.into_iter().filter(|path| path.is_dir()).filter_map(|path| stem(&path)));
    names.sort();
    Ok(names)
}

/// The targets that are programs.
fn programs(ws: &Workspace) -> CommandResult<Vec<String>> {
    let names = entries(ws, PROGRAMS)?.into_iter().filter_map(|path| stem(&path));
    Ok(names.filter(|name| name != DECODE).collect())
}

/// The paths in a folder of the tree.
fn entries(ws: &Workspace, folder: &str) -> CommandResult<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(ws.path(folder)).map_err(CommandFailure::io("reading what there is to try"))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The name of a file without its ending.
fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

/// Builds all programs, with the coverage that guides the fuzzer.
fn build(ws: &Workspace) -> CommandResult {
    let fuzz = ToolCache::find()?.cargo_fuzz(ws)?;
    let mut build = ws.command(fuzz);
    build
        .args(["build", "--fuzz-dir", "tests/fuzz", "--sanitizer", "none", "--target-dir"])
        .arg(ws.target().join("fuzz"));
    // The coverage that the fuzzer follows needs no nightly compiler, only leave to name its flags.
    run(build.env("RUSTC_BOOTSTRAP", "1"))
}

/// One target: what is fuzzed under one name.
struct FuzzTarget<'a> {
    /// The workspace that its files are in.
    ws: &'a Workspace,
    /// The name of a program in [`PROGRAMS`], or of a dialect.
    name: &'a str,
}

impl FuzzTarget<'_> {
    /// Runs for `seconds`; gives the number of executions. Fails with what the fuzzer said if an input made
    /// the program fail, took too long or too much memory; the corpus is then as before.
    fn run(&self, seconds: &str) -> CommandResult<u64> {
        let (corpus, found) = (self.scratch("corpus")?, self.scratch("found")?);
        std::fs::create_dir_all(self.ws.path("tests/fuzz/artifacts"))
            .map_err(CommandFailure::io("making a folder"))?;
        self.unpack(&corpus)?;
        say(format!("fuzzing {} for {seconds} s", self.name));
        let mut fuzzer = self.fuzzer()?;
        fuzzer.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LENGTH_MAX}"));
        fuzzer.args([&found, &corpus]).args(self.fixtures());
        let output = fuzzer.output().map_err(CommandFailure::io("starting the fuzzer"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let what = format!("{} failed:\n{said}", self.name);
            return Err(CommandFailure::new(what)
                .mend("make a test of the input, in `odd` where it is of a dialect, and mend what failed"));
        }
        self.keep(&corpus, &found)?;
        let tries = said.lines().find_map(executions).unwrap_or(0);
        say(format!("{}: {tries} executions", self.name));
        Ok(tries)
    }

    /// Keeps the smallest set of short inputs that reaches all that was reached.
    fn keep(&self, corpus: &Path, found: &Path) -> CommandResult {
        let kept = self.scratch("kept")?;
        let mut fuzzer = self.fuzzer()?;
        fuzzer.arg("-merge=1").arg(format!("-max_len={KEPT_MAX}"));
        let output = fuzzer
            .args([&kept, corpus, found])
            .output()
            .map_err(CommandFailure::io("starting the fuzzer"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(CommandFailure::new(format!(
                "the corpus of {} could not be made small:\n{said}",
                self.name
            )));
        }
        self.pack(&kept).map_err(CommandFailure::io("keeping the corpus"))
    }

    /// The corpus is one file with one input on each line, in hex: thousands of tiny files are a burden to all.
    fn packed(&self) -> PathBuf {
        self.ws.path("tests/fuzz/corpus").join(format!("{}.txt", self.name))
    }

    /// Writes the inputs of `folder` into that file, sorted, so that a diff shows what was added.
    fn pack(&self, folder: &Path) -> std::io::Result<()> {
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let mut line = String::new();
            for byte in std::fs::read(entry?.path())? {
                write!(line, "{byte:02x}").map_err(std::io::Error::other)?;
            }
            lines.push(line);
        }
        lines.sort();
        std::fs::create_dir_all(self.ws.path("tests/fuzz/corpus"))?;
        std::fs::write(self.packed(), lines.join("\n") + "\n")
    }

    /// Writes each line of that file as an input into `folder`. There may be no such file yet.
    fn unpack(&self, folder: &Path) -> CommandResult {
        let packed = std::fs::read_to_string(self.packed()).unwrap_or_default();
        for (number, line) in packed.lines().enumerate() {
            let place = || format!("{}, line {}, is no hex", self.packed().display(), number + 1);
            let input = bytes(line).ok_or_else(|| CommandFailure::new(place()))?;
            std::fs::write(folder.join(number.to_string()), input)
                .map_err(CommandFailure::io("unpacking the corpus"))?;
        }
        Ok(())
    }

    /// The command of its program, with the bounds of one input.
    fn fuzzer(&self) -> CommandResult<std::process::Command> {
        let own = programs(self.ws)?.into_iter().any(|name| name == self.name);
        let program = if own { self.name } else { DECODE };
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut fuzzer =
            self.ws.command(self.ws.target().join("fuzz").join(host).join("release").join(program));
        fuzzer.env("FUZZ_DIALECT", self.name).arg("-print_final_stats=1");
        fuzzer.arg(format!("-timeout={INPUT_SECONDS}")).arg(format!("-rss_limit_mb={MEMORY_MIB}"));
        // An input that fails is kept where a person finds it.
        let artifacts = self.ws.path("tests/fuzz/artifacts");
        fuzzer.arg(format!("-artifact_prefix={}/{}-", artifacts.display(), self.name));
        Ok(fuzzer)
    }

    /// The folders whose files the fuzzer begins with: those of the fixtures and seeds that there are.
    fn fixtures(&self) -> Vec<PathBuf> {
        let dialect = self.ws.path(FIXTURES).join(self.name);
        let folders = [dialect.join("odd"), dialect, self.ws.path(SEEDS).join(self.name)];
        folders.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    /// An empty folder below the build directory; what an earlier run left there is removed.
    fn scratch(&self, what: &str) -> CommandResult<PathBuf> {
        let folder = self.ws.target().join("fuzz").join(what).join(self.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(CommandFailure::io("clearing a folder"))?;
        }
        std::fs::create_dir_all(&folder).map_err(CommandFailure::io("making a folder"))?;
        Ok(folder)
    }
}

/// The bytes that are written in `hex`; `None` if it is none.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// The number in the line with which the fuzzer ends.
fn executions(line: &str) -> Option<u64> {
    line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok()
}
