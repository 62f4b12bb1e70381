//! The gate: what must hold before a change lands, cheap steps first, stopping at the first that fails.
//!
//! ```text
//! lint  fmt → tidy → clippy → clippy wasm
//! test  the same → deny → fuzz → doc → build → browser → database → packages → test → recordings
//!                                        └ the page, the tests, and the debug build of the hub that they start
//! ```
//!
//! The step `recordings` is left out where there are none, and says so; with `CI=true` it fails instead. What
//! each step took stands in the summary, and the last line of `test` is always `N passed, M failed`.

mod counts;
mod efforts;
mod recordings;
mod suites;

use crate::console::{human, say};
use crate::failure::{CommandFailure, CommandResult};
use crate::packages::Packages;
use crate::process::{run, start};
use crate::tools::{ToolCache, WASM};
use crate::workspace::Workspace;
use crate::{browser, database, page, tidy};
use counts::{Failure, TestCounts};
use recordings::recordings;
use std::process::Command;
use std::time::{Duration, Instant};

/// One step of the gate. Steps run in the order of their table.
struct GateStep {
    /// The name in the output, and in CONTRIBUTING.md.
    name: &'static str,
    /// What it checks, in a few words.
    does: &'static str,
    /// Runs it. Only the step `test` adds to the counts.
    run: fn(&Workspace, &mut TestCounts) -> CommandResult<StepOutcome>,
}

/// How a step ended when it did not fail.
enum StepOutcome {
    /// What it checks holds.
    Done,
    /// The step could not be done here; the value says why.
    LeftOut(String),
}

/// The steps of `lint`, which `test` begins with.
const QUICK: [GateStep; 4] = [
    GateStep { name: "fmt", does: "formatting is rustfmt's", run: fmt },
    GateStep { name: "tidy", does: "the project's own rules", run: tidy_step },
    GateStep { name: "clippy", does: "lints of every crate, test and bench", run: clippy },
    GateStep { name: "clippy wasm", does: "lints of what runs in the browser", run: clippy_wasm },
];

/// The further steps of `test`. Those after `build` need its binary.
const SLOW: [GateStep; 9] = [
    GateStep { name: "deny", does: "licences, banned crates, sources", run: deny },
    GateStep { name: "fuzz", does: "the targets of the fuzzer compile", run: fuzz },
    GateStep { name: "doc", does: "documentation builds without a warning", run: doc },
    GateStep { name: "build", does: "the page, the hub and the tests", run: build },
    GateStep { name: "browser", does: "a browser for the end-to-end tests", run: find_browser },
    GateStep { name: "database", does: "PostgreSQL for the tests of its log", run: find_database },
    GateStep { name: "packages", does: "other projects' packages for the tests", run: find_packages },
    GateStep { name: "test", does: "every test, against that hub and page", run: suites::run },
    GateStep {
        name: "recordings",
        does: "folded recordings equal what the vendors' SDKs make",
        run: recordings,
    },
];

/// Everything the gate runs: `cargo xtask test`. The failure is told before the last line, so the caller
/// prints nothing more.
pub(crate) fn test(ws: &Workspace) -> CommandResult {
    let steps: Vec<&GateStep> = QUICK.iter().chain(&SLOW).collect();
    let mut counts = TestCounts::default();
    let verdict = run_steps(ws, &steps, &mut counts);
    if verdict.is_err() && counts.failed == 0 {
        // A step without tests of its own counts as one failure, so that the last line never looks green.
        counts.failed = 1;
    }
    // At the end, since the output of a whole run is long and often only its end is looked at.
    for Failure { name, lines } in &counts.failures {
        say(format!("\nfailed: {name}"));
        for line in lines {
            say(format!("  {line}"));
        }
    }
    if let Err(failure) = &verdict {
        say(format!("\nthe gate is closed: {failure}"));
    }
    say(format!("{} passed, {} failed", counts.passed, counts.failed));
    verdict.map_err(CommandFailure::told)
}

/// The quick half of the gate: `cargo xtask lint`.
pub(crate) fn lint(ws: &Workspace) -> CommandResult {
    run_steps(ws, &QUICK.iter().collect::<Vec<_>>(), &mut TestCounts::default())
}

/// Only the project's own rules: `cargo xtask tidy`.
pub(crate) fn tidy_alone(ws: &Workspace) -> CommandResult {
    tidy::run(ws.root())
}

/// Rewrites golden files: the golden tests write what they see instead of comparing. Tests with `golden` in
/// their name are run; `args` replace that filter.
pub(crate) fn bless(ws: &Workspace, args: &[String]) -> CommandResult {
    let mut tests = ws.cargo("test --locked --workspace --no-fail-fast");
    tests.env("FANLIGHT_BLESS", "1");
    if args.is_empty() {
        tests.arg("golden")
    } else {
        tests.args(args)
    };
    run(&mut tests)?;
    say("golden files are rewritten; read `git diff` before you commit them");
    Ok(())
}

