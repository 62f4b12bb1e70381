//! `cargo xtask`: everything a developer or the gate does with this workspace, with nothing but cargo at hand.
//!
//! It must never depend on a crate of the workspace, or it would not build when the rest does not. Tools come from [`tools`] alone, output goes
//! through [`console`] alone.
//!
//! ```text
//! main ─▶ one of the commands ─▶ CommandResult ─▶ exit code: 0 done, 1 failed, 2 wrong command line (USAGE follows)
//! ```
//!
//! Reading order: [`workspace`], [`process`], [`failure`], [`console`] (what all commands use) → [`gate`] (the checks) → [`tidy`] (the rules that no
//! compiler knows) → [`product`] (building and starting the hub) → [`page`] (what the browser loads) → [`tools`], [`packages`], [`browser`],
//! [`database`], [`debian`] (what is installed) → [`fields`] (the bounds of the wire) → [`fuzz`], [`chaos`], [`repeat`], [`pictures`], `cluster`.

mod browser;
mod chaos;
#[cfg(unix)]
mod cluster;
mod console;
mod database;
mod debian;
mod failure;
mod fields;
mod fuzz;
mod gate;
mod packages;
mod page;
mod pictures;
mod process;
mod product;
mod repeat;
mod tidy;
mod tools;
mod workspace;

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult, FailureTrailer};
use crate::workspace::Workspace;
use std::process::ExitCode;

/// What `cargo xtask help` prints, and what follows a wrong command line.
const USAGE: &str = "\
cargo xtask COMMAND

  run [ARGS]      tools, page, hub, demo: builds everything and starts it on http://127.0.0.1:4600
                  (ARGS go to `fanlight serve`; Ctrl-C drains)
  build           the same without starting; the product is target/release/fanlight, page inside
  page            only the page, into dist/, with its sizes; a debug build of the hub reads it from there
  test            everything the gate runs, cheap steps first; stops at the first step that fails;
                  the last line is `N passed, N failed`
  lint            the quick half of `test`: fmt, tidy, clippy
  tidy            only the project's own rules: layers, budgets, invariants, codes
  bless [ARGS]    rewrites golden files: runs the golden tests with FANLIGHT_BLESS=1
                  (ARGS replace the test filter `golden`)
  schema          rewrites schema/*.json and the types of the client packages that are made of them
  bounds          rewrites docs/limits.md, the table of all fields and their bounds, from schema/*.json and
                  schema/bounds.txt
  bench [ARGS]    release build, then the benchmarks (ARGS go to `cargo bench -p tests`); FANLIGHT_BIN names another
                  binary to measure, and then nothing is built but the benchmarks
  chaos [NAME...] [--full]
                  the scenarios of tests/chaos against the release binary, one after the other, with their figures;
                  --full takes the sizes of docs/chaos.md, FANLIGHT_BIN another binary, FANLIGHT_SEED a seed
  cluster         three hubs on two databases in PostgreSQL, on this machine, with the demo; says what to kill and what
                  then happens. Ctrl-C ends everything; FANLIGHT_BIN names the hub's binary, else it is built
  repeat N [it|e2e|clients] [FILTER...] [--busy]
                  runs the suites N times and lists every test that failed, how often, and where its output is;
                  --busy keeps all cores busy beside every second round. FANLIGHT_BIN names the hub's binary, else it
                  is the product, else the debug build
  screenshots     draws the pictures of the README anew, into docs/images: builds the page, and runs the test that draws them.
                  FANLIGHT_BIN names the hub's binary, else the debug build is made
  fuzz [SECONDS] [TARGET...]
                  random bytes against everything that comes in (targets: the names in tests/fuzz/fuzz_targets, and for
                  `decode` those of the dialects), SECONDS each, 60 without; the corpus is kept in tests/fuzz/corpus
  tools           only installs the pinned tools and packages, and says where the packages are

Tools live in $FANLIGHT_TOOLS, else $XDG_CACHE_HOME/fanlight/tools, else ~/.cache/fanlight/tools.
";

/// Reads the command line and runs the command. Failures go to stderr, unless the command told its own.
fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let verdict = match command.as_str() {
        "run" => in_workspace(|ws| product::run(ws, &rest)),
        "build" => none(&rest).and_then(|()| in_workspace(product::build)),
        "page" => none(&rest).and_then(|()| in_workspace(page::build)),
        "test" => none(&rest).and_then(|()| in_workspace(gate::test)),
        "lint" => none(&rest).and_then(|()| in_workspace(gate::lint)),
        "tidy" => none(&rest).and_then(|()| in_workspace(gate::tidy_alone)),
        "bless" => in_workspace(|ws| gate::bless(ws, &rest)),
        "schema" => none(&rest).and_then(|()| in_workspace(gate::schema)),
        "bounds" => none(&rest).and_then(|()| in_workspace(|ws| fields::write(ws.root()))),
        "bench" => in_workspace(|ws| product::bench(ws, &rest)),
        "chaos" => in_workspace(|ws| chaos::run_scenarios(ws, &rest)),
        #[cfg(unix)]
        "cluster" => none(&rest).and_then(|()| in_workspace(cluster::run)),
        "repeat" => in_workspace(|ws| repeat::repeat(ws, &rest)),
        "screenshots" => none(&rest).and_then(|()| in_workspace(pictures::redraw)),
        "fuzz" => in_workspace(|ws| fuzz::run_targets(ws, &rest)),
        "tools" => none(&rest).and_then(|()| in_workspace(product::tools)),
        "help" | "--help" | "-h" => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        "" => Err(CommandFailure::usage("no command given")),
        other => Err(CommandFailure::usage(format!("there is no command `{other}`"))),
    };
    let Err(failure) = verdict else { return ExitCode::SUCCESS };
    match failure.after() {
        FailureTrailer::Failure => console::complain(format!("xtask: {failure}")),
        FailureTrailer::Usage => {
            console::complain(format!("xtask: {failure}\n\n{USAGE}"));
            return ExitCode::from(2);
        }
        FailureTrailer::Nothing => {}
    }
    ExitCode::FAILURE
}

/// Runs a command with the workspace that this program was built from.
fn in_workspace(command: impl FnOnce(&Workspace) -> CommandResult) -> CommandResult {
    command(&Workspace::find()?)
}

/// Refuses arguments of a command that takes none.
fn none(rest: &[String]) -> CommandResult {
    match rest.first() {
        None => Ok(()),
        Some(extra) => {
            Err(CommandFailure::usage(format!("this command takes no arguments, and got `{extra}`")))
        }
    }
}
