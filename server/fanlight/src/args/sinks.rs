//! The tables `[[sinks]]` of the settings file.

use std::path::PathBuf;

use edge::{FileTarget, Flush, Sink, Target};
use serde::{Deserialize, Serialize};

use super::amount::ByteSize;

/// The size at which a file is renamed, unless set.
const MAX_BYTES: ByteSize = ByteSize(100_000_000);

/// How many older files are kept, unless set.
const KEEP: usize = 5;

/// A table of `[[sinks]]`: where the hub sends received events on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SinkSettings {
    /// A file, with one envelope per line.
    File {
        /// The path of the file.
        path: PathBuf,
        /// A pattern of conversation names, with `*` for any text.
        #[serde(default = "all")]
        conversations: String,
        /// The size at which the file is renamed.
        #[serde(default = "max_bytes")]
        max_bytes: ByteSize,
        /// The number of older files that are kept.
        #[serde(default = "keep")]
        keep: usize,
        /// When written data counts as safe.
        #[serde(default)]
        flush: FlushSettings,
    },
    /// Another hub, which gets the events.
    Hub {
        /// The address of the hub.
        url: String,
        /// A token for the hub.
        #[serde(default)]
        token: Option<String>,
        /// A file with certificates that are trusted for the hub, in addition to those of this machine.
        #[serde(default)]
        ca: Option<PathBuf>,
        /// Whether the token may be sent over plain HTTP to another machine.
        #[serde(default)]
        token_in_plain: bool,
        /// A pattern of conversation names, with `*` for any text.
        #[serde(default = "all")]
        conversations: String,
    },
}

/// When written data counts as safe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FlushSettings {
    /// When the operating system has it.
    #[default]
    Written,
    /// When the disk has it.
    Synced,
}

/// The pattern of all conversations.
fn all() -> String {
    String::from("*")
}

fn max_bytes() -> ByteSize {
    MAX_BYTES
}

fn keep() -> usize {
    KEEP
}

impl SinkSettings {
    /// Converts the table; the error says what is wrong.
    pub(crate) fn sink(&self) -> Result<Sink, String> {
        match self {
            Self::File { path, conversations, max_bytes, keep, flush } => {
                if max_bytes.0 == 0 {
                    return Err(format!(
                        "the sink {} has max_bytes = 0, which takes nothing",
                        path.display()
                    ));
                }
                let flush = match flush {
                    FlushSettings::Written => Flush::Written,
                    FlushSettings::Synced => Flush::Synced,
                };
                let target = FileTarget { path: path.clone(), max_bytes: max_bytes.0, keep: *keep, flush };
                Ok(Sink { conversations: conversations.clone(), target: Target::File(target) })
            }
            Self::Hub { url, token, ca, token_in_plain, conversations } => {
                let address = url.parse::<client::HubAddress>().map_err(|error| error.to_string())?;
                let address = address.with_token(token.clone());
                let address = if *token_in_plain { address.accepting_plain_token() } else { address };
                let address = address.with_ca(ca.clone()).map_err(|error| upstream::reason(&error))?;
                address.check_secrecy().map_err(|error| {
                    format!("{error}; write https://, or token_in_plain = true if the way there is protected otherwise")
                })?;
                Ok(Sink { conversations: conversations.clone(), target: Target::Hub(address) })
            }
        }
    }
}
