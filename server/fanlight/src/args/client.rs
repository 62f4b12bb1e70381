//! The arguments of the commands that are clients of a hub.

use std::path::PathBuf;
use std::str::FromStr;

use client::HubAddress;
use model::until::Until;
use model::{ConversationId, Position, RunId};

use super::StreamDialect;
use super::amount::{ByteSize, LengthOfTime};
use crate::command::CommandError;

/// The flags that say which hub a command talks to.
#[derive(Debug, clap::Args)]
pub(crate) struct HubArgs {
    /// The address of the hub, http:// or https://
    #[arg(long, value_name = "URL", env = "FANLIGHT_URL", default_value = "http://127.0.0.1:4600")]
    url: HubAddress,
    /// A token for the hub
    #[arg(long, value_name = "TOKEN", env = "FANLIGHT_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// A file with certificates (PEM) that are trusted for the hub, in addition to those of this machine
    #[arg(long, value_name = "FILE", env = "FANLIGHT_CA")]
    ca: Option<PathBuf>,
    /// Send the token over plain HTTP to another machine, where everybody on the way can read it
    #[arg(long, env = "FANLIGHT_TOKEN_IN_PLAIN")]
    token_in_plain: bool,
}

impl HubArgs {
    /// The address of the hub, with the token and what is trusted for it. Fails with a usage error for certificates that cannot be used, and
    /// if the token would cross the network in plain text.
    pub(crate) fn address(&self) -> Result<HubAddress, CommandError> {
        let address = self.url.clone().with_token(self.token.clone());
        let address = if self.token_in_plain { address.accepting_plain_token() } else { address };
        let address = address.with_ca(self.ca.clone()).map_err(|error| CommandError::Usage {
            what: upstream::reason(&error),
            mend: String::from("name a file with certificates in PEM with --ca, or leave it out"),
        })?;
        address.check_secrecy().map_err(|error| CommandError::Usage {
            what: error.to_string(),
            mend: String::from(
                "reach the hub by https:// (`fanlight docs access`), or give --token-in-plain if the way there is protected otherwise",
            ),
        })?;
        Ok(address)
    }
}

/// What a stream is and where it goes.
#[derive(Debug, clap::Args)]
pub(crate) struct StreamArgs {
    /// The dialect of the stream, a YAML file that describes it, or auto: it is told from the beginning of the stream
    #[arg(long, value_name = "DIALECT", env = "FANLIGHT_DIALECT", default_value = super::dialect::AUTO)]
    pub(crate) dialect: StreamDialect,
    /// The conversation that it goes into
    #[arg(long, value_name = "NAME", env = "FANLIGHT_CONVERSATION")]
    pub(crate) conversation: ConversationId,
    /// The run that it is a step of [default: a run of its own]
    #[arg(long, value_name = "ID", env = "FANLIGHT_RUN", value_parser = run)]
    pub(crate) run: Option<RunId>,
}

/// See [`super::CliCommand::Tee`].
#[derive(Debug, clap::Args)]
pub(crate) struct TeeArgs {
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    /// How much may wait for the hub on disk, besides 16 MiB in memory; 0 for none
    #[arg(long, value_name = "SIZE", env = "FANLIGHT_BUFFER", default_value = "1GiB")]
    pub(crate) buffer: ByteSize,
    /// How long the hub may take to accept what is left when stdin has ended
    #[arg(long, value_name = "TIME", env = "FANLIGHT_WAIT", default_value = "3s")]
    pub(crate) wait: LengthOfTime,
    /// The name of the machine, as the hub and its viewers are told it; empty for none [default: as uname -n says]
    #[arg(long, value_name = "NAME", env = "FANLIGHT_MACHINE")]
    pub(crate) machine: Option<String>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// See [`super::CliCommand::Replay`].
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The file with the recording
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    /// How fast: 1 is the recording's own pace (30 ms for each event where it has none), 2 is twice as fast, max does not wait
    #[arg(long, value_name = "N|max", env = "FANLIGHT_SPEED", default_value = "1")]
    pub(crate) speed: ReplaySpeed,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// See [`super::CliCommand::Tail`].
#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// The conversation; it may not exist yet
    #[arg(value_name = "CONVERSATION")]
    pub(crate) conversation: ConversationId,
    /// Write one envelope a line, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How much: critical leaves texts out, parts gives each text once it is whole, deltas gives everything
    #[arg(long, value_name = "LEVEL", env = "FANLIGHT_LEVEL", value_enum, default_value_t)]
    pub(crate) level: TailLevel,
    /// Begin after this position [default: what there is now, in short, then live]
    #[arg(long, value_name = "EPOCH:SEQ")]
    pub(crate) from: Option<Position>,
    /// Stop, with exit code 0, when this has happened in the newest run: run.end, approval, error, tool:NAME (a call is over), text:WORDS, seq:N
    #[arg(long, value_name = "WHAT")]
    pub(crate) until: Option<Until>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// See [`super::CliCommand::Export`].
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The name of the conversation
    #[arg(value_name = "CONVERSATION")]
    pub(crate) conversation: ConversationId,
    /// What it is written as: jsonl, native, md, html, openai, anthropic, open-webui, open-webui-chat, or a dialect
    #[arg(long, value_name = "FORMAT", env = "FANLIGHT_FORMAT")]
    pub(crate) format: String,
    /// For md and html: each step where it happened, or all in one block before the answer
    #[arg(long, value_name = "each|one-block", value_parser = ["each", "one-block"])]
    pub(crate) steps: Option<String>,
    /// For open-webui: results in the block, as from 0.9 on, or in an attribute
    #[arg(long, value_name = "body|attributes", value_parser = ["body", "attributes"])]
    pub(crate) form: Option<String>,
    /// For openai and anthropic: leave calls without a result out, or answer them with what is known
    #[arg(long, value_name = "leave-out|answer", value_parser = ["leave-out", "answer"])]
    pub(crate) unfinished: Option<String>,
    /// Only the turn that begins with this message
    #[arg(long, value_name = "MESSAGE", conflicts_with = "run")]
    pub(crate) message: Option<String>,
    /// Only the run with this id
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// See [`super::CliCommand::Import`].
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The file [default: stdin]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The name of the conversation [default: the one in the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<ConversationId>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// The level of detail of a conversation that is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TailLevel {
    /// States, calls, results, errors
    Critical,
    /// States, calls, results, errors, and each text once it is whole
    Parts,
    /// Everything, as it comes
    #[default]
    Deltas,
}

impl From<TailLevel> for model::lens::Level {
    fn from(level: TailLevel) -> Self {
        match level {
            TailLevel::Critical => Self::Critical,
            TailLevel::Parts => Self::Parts,
            TailLevel::Deltas => Self::Deltas,
        }
    }
}

/// The speed with which a recording is published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ReplaySpeed {
    /// A multiple of the recording's own pace; positive and finite.
    Times(f64),
    /// As fast as possible, without waiting.
    Max,
}

impl FromStr for ReplaySpeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match text.parse() {
            Ok(times) if f64::is_finite(times) && times > 0.0 => Ok(Self::Times(times)),
            _ => Err(String::from("a speed is a positive number, or max")),
        }
    }
}

/// Parses the id of a run.
fn run(id: &str) -> Result<RunId, String> {
    if id.is_empty() || id.chars().any(char::is_control) {
        return Err(String::from("a run's id is not empty and holds no control characters"));
    }
    Ok(RunId::new(id))
}
