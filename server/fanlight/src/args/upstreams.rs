//! The tables `[upstreams.NAME]` of the settings file, and `--upstream NAME=URL`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};
use upstream::{Api, Upstream};

/// A table of `[upstreams]`: a model API to which the proxy forwards calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpstreamSettings {
    /// The URL; the paths of calls are appended to it.
    url: String,
    /// Its API, if that does not follow from its name: openai, anthropic, gemini or ollama.
    #[serde(default)]
    api: Option<String>,
    /// A PEM file with certificates that are trusted for it.
    #[serde(default)]
    ca: Option<PathBuf>,
}

impl UpstreamSettings {
    /// Converts the table; the error says what is wrong.
    pub(crate) fn upstream(&self, name: &str) -> Result<Upstream, String> {
        let api = match &self.api {
            None => Api::of_upstream(name),
            Some(api) => Api::of_name(api).ok_or_else(|| {
                format!("the api of {name:?} is {api:?}; there are openai, anthropic, gemini and ollama")
            })?,
        };
        let upstream = Upstream::new(name, &self.url, api).map_err(|error| error.to_string())?;
        upstream.with_ca(self.ca.as_deref()).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })
    }
}

/// Splits `NAME=URL`. The error says what is missing.
pub(super) fn named(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, url)| !name.is_empty() && !url.is_empty());
    let (name, url) = pair.ok_or_else(|| String::from("an upstream is written NAME=URL"))?;
    Ok((name.to_owned(), url.to_owned()))
}

/// Serializes the pairs as tables.
pub(super) fn as_tables<S: Serializer>(named: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let table = |url: &String| BTreeMap::from([("url", url.clone())]);
    serializer.collect_map(named.iter().map(|(name, url)| (name, table(url))))
}
