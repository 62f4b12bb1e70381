//! What the hub is trusted for, under load: the scenarios of `tests/chaos`, at the sizes that are named in the docs.
//!
//! The scenarios are tests, so each fails by itself; what this command adds is the release binary, one at a
//! time, and their figures on the screen.

use crate::database;
use crate::failure::{CommandFailure, CommandResult};
use crate::packages;
use crate::process::run;
use crate::product;
use crate::workspace::Workspace;

/// The scenarios, as modules of `tests/chaos`, in the order in which they run.
const SCENARIOS: [&str; 9] = ["storm", "late", "slow", "crash", "disk", "soak", "hostile", "outside", "hubs"];

/// The scenario with machines and databases of its own.
const HUBS: &str = "hubs";

/// Runs the scenario that `args` name, or all, one after the other: `[NAME] [--full]`. The product is built
/// first, unless `FANLIGHT_BIN` names another binary.
pub(crate) fn run_scenarios(ws: &Workspace, args: &[String]) -> CommandResult {
    let full = args.iter().any(|arg| arg == "--full");
    let named: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--full").collect();
    if let Some(unknown) = named.iter().find(|name| !SCENARIOS.contains(name)) {
        let known = SCENARIOS.join(", ");
        return Err(CommandFailure::usage(format!("no scenario is named {unknown:?}; there are {known}")));
    }
    if named.is_empty() || named.contains(&HUBS) {
        database::ensure("the databases of the scenario `hubs`")?;
        packages::ensure_network()?;
    }
    let program = if let Some(program) = std::env::var_os("FANLIGHT_BIN") {
        program.into()
    } else {
        product::build(ws)?;
        ws.product()
    };
    let mut tests = ws.cargo("test --release --locked -p tests --test chaos --");
    // One after the other and told: the figures are the point.
    tests.args(["--test-threads=1", "--nocapture"]).env("FANLIGHT_BIN", program);
    tests.args(named.iter().map(|name| format!("{name}::")));
    if full {
        tests.env("FANLIGHT_CHAOS", "full");
    }
    run(&mut tests)
}
