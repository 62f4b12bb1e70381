//! The table `[mcp.NAME]`.
//!
//! ```toml
//! [mcp.time]
//! command = ["uvx", "mcp-server-time"]
//! [mcp.search]
//! url = "https://tools.example/mcp"
//! key_env = "SEARCH_KEY"
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use agents::{FilledHeader, Reach, ToolServer};
use serde::{Deserialize, Serialize};
use upstream::{Api, Upstream};

use super::is_plain;

/// How long a tool server may take to start, in seconds, unless set. Programs may have to be downloaded
/// first.
const START_SECONDS: u64 = 60;

/// A tool server: either a command or a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpSettings {
    /// A program and its arguments.
    command: Vec<String>,
    /// Environment variables of the program.
    env: BTreeMap<String, String>,
    /// The directory in which it is started.
    directory: Option<PathBuf>,
    /// The URL of a server that speaks streamable HTTP.
    url: Option<String>,
    /// The environment variable with the server's key.
    key_env: Option<String>,
    /// Further headers of each request; `${NAME}` is replaced by that environment variable.
    headers: BTreeMap<String, String>,
    /// A file with certificates that are trusted for it.
    ca: Option<PathBuf>,
    /// How long it may take to start, in seconds.
    start_seconds: Option<u64>,
}

impl McpSettings {
    /// Converts the table; the error says what is wrong. Whether the server is there is found out when an
    /// agent first wants its tools.
    pub(crate) fn server(&self, name: &str) -> Result<ToolServer, String> {
        let of = |what: &str| format!("the tools {name:?}: {what}");
        if !is_plain(name) || name.contains("__") {
            return Err(of("the name has letters, digits, - and _ alone, and no two _ in a row"));
        }
        let is_program = !self.command.is_empty();
        let reach = match &self.url {
            Some(_) if is_program => return Err(of("they have a command or a url, not both")),
            Some(_) if !self.env.is_empty() || self.directory.is_some() => {
                return Err(of("env and directory are for a command"));
            }
            Some(url) => self.http(name, url).map_err(|error| of(&error))?,
            None if is_program && (self.ca.is_some() || !self.headers.is_empty()) => {
                return Err(of("headers and ca are for a url"));
            }
            None if is_program && self.key_env.is_some() => {
                return Err(of("key_env is for a url; a command has env"));
            }
            None if is_program => Reach::Program {
                command: self.command.clone(),
                env: self.env.clone().into_iter().collect(),
                directory: self.directory.clone(),
            },
            None => return Err(of("they have a command (a list of words) or a url")),
        };
        let patience = Duration::from_secs(self.start_seconds.unwrap_or(START_SECONDS).max(1));
        Ok(ToolServer { name: name.into(), reach, patience })
    }

    /// Converts a server that is reached over HTTP.
    fn http(&self, name: &str, url: &str) -> Result<Reach, String> {
        let upstream = Upstream::new(name, url, Api::OpenAi);
        let upstream = upstream.and_then(|upstream| upstream.with_ca(self.ca.as_deref()));
        let upstream = upstream.map_err(|error| error.to_string())?;
        let headers = self.headers.iter().map(|(name, value)| FilledHeader::new(name, value));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        if self.key_env.is_some() && headers.iter().any(FilledHeader::is_authorization) {
            return Err(String::from("they have a key_env or a header Authorization, not both"));
        }
        Ok(Reach::Http {
            url: url.to_owned(),
            upstream: Box::new(upstream),
            key_env: self.key_env.clone(),
            headers,
        })
    }
}
