//! What is set about redaction: the table `[redact]`, and the arguments of `fanlight scan` and `fanlight erase`.

use std::path::PathBuf;

use ::redact::{Builtin, Wanted};
use edge::Redaction;
use model::ConversationId;
use serde::{Deserialize, Serialize};

/// The table `[redact]`. Without it keys, private keys and cards are redacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RedactSettings {
    /// Whether redaction is off altogether.
    pub(crate) off: bool,
    /// Whether e-mail addresses are redacted too.
    pub(crate) email: bool,
    /// Further patterns of what is redacted.
    pub(crate) patterns: Vec<String>,
}

impl RedactSettings {
    /// What is redacted; nothing where everything stays as it comes.
    pub(crate) fn redaction(&self) -> Option<Redaction> {
        let email = if self.email { Wanted::Yes } else { Wanted::No };
        let builtin = Builtin { email, ..Builtin::default() };
        (!self.off).then(|| Redaction { builtin, patterns: self.patterns.clone() })
    }
}

/// See [`super::CliCommand::Scan`].
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    /// Addresses of e-mail, too
    #[arg(long)]
    pub(crate) email: bool,
    /// A pattern of your own, too; may be repeated
    #[arg(long = "pattern", value_name = "REGEX")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) stored: StoredArgs,
}

/// See [`super::CliCommand::Erase`].
#[derive(Debug, clap::Args)]
pub(crate) struct EraseArgs {
    /// Remove this conversation; without it the value that stands on stdin, or in the file of --value-file
    #[arg(long, value_name = "NAME", conflicts_with = "value_file")]
    pub(crate) conversation: Option<ConversationId>,
    /// A file that holds the value to remove; never the value itself, since others see the arguments of programs
    #[arg(long, value_name = "FILE")]
    pub(crate) value_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) stored: StoredArgs,
}

/// Where a hub has stored what it took.
#[derive(Debug, clap::Args)]
pub(crate) struct StoredArgs {
    /// The log, as `fanlight serve --log` takes it: sqlite, sqlite:PATH or postgres://…
    #[arg(long, value_name = "LOG", env = "FANLIGHT_LOG", default_value = "sqlite")]
    pub(crate) log: String,
    /// The directory of what the hub keeps
    #[arg(long, value_name = "DIR", env = "FANLIGHT_DATA_DIR", default_value = "fanlight-data")]
    pub(crate) data_dir: PathBuf,
}
