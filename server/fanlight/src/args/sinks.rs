//! The tables `[[sinks]]` of the file with settings.

use std::path::PathBuf;

use edge::{FileTarget, Flush, Sink, Target};
use serde::{Deserialize, Serialize};

use super::amount::ByteSize;

/// Size of a file before it is renamed, unless it is said.
const MAX_BYTES: ByteSize = ByteSize(100_000_000);

/// Older files that are kept, unless it is said.
const KEEP: usize = 5;

/// One entry of `[[sinks]]`: where the hub passes on what it takes in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SinkSettings {
    /// Into a file, one envelope a line.
    File {
        /// The file.
        path: PathBuf,
        /// Which conversations: names with `*` for anything.
        #[serde(default = "all")]
        conversations: String,
        /// Size at which the file is renamed.
        #[serde(default = "max_bytes")]
        max_bytes: ByteSize,
        /// Older files that are kept.
        #[serde(default = "keep")]
        keep: usize,
        /// When what is written is safe.
        #[serde(default)]
        flush: FlushSettings,
    },
    /// Into another hub.
    Hub {
        /// Its address.
        url: String,
        /// A token for it.
        #[serde(default)]
        token: Option<String>,
        /// Which conversations: names with `*` for anything.
        #[serde(default = "all")]
        conversations: String,
    },
}

/// When what is written is safe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FlushSettings {
    /// When the system has it.
    #[default]
    Written,
    /// When the disk has it.
    Synced,
}

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
    /// As the hub wants it; else what is wrong.
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
            Self::Hub { url, token, conversations } => {
                let address = url.parse::<client::HubAddress>().map_err(|error| error.to_string())?;
                let target = Target::Hub(address.with_token(token.clone()));
                Ok(Sink { conversations: conversations.clone(), target })
            }
        }
    }
}
