//! The binary `fanlight`: reads its arguments, runs one command, and reports the result.
//!
//! The crate is for people at a terminal: flags, environment variables and the settings file (`args`), the
//! commands that serve, publish, view and convert (`command`), the output of the trace (`telemetry`), the
//! publishers of the demo (`demo`), and the files of the page, which are part of the binary (`page`). It does not know how the hub stores or distributes events: it fills an
//! [`edge::Config`] and uses the same public endpoints as every other client.
//!
//! Reading order: `args` (with `layers`: flags over environment over file) → `command` → `demo`.

use std::process::ExitCode;

use clap::Parser as _;

/// Thousands of viewers need many small, short-lived buffers on many threads, and an export needs megabytes
/// for a moment. This allocator is good at both, and returns freed memory to the system
/// (docs/decisions/0037).
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod args;
mod command;
mod demo;
mod page;
mod telemetry;

fn main() -> ExitCode {
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
    command::run(args)
}
