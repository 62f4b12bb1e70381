//! The tables `[upstreams.NAME]` of the settings file, and `--upstream NAME=URL`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};
use upstream::{Api, Upstream};

/// A table of `[upstreams]`: a model API to which the proxy forwards calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpstreamSettings {
    /// The URL; the paths of calls are appended to it. Upstreams that are known by name have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The API of the upstream, if that does not follow from its name: openai, anthropic, gemini or ollama.
    #[serde(default)]
    api: Option<String>,
    /// A PEM file with certificates that are trusted for it.
    #[serde(default)]
    ca: Option<PathBuf>,
    /// The environment variable with the hub's own key, which tokens may be lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_env: Option<String>,
    /// The file with that key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
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
        let url = self.url.as_deref().or_else(|| Upstream::url_of_known(name));
        let url = url.ok_or_else(|| format!("the upstream {name:?} has no url"))?;
        let mut upstream = Upstream::new(name, url, api).map_err(|error| error.to_string())?;
        if let Some(key) = self.key(name)? {
            upstream = upstream.holding(&key).map_err(|error| error.to_string())?;
        }
        upstream.with_ca(self.ca.as_deref()).map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })
    }
}

impl UpstreamSettings {
    /// Whether the hub holds a key for it.
    pub(crate) fn has_key(&self) -> bool {
        self.key_env.is_some() || self.key_file.is_some()
    }

    /// The key, from where the settings say. No error shows it.
    fn key(&self, name: &str) -> Result<Option<String>, String> {
        match (&self.key_env, &self.key_file) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(format!("the upstream {name:?} has both key_env and key_file; give one"))
            }
            (Some(variable), None) => std::env::var(variable).map(Some).map_err(|_not_shown| {
                format!("the environment has no {variable}, which is key_env of the upstream {name:?}")
            }),
            (None, Some(file)) => std::fs::read_to_string(file).map(Some).map_err(|error| {
                format!("{}, which is key_file of the upstream {name:?}: {error}", file.display())
            }),
        }
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

#[cfg(test)]
mod tests {
    use super::UpstreamSettings;

    #[test]
    fn an_upstream_without_a_url_is_refused_unless_its_name_says_one() {
        let settings: UpstreamSettings = serde_json::from_str(r#"{"api": "openai"}"#).unwrap();
        assert_eq!(settings.upstream("x").unwrap_err(), "the upstream \"x\" has no url");
        assert!(settings.upstream("openai").is_ok());
    }
}
