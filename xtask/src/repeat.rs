//! Runs the suites of `tests/` again and again, to find tests that fail now and then: every second round while all cores
//! are kept busy, if that is asked for. What a failed round said is kept below `target/repeat`.
//!
//! A suite is built once and then run as a program, so a round is only its tests. A round in which all tests
//! pass leaves no file.

mod rounds;

use crate::console::{human, say};
use crate::failure::{CommandFailure, CommandResult};
use crate::packages::Packages;
use crate::process::answer;
use crate::workspace::Workspace;
pub(crate) use rounds::executable;
use rounds::{BackgroundLoad, FailedTest, RepeatOptions, failed, line};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Runs what `args` ask for: `N [SUITE] [FILTER...] [--busy]`. Fails if any test failed in any round, after
/// all rounds; at once if a suite ends without saying which test failed.
pub(crate) fn repeat(ws: &Workspace, args: &[String]) -> CommandResult {
    let asked = RepeatOptions::parse(args)?;
    let folder = ws.target().join("repeat");
    fs::create_dir_all(&folder).map_err(CommandFailure::io(format!("making {}", folder.display())))?;
    let packages = Packages::ensure(ws)?;
    let mut all: BTreeMap<String, FailedTest> = BTreeMap::new();
    for suite in &asked.suites {
        let program = build(ws, suite)?;
        for round in 1..=asked.rounds {
            let beside = if asked.is_busy && round % 2 == 0 {
                BackgroundLoad::BusyCores
            } else {
                BackgroundLoad::Nothing
            };
            // The load is this process, and ends with the round.
            let load = (beside == BackgroundLoad::BusyCores).then(BusyCores::begin);
            let kept = folder.join(format!("{suite}-{round}.txt"));
            let started = Instant::now();
            let (well, output) = run(ws, &packages, &program, &asked.filters, &kept)?;
            drop(load);
            let names = failed(&output);
            let under = if beside == BackgroundLoad::BusyCores { " beside busy cores" } else { "" };
            let took = human(started.elapsed());
            say(format!(
                "{suite}, round {round} of {}{under}: {} failed ({took})",
                asked.rounds,
                names.len()
            ));
            if !well && names.is_empty() {
                return Err(CommandFailure::new(format!("{suite} ended early, see {}", kept.display())));
            }
            for name in &names {
                all.entry(format!("{suite} {name}")).or_default().take(beside, &kept);
            }
            if well {
                fs::remove_file(&kept).map_err(CommandFailure::io(format!("removing {}", kept.display())))?;
            }
        }
    }
    for (name, failed) in &all {
        say(line(name, failed, asked.rounds));
    }
    if all.is_empty() {
        say(format!("no test failed in {} rounds", asked.rounds));
        return Ok(());
    }
    Err(CommandFailure::new(format!("tests that failed now and then, or always: {}", all.len())))
}

/// Builds a suite and says where its program is, as cargo's JSON messages tell it.
fn build(ws: &Workspace, suite: &str) -> CommandResult<PathBuf> {
    say(format!("building {suite}"));
    let mut cargo = ws.cargo("test --locked -p tests --no-run --message-format=json --test");
    let told = answer(cargo.arg(suite))?;
    executable(&told, suite)
        .ok_or_else(|| CommandFailure::new(format!("cargo does not say where the program of {suite} is")))
}

/// One round: whether it went well, and what it said, which is kept in `kept` too. The hub is the one that
/// `FANLIGHT_BIN` names, else the product, else what the tests find themselves.
fn run(
    ws: &Workspace,
    packages: &Packages,
    program: &Path,
    filters: &[String],
    kept: &Path,
) -> CommandResult<(bool, String)> {
    let io = |what: &str| CommandFailure::io(format!("{what} {}", kept.display()));
    let out = File::create(kept).map_err(io("writing"))?;
    let err = out.try_clone().map_err(io("writing"))?;
    let mut suite = suite(ws, packages, program);
    suite.args(filters).stdout(out).stderr(err);
    if std::env::var_os("FANLIGHT_BIN").is_none() && ws.product().is_file() {
        suite.env("FANLIGHT_BIN", ws.product());
    }
    let status = suite.status().map_err(CommandFailure::io(format!("starting {}", program.display())))?;
    let bytes = fs::read(kept).map_err(io("reading"))?;
    Ok((status.success(), String::from_utf8_lossy(&bytes).into_owned()))
}

/// A suite of `tests/` whose program is there, as `cargo test` starts it: otherwise it gets the values of this program.
pub(crate) fn suite(ws: &Workspace, packages: &Packages, program: &Path) -> Command {
    let mut suite = Command::new(program);
    suite.current_dir(ws.path("tests"));
    suite.env("CARGO_PKG_NAME", "tests").env("CARGO_MANIFEST_DIR", ws.path("tests"));
    suite.envs(packages.told());
    suite
}

/// Threads that keep every core busy until this is dropped, which waits for them.
struct BusyCores {
    /// Set when they are to end.
    stop: Arc<AtomicBool>,
    /// The threads, one for each core.
    threads: Vec<JoinHandle<()>>,
}

impl BusyCores {
    /// Starts a thread for each core that this process may use.
    fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let spin = || {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = std::iter::repeat_with(spin).take(cores).collect();
        Self { stop, threads }
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only counts cannot panic.
            let _ended = thread.join();
        }
    }
}
