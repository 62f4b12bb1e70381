//! The binary `fanlight`: reads its arguments, runs one command, says how it went.
//!
//! What is here is for people at a terminal: flags, the environment and the file with settings (`args`), the commands that serve, publish, view
//! and convert (`command`), where the trace is written (`telemetry`), and the publishers of the demo (`demo`). It must never know how the hub
//! keeps or fans out events: it fills a [`edge::Config`] and uses the same public doors as every other client.
//!
//! Reading order: `args` (with `layers`: flags over environment over file) → `command` → `demo`.

use std::process::ExitCode;

use clap::Parser as _;

/// Thousands of viewers mean many small, short-lived buffers on many threads, and one export means megabytes for a moment: both are
/// cheap with it, and what was freed goes back to the system (docs/decisions/0037).
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod args;
mod command;
mod demo;
mod telemetry;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version come this way too. When nobody reads them there is nobody left to tell.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    command::run(args)
}
