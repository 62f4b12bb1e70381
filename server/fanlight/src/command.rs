//! The commands, one module each, and what they share: how they fail.
//!
//! ```text
//! exit code 0   done, or the reader of stdout has gone
//! exit code 1   it failed: what happened on stderr, and how to mend it
//! exit code 2   the request is invalid; also what clap refuses
//! ```

use std::process::ExitCode;

use client::{CourierError, PublishError};
use edge::PageFiles;

use crate::args::{Args, CliCommand};

mod alongside;
mod ask;
mod audit;
mod convert;
mod docs;
mod doctor;
mod export;
mod fold;
mod import;
mod input;
mod moving;
mod native;
mod output;
mod replay;
mod runtime;
mod secrets;
mod serve;
mod stored;
mod tail;
mod tee;
mod terminal;
mod token;

use output::ResultOutput;
pub(crate) use output::complain;
pub(crate) use secrets::{Cleaner, without_secrets};

/// Why a command failed. It is printed on stderr: what happened and where, then how to mend it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The request is invalid.
    #[error("{what}\n  {mend}")]
    Usage {
        /// What is wrong, and where.
        what: String,
        /// The way to mend it.
        mend: String,
    },
    /// The command has failed.
    #[error("{what}\n  {mend}")]
    Failed {
        /// What went wrong, and where.
        what: String,
        /// The way to mend it.
        mend: String,
    },
    /// The reader of stdout has gone. This is not a failure: nothing is left to do.
    #[error("nobody reads the output any more")]
    NobodyReads,
}

impl CommandError {
    /// A failure with its remedy.
    pub(crate) fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), mend: mend.into() }
    }

    /// The failure of a client that could not publish.
    pub(crate) fn publishing(error: &PublishError) -> Self {
        let mend = match error {
            PublishError::Unreachable { .. } => {
                "start a hub with `fanlight serve`, or name another one with --url"
            }
            PublishError::Broken { .. } => "see what became of the hub; what it has taken is kept",
            PublishError::Refused { .. } => "fix what the hub names, and try again",
        };
        Self::new(error.to_string(), mend)
    }

    /// The failure of a courier that cannot continue.
    pub(crate) fn carrying(error: &CourierError) -> Self {
        let mend = match error {
            CourierError::Unreachable { .. } => {
                "start a hub with `fanlight serve`, or name another one with --url"
            }
            CourierError::Closed { .. } | CourierError::Refused { .. } => {
                "fix what the hub names, and try again"
            }
        };
        Self::new(error.to_string(), mend)
    }

    /// The exit code of the process.
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NobodyReads => ExitCode::SUCCESS,
            Self::Failed { .. } => ExitCode::from(1),
            Self::Usage { .. } => ExitCode::from(2),
        }
    }
}

/// Runs the given command; `page` is what a hub serves. Returns when the command is over; results are on stdout, everything else on
/// stderr.
pub(crate) fn run(args: Args, page: PageFiles) -> ExitCode {
    let output = ResultOutput::stdout();
    let done = match args.command {
        CliCommand::Serve(args) => serve::run(&args, page, output),
        CliCommand::Tee(args) => tee::run(&args, output),
        CliCommand::Tail(args) => tail::run(&args, output),
        CliCommand::Ask(args) => ask::run(&args, output),
        CliCommand::Replay(args) => replay::run(&args, output),
        CliCommand::Export(args) => export::run(&args, output),
        CliCommand::Import(args) => import::run(&args, output),
        CliCommand::Doctor(args) => doctor::run(&args, output),
        CliCommand::Move(args) => moving::run(&args, output),
        CliCommand::Token(args) => token::run(args, output),
        CliCommand::Audit(args) => audit::run(&args, output),
        CliCommand::Scan(args) => stored::scan(&args, output),
        CliCommand::Erase(args) => stored::erase(&args, output),
        CliCommand::Convert(args) => convert::run(&args, std::io::stdin().lock(), output),
        CliCommand::Docs(args) => docs::run(&args, output),
        CliCommand::Alongside(args) => alongside::run(&args),
        CliCommand::Fold(args) => fold::run(&args, std::io::stdin().lock(), output),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::NobodyReads) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}
