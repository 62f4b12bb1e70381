//! The step `test`: all tests of the workspace, and some of them again with the log in PostgreSQL and with several hubs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::efforts::Efforts;
use super::{StepOutcome, TestCounts};
use crate::failure::{CommandFailure, CommandResult};
use crate::packages::Packages;
use crate::process::{Patience, answer, run_seeing};
use crate::repeat::{executable, suite};
use crate::workspace::Workspace;

/// The modules of `tests/it` that also run with the log in PostgreSQL: those in which what is stored matters most. All of them take
/// minutes (CONTRIBUTING.md says how they are run).
const ON_POSTGRES: [&str; 7] =
    ["publish::", "resume::", "stored::", "delete::", "label::", "export::", "doors_seeds::"];

/// The modules of `tests/it` that also run with three hubs for one, each connection to one of them at random. `FANLIGHT_TEST_LOG=postgres
/// FANLIGHT_TEST_HUBS=3` runs all of them so.
const ON_THREE_HUBS: [&str; 4] = ["publish::", "resume::", "doors_openai::", "doors_pages::"];

/// By which the harness of tests is told how many run at once.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// How long tests may say nothing. Those that run then are taken for tests that never end: their binary is
/// killed, and they count as failed. No test waits for anything longer than a minute or two.
const SILENCE_MAX: Duration = Duration::from_mins(5);

/// The commands that have all tests between them. The hub is compiled with them, since its package has a test of it. This program is apart:
/// with all others cargo would choose other features for it, and compile most of what it needs a second time.
const SUITES: [&str; 2] =
    ["test --workspace --exclude xtask --locked --no-fail-fast", "test -p xtask --locked --no-fail-fast"];

/// What compiles the tests but those of this program.
pub(super) fn compile(ws: &Workspace) -> Command {
    ws.cargo(&format!("{} --no-run", SUITES[0]))
}

/// Every test of the workspace, [`ON_POSTGRES`] and [`ON_THREE_HUBS`], to the end even if one fails. They find the hub and the packages
/// in their environment. What the tasks of an operator took is printed behind them, since cargo shows nothing of a test that passes. A run
/// without a single test is a failure, and so is one that ends badly without naming a test.
pub(super) fn run(ws: &Workspace, counts: &mut TestCounts) -> CommandResult<StepOutcome> {
    let packages = Packages::ensure(ws)?;
    let efforts = Efforts::of(ws);
    efforts.forget()?;
    let mut well = true;
    for suite in SUITES {
        let mut tests = ws.cargo(suite);
        tests.envs(packages.told()).env("FANLIGHT_BIN", ws.debug_hub()).env(TEST_THREADS, test_threads());
        // Nobody looks at what this run shows.
        tests.env("FANLIGHT_PICTURES", "no");
        well &= run_seeing(&mut tests, Patience::WithChildrenOf(SILENCE_MAX), |line| counts.see(line))?;
    }
    let program = it(ws)?;
    let mut stored = with_postgres(ws, &packages, &program, &ON_POSTGRES);
    well &= run_seeing(&mut stored, Patience::WithItself(SILENCE_MAX), |line| counts.see(line))?;
    let mut several = with_postgres(ws, &packages, &program, &ON_THREE_HUBS);
    several.env("FANLIGHT_TEST_HUBS", "3");
    well &= run_seeing(&mut several, Patience::WithItself(SILENCE_MAX), |line| counts.see(line))?;
    efforts.tell()?;
    match (well, counts) {
        (true, TestCounts { passed: 0, .. }) => Err(CommandFailure::new("not a single test ran")),
        (true, TestCounts { failed: 0, .. }) => Ok(StepOutcome::Done),
        (false, TestCounts { failed: 0, .. }) => {
            Err(CommandFailure::new("the tests do not compile, or one of them ended early"))
        }
        (_, TestCounts { failed, .. }) => Err(CommandFailure::new(format!("tests that failed: {failed}"))),
    }
}

/// The program of `tests/it` that [`compile`] has made. Cargo, asked for this suite alone, would choose other features and compile
/// most crates again.
fn it(ws: &Workspace) -> CommandResult<PathBuf> {
    let told = answer(compile(ws).arg("--message-format=json"))?;
    executable(&told, "it")
        .ok_or_else(|| CommandFailure::new("cargo does not say where the program of it is"))
}

/// Some modules of `tests/it`, run as the program that cargo made of it, with the log in PostgreSQL.
fn with_postgres(ws: &Workspace, packages: &Packages, program: &Path, modules: &[&str]) -> Command {
    let mut tests = suite(ws, packages, program);
    tests.args(modules).env("FANLIGHT_BIN", ws.debug_hub()).env("FANLIGHT_TEST_LOG", "postgres");
    tests.env(TEST_THREADS, test_threads());
    tests
}

/// How many tests run at once: two for each core. Most wait for other processes more than they compute: of 192 tests of `tests/it`, twice as
/// many at once took 50 s in the place of 87 s on two cores.
fn test_threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores * 2).to_string()
}
