//! Providers that a YAML file describes: where they are, and how their streams are to be read.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use server::config::{Provider, Upstream};
use shared::dialect::custom::UserDialect;

/// What of the file is for those who call the provider.
#[derive(Debug, Deserialize)]
struct File {
    provider: Described,
    stream: Option<Stream>,
}

#[derive(Debug, Deserialize)]
struct Described {
    name: String,
    api_url: String,
    key_env: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Stream {
    enabled: Option<bool>,
    /// Viewers watch the hub, and `[[sinks]]` writes files: nothing more is needed.
    #[serde(default, rename = "sinks")]
    _sinks: Vec<Sink>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Sink {
    Websocket(IgnoredAny),
    File(IgnoredAny),
    Return(IgnoredAny),
}

/// Whether `provider` is the name of such a file.
pub(super) fn is_one(provider: &str) -> bool {
    let end = Path::new(provider).extension();
    end.is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// The provider, and its dialect where it has one of its own; else what is wrong.
pub(super) fn read(
    path: &str,
    key_env: Option<&str>,
    upstreams: &[Upstream],
) -> Result<(Provider, Option<UserDialect>), String> {
    let wrong = |why: String| format!("{path}: {why}");
    let yaml = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let file: File =
        serde_saphyr::from_str(&yaml).map_err(|error| wrong(error.without_snippet().to_string()))?;
    let File { provider: Described { name, api_url, key_env: own }, stream } = file;
    if stream.as_ref().is_some_and(|stream| stream.enabled == Some(false)) {
        return Err(wrong(String::from("stream.enabled is false, and the hub takes streams alone")));
    }
    let key_env = key_env.or(own.as_deref());
    let provider = Provider::new(&name, Some(&api_url), key_env, upstreams);
    let mut provider = provider.map_err(|error| wrong(error.to_string()))?;
    // The URL is that of the request itself.
    provider.path = "";
    if Upstream::is_known(&name) {
        return Ok((provider, None));
    }
    let dialect = UserDialect::parse(&yaml).map_err(|error| wrong(error.to_string()))?;
    Ok((provider, Some(dialect)))
}
