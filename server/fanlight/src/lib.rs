//! The program `fanlight`: reads its arguments, runs one command, and reports the result.
//!
//! The crate is for people at a terminal: flags, environment variables and the settings file (`args`), the
//! commands that serve, publish, view and convert (`command`), the output of the trace (`telemetry`, and of panics in it, `panics`), and the
//! publishers of the demo (`demo`). It does not know how the hub stores or distributes events: it fills an
//! [`edge::Config`] and uses the same public endpoints as every other client.
//!
//! The binary (`main`) adds what only a binary has: the allocator, and the files of the page (`page`). It is linked with everything
//! else at once, which takes minutes; this library can be compiled while the page is still being built.
//!
//! Reading order: `args` (with `layers`: flags over environment over file) → `command` → `demo`.

use std::process::ExitCode;

use clap::Parser as _;
use edge::PageFiles;

mod args;
mod command;
mod demo;
mod panics;
mod telemetry;

/// Runs the command that the arguments of the process name. The hub serves the files of `page`. Returns when the command is over: 0
/// if it did what it should, 1 if it failed, 2 if the arguments are invalid.
pub fn run(page: PageFiles) -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are reported in this way too. If they cannot be printed, nobody can be told. An argument that is
            // repeated may be an address with a password.
            let text = error.to_string();
            match command::without_secrets(&text) {
                std::borrow::Cow::Owned(clean) if error.use_stderr() => command::complain(&clean),
                // Of the environment help says no values.
                _ => drop(error.print()),
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    command::run(args, page)
}
