//! The product: the hub with the page inside, built and started.

use crate::console::{human, human_bytes, say};
use crate::failure::{CommandFailure, CommandResult};
use crate::packages::Packages;
use crate::page;
use crate::process::{self, run as run_child};
use crate::tools::{self, ToolCache};
use crate::workspace::Workspace;
use std::process::Command;
use std::time::Instant;

/// The address that the demo listens on.
const DEMO_ADDRESS: &str = "127.0.0.1:4600";

/// What compiles everything that the binary consists of but the page.
const LIBRARY: &str = "build --release --locked -p fanlight --lib";

/// What makes the binary. It is linked with everything at once, which keeps all cores busy for minutes.
const BINARY: &str = "build --release --locked -p fanlight";

/// Builds the page and the hub's libraries side by side, since neither keeps all cores busy: the last steps of the page run on one. Then the
/// binary is made, which holds the page. At the end the page's script is looked for in the binary: a build script that
/// did not run again would leave an old page inside.
pub(crate) fn build(ws: &Workspace) -> CommandResult {
    let started = Instant::now();
    page::fetch(ws)?;
    let hub = process::start(&mut ws.cargo(LIBRARY))?;
    let page = page::stage(ws)?;
    // The hub is compiled with the files in `dist/`, so they change afterwards.
    hub.finish()?;
    let boot = page.ship(ws)?;
    run_child(&mut ws.cargo(BINARY))?;
    let product = ws.product();
    let bytes = std::fs::read(&product)
        .map_err(CommandFailure::io(format!("reading the product, {}", product.display())))?;
    if !bytes.windows(boot.len()).any(|window| window == boot.as_bytes()) {
        return Err(CommandFailure::new(format!("{} does not hold this page ({boot})", product.display()))
            .mend("server/fanlight/build.rs must say `cargo::rerun-if-changed` for dist/"));
    }
    let size = human_bytes(bytes.len());
    say(format!("built {} ({size}, page inside) in {}", product.display(), human(started.elapsed())));
    Ok(())
}

/// Builds everything and becomes the hub, with the demo. `args` go to `fanlight serve`.
pub(crate) fn run(ws: &Workspace, args: &[String]) -> CommandResult {
    build(ws)?;
    let mut hub = ws.command(ws.product());
    hub.args(["serve", "--demo"]);
    if !args.iter().any(|arg| arg.starts_with("--data-dir") || arg.starts_with("--log")) {
        hub.arg("--data-dir").arg(ws.target().join("fanlight-data"));
    }
    if args.iter().any(|arg| arg.starts_with("--listen")) {
        say("starting the hub with the demo; Ctrl-C drains it");
    } else {
        hub.args(["--listen", DEMO_ADDRESS]);
        say(format!("starting the hub with the demo on http://{DEMO_ADDRESS} ; Ctrl-C drains it"));
    }
    become_child(hub.args(args))
}

/// The hub takes the place of this process: signals and the exit code are then its own, and a drain is never cut short
/// by a parent that went first.
#[cfg(unix)]
fn become_child(command: &mut Command) -> CommandResult {
    use std::os::unix::process::CommandExt;
    Err(CommandFailure::io("starting the hub")(command.exec()))
}

/// Runs the hub as a child and waits for it, where a process cannot become another one.
#[cfg(not(unix))]
fn become_child(command: &mut Command) -> CommandResult {
    run_child(command)
}

/// Runs the benchmarks in release mode. The product is built first, unless `FANLIGHT_BIN` names another binary to measure.
pub(crate) fn bench(ws: &Workspace, args: &[String]) -> CommandResult {
    let program = if let Some(program) = std::env::var_os("FANLIGHT_BIN") {
        program.into()
    } else {
        build(ws)?;
        ws.product()
    };
    run_child(ws.cargo("bench --locked -p tests").args(args).env("FANLIGHT_BIN", program))
}

/// Installs every pinned tool.
pub(crate) fn tools(ws: &Workspace) -> CommandResult {
    let toolbox = ToolCache::find()?;
    tools::wasm_target(ws)?;
    toolbox.wasm_bindgen(ws)?;
    toolbox.cargo_deny(ws)?;
    match toolbox.wasm_opt() {
        Ok(program) => say(format!("wasm-opt is {}", program.display())),
        Err(why) => say(format!("wasm-opt is left out: {why}")),
    }
    for (name, place) in Packages::ensure(ws)?.told() {
        say(format!("{name}={}", place.display()));
    }
    Ok(())
}