/// Rewrites the schemas, and the types of the client packages.
pub(crate) fn schema(ws: &Workspace) -> CommandResult {
    run(ws.cargo("test --locked --quiet -p tests --test schema").env("FANLIGHT_BLESS", "1"))?;
    say("the schemas are rewritten; read `git diff` before you commit them");
    Ok(())
}

/// Runs `steps` one after the other and stops at the first that fails. The summary is printed in either case.
fn run_steps(ws: &Workspace, steps: &[&GateStep], counts: &mut TestCounts) -> CommandResult {
    let mut told = Vec::new();
    let all = Instant::now();
    for (number, step) in (1..).zip(steps) {
        say(format!("\n== {number}/{} {}: {}", steps.len(), step.name, step.does));
        let started = Instant::now();
        let verdict = (step.run)(ws, counts);
        let elapsed = started.elapsed();
        let outcome = match &verdict {
            Ok(StepOutcome::Done) => "ok".to_owned(),
            Ok(StepOutcome::LeftOut(why)) => format!("LEFT OUT: {why}"),
            Err(_) => "FAILED".to_owned(),
        };
        say(format!("== {}: {outcome} ({})", step.name, human(elapsed)));
        told.push((step.name, outcome, elapsed));
        if let Err(failure) = verdict {
            summary(&told, all.elapsed());
            return Err(failure);
        }
    }
    summary(&told, all.elapsed());
    Ok(())
}

/// Prints each step with how long it took and how it ended.
fn summary(told: &[(&str, String, Duration)], all: Duration) {
    say(format!("\nsummary, {} in all", human(all)));
    for (name, outcome, elapsed) in told {
        say(format!("  {name:<12} {:>12}  {outcome}", human(*elapsed)));
    }
}

/// A step that is one command.
fn run_command(command: &mut Command) -> CommandResult<StepOutcome> {
    run(command).map(|()| StepOutcome::Done)
}

/// Formatting is checked, not changed; the failure names the command that changes it.
fn fmt(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    run(&mut ws.cargo("fmt --all --check"))
        .map(|()| StepOutcome::Done)
        .map_err(|failure| failure.mend("cargo fmt --all"))
}

/// The rules that neither the compiler nor clippy knows.
fn tidy_step(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    tidy::run(ws.root()).map(|()| StepOutcome::Done)
}

/// Lints for the machine that builds; warnings are errors.
fn clippy(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    run_command(&mut ws.cargo("clippy --workspace --all-targets --locked -- -D warnings"))
}

/// Lints for the browser, of the crates that run there and of `exchange`, which could; code behind
/// `cfg(target_arch = "wasm32")` is seen by this alone.
fn clippy_wasm(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    crate::tools::wasm_target(ws)?;
    let mut lints =
        ws.cargo("clippy -p model -p dialects -p encode -p exchange -p web -p decoder --locked --target");
    run_command(lints.args([WASM, "--", "-D", "warnings"]))
}

/// Licences, banned crates and sources of all dependencies, by `deny.toml`.
fn deny(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    let deny = ToolCache::find()?.cargo_deny(ws)?;
    say("advisories are not checked: their database is outside, and the gate must answer the same twice");
    run_command(ws.command(deny).args(["--locked", "check", "bans", "licenses", "sources"]))
}

/// The fuzzer's workspace compiles; no target is run.
fn fuzz(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    let mut check = ws.cargo("check --locked --manifest-path tests/fuzz/Cargo.toml --target-dir");
    check.arg(ws.target().join("fuzz-check"));
    // libFuzzer itself is C++ and only linked when a target runs; with this it is not compiled here.
    run_command(check.env("CUSTOM_LIBFUZZER_PATH", ws.target().join("libfuzzer.a")))
}

/// Public documentation builds without a warning.
fn doc(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    run_command(ws.cargo("doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// The page, and beside it the tests and the hub that they start, since each has minutes in which only one core is busy.
fn build(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    page::fetch(ws)?;
    let tests = start(&mut suites::compile(ws))?;
    page::stage(ws)?.ship(ws)?;
    tests.finish().map(|()| StepOutcome::Done)
}

/// A browser and its driver for the end-to-end tests; installed where that is possible.
fn find_browser(_: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    browser::ensure().map(|()| StepOutcome::Done)
}

/// The programs of PostgreSQL, of which tests start servers of their own.
fn find_database(_: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    database::ensure("the tests of the log in PostgreSQL").map(|()| StepOutcome::Done)
}

/// Other projects' packages at the versions of `tests/clients/`.
fn find_packages(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    Packages::ensure(ws).map(|_found| StepOutcome::Done)
}
