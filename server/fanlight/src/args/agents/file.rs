//! Providers that a YAML file describes: where they are, and how their streams are to be read.

use std::path::Path;

use agents::{Provider, StreamSink};
use dialects::custom::UserDialect;
use serde::Deserialize;
use serde::de::IgnoredAny;
use upstream::Upstream;

mod sinks;

use sinks::{FileSink, FileSinkSettings};

/// What of the file is for those who call the provider.
#[derive(Debug, Deserialize)]
struct ProviderFile {
    provider: ProviderEntry,
    stream: Option<ProviderStream>,
}

#[derive(Debug, Deserialize)]
struct ProviderEntry {
    name: String,
    api_url: String,
    key_env: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ProviderStream {
    enabled: Option<bool>,
    #[serde(default)]
    sinks: Vec<FileSinkSettings>,
    /// How the stream is read; [`UserDialect`] knows it.
    extract: Option<IgnoredAny>,
}

/// What such a file says.
pub(super) struct ReadProviderFile {
    /// The provider.
    pub(super) provider: Provider,
    /// Its dialect, where it has one of its own.
    pub(super) dialect: Option<UserDialect>,
    /// Where its raw events go besides.
    pub(super) sinks: Vec<StreamSink>,
    /// How many pieces of an answer may wait for the agent, where it is said.
    pub(super) notes_max: Option<usize>,
}

/// Whether `provider` is the name of such a file.
pub(super) fn is_one(provider: &str) -> bool {
    let end = Path::new(provider).extension();
    end.is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// What the file says; else what is wrong with it, and where.
pub(super) fn read(
    path: &str,
    key_env: Option<&str>,
    upstreams: &[Upstream],
) -> Result<ReadProviderFile, String> {
    let wrong = |why: String| format!("{path}: {why}");
    let yaml = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let file: ProviderFile =
        serde_saphyr::from_str(&yaml).map_err(|error| wrong(error.without_snippet().to_string()))?;
    let ProviderFile { provider: ProviderEntry { name, api_url, key_env: own }, stream } = file;
    if stream.as_ref().is_some_and(|stream| stream.enabled == Some(false)) {
        return Err(wrong(String::from("stream.enabled is false, and the hub takes streams alone")));
    }
    let key_env = key_env.or(own.as_deref());
    let provider = Provider::new(&name, Some(&api_url), key_env, upstreams);
    let mut provider = provider.map_err(|error| wrong(error.to_string()))?;
    // The URL is that of the request itself.
    provider.path = "";
    let (sinks, extract) = stream.map_or_else(Default::default, |stream| (stream.sinks, stream.extract));
    let (mut elsewhere, mut notes_max) = (Vec::new(), None);
    for sink in sinks {
        match sink.sink().map_err(wrong)? {
            FileSink::Elsewhere(sink) => elsewhere.push(sink),
            FileSink::Agent(size) => notes_max = size.or(notes_max),
        }
    }
    let described = || UserDialect::parse(&yaml).map_err(|error| wrong(error.to_string()));
    let is_known = Upstream::is_known(&name);
    // The words of a known provider are read with all that they say, so what is to be taken out of them need only be right.
    let dialect = if is_known && extract.is_none() { None } else { Some(described()?) };
    Ok(ReadProviderFile { provider, dialect: dialect.filter(|_| !is_known), sinks: elsewhere, notes_max })
}
