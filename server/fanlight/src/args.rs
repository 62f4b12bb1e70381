//! The arguments and environment variables, as given. This module fills in no defaults that depend on
//! anything else, and makes no checks that need a file or a socket, except for the settings file and files that describe dialects.

use clap::{Parser, Subcommand};

mod access;
mod agents;
mod amount;
mod ask;
mod client;
mod dialect;
mod doctor;
mod doors;
mod identities;
mod layers;
mod moving;
mod price;
mod redact;
mod serve;
mod sinks;
mod upstreams;

pub(crate) use self::access::{AccessSettings, AuditArgs, AuditCommand, Mode, TokenArgs, TokenCommand};
pub(crate) use self::ask::{AnswerFormat, AskArgs};
pub(crate) use self::client::{ExportArgs, ImportArgs, ReplayArgs, ReplaySpeed, TailArgs, TeeArgs};
pub(crate) use self::redact::{EraseArgs, ScanArgs, StoredArgs};
pub(crate) use dialect::{StreamDialect, described};
pub(crate) use doctor::DoctorArgs;
pub(crate) use identities::{JwtTable, OidcTable, RuleTable};
pub(crate) use moving::MoveArgs;
pub(crate) use serve::{ServeArgs, ServeSettings, TraceFormat};
pub(crate) use sinks::SinkSettings;

/// Watch AI agents work.
#[derive(Debug, Parser)]
#[command(name = "fanlight", version, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The commands of the binary, each with its own flags.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run the hub
    Serve(Box<ServeArgs>),
    /// Copy stdin to stdout untouched, and publish it. A hub that is down never disturbs the pipe
    Tee(TeeArgs),
    /// Watch a conversation in the terminal
    Tail(TailArgs),
    /// Ask an agent of the hub, and print its answer as it comes
    Ask(Box<AskArgs>),
    /// Publish a recording at a believable pace
    Replay(ReplayArgs),
    /// Write a conversation to stdout as a file of some format
    Export(ExportArgs),
    /// Make a conversation of a file that `export --format native` wrote
    Import(ImportArgs),
    /// Say what is wrong when nothing shows, and how to mend it
    Doctor(DoctorArgs),
    /// Copy all conversations from one log to another, while no hub uses either
    Move(MoveArgs),
    /// Fold a stream from stdin into what a viewer would see, as JSON. Needs no hub
    Fold(FoldArgs),
    /// Start a program that dies with the process of that number
    #[command(hide = true)]
    Alongside(AlongsideArgs),
    /// Make, list and revoke the tokens of a hub with access control
    Token(TokenArgs),
    /// Check the log of who did what at a hub with access control
    Audit(AuditArgs),
    /// Find secrets in what a hub has stored. The hub must be stopped
    Scan(ScanArgs),
    /// Remove one value or one conversation from what a hub has stored, and show that it is gone. The hub must be stopped
    Erase(EraseArgs),
    /// Turn a stream from stdin into one of another dialect, as it comes. Needs no hub
    Convert(ConvertArgs),
    /// Print a document of the built-in help, or list all of them. Needs no hub
    Docs(DocsArgs),
}

/// See [`CliCommand::Docs`].
#[derive(Debug, clap::Args)]
pub(crate) struct DocsArgs {
    /// The name of the document; without it all are listed
    #[arg(value_name = "DOCUMENT")]
    pub(crate) document: Option<String>,
}

/// See [`CliCommand::Alongside`].
#[derive(Debug, clap::Args)]
pub(crate) struct AlongsideArgs {
    /// The number of the process that starts it
    pub(crate) process: u32,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// See [`CliCommand::Fold`].
#[derive(Debug, clap::Args)]
pub(crate) struct FoldArgs {
    /// The dialect of the stream, or a YAML file that describes it
    #[arg(long, value_name = "DIALECT", env = "FANLIGHT_DIALECT")]
    pub(crate) dialect: StreamDialect,
    /// Take calls that the model wrote into its text, as `<tool_use>` or as JSON, out of it
    #[arg(long)]
    pub(crate) text_calls: bool,
    /// Print the short form: texts, calls, agents, usage and warnings of each run
    #[arg(long)]
    pub(crate) summary: bool,
}

/// See [`CliCommand::Convert`].
#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// The dialect of the stream, or a YAML file that describes it
    #[arg(long, value_name = "DIALECT")]
    pub(crate) from: StreamDialect,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", value_parser = encoded_dialect)]
    pub(crate) to: String,
    /// The name of the conversation, for dialects that have one
    #[arg(long, value_name = "NAME", default_value = "conversation")]
    pub(crate) conversation: model::ConversationId,
}

/// Parses the name of a dialect that can be written.
fn encoded_dialect(name: &str) -> Result<String, String> {
    if encode::encoding(name).is_some() {
        return Ok(name.to_owned());
    }
    Err(format!("no such dialect; there are {}", encode::names()))
}

#[cfg(test)]
mod tests;
