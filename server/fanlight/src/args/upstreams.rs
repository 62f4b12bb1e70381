//! The tables `[upstreams.NAME]` of the file with settings, and `--upstream NAME=URL`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};
use upstream::{Api, Upstream};

/// One entry of `[upstreams]`: a model API that the proxy passes calls on to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpstreamSettings {
    /// Its URL; the paths of calls are put behind it.
    url: String,
    /// Whose words it speaks, where that is not what its name says: openai, anthropic, gemini or ollama.
    #[serde(default)]
    api: Option<String>,
    /// Certificates that are trusted for it, a file of PEM.
    #[serde(default)]
    ca: Option<PathBuf>,
}

impl UpstreamSettings {
    /// As the hub wants it; else what is wrong.
    pub(crate) fn upstream(&self, name: &str) -> Result<Upstream, String> {
        let api = match &self.api {
            None => Api::of_upstream(name),
            Some(api) => Api::of_name(api).ok_or_else(|| {
                format!("the api of {name:?} is {api:?}; there are openai, anthropic, gemini and ollama")
            })?,
        };
        let upstream = Upstream::new(name, &self.url, api).map_err(|error| error.to_string())?;
        match &self.ca {
            None => Ok(upstream),
            Some(file) => upstream.trusting(file).map_err(|error| {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                format!("{error}{}", cause.unwrap_or_default())
            }),
        }
    }
}

/// Splits `NAME=URL` into the two; an error says what is missing.
pub(super) fn named(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, url)| !name.is_empty() && !url.is_empty());
    let (name, url) = pair.ok_or_else(|| String::from("an upstream is written NAME=URL"))?;
    Ok((name.to_owned(), url.to_owned()))
}

/// As the tables are written.
pub(super) fn as_tables<S: Serializer>(named: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let table = |url: &String| BTreeMap::from([("url", url.clone())]);
    serializer.collect_map(named.iter().map(|(name, url)| (name, table(url))))
}
