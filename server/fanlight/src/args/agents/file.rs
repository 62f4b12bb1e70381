//! Providers described by a YAML file: where they are, and how their streams are read.
//!
//! ```yaml
//! provider:
//!   name: acme
//!   api_url: https://api.acme.example/v1/answers   # the URL of the request itself
//!   key_env: ACME_KEY
//! stream:
//!   sinks: [{type: file, path: "events/{thread_id}.jsonl"}]
//!   extract: {text: "$.delta.text"}                # for a provider that is not known
//! ```

use std::path::Path;

use agents::{Provider, StreamSink};
use dialects::custom::UserDialect;
use serde::Deserialize;
use serde::de::IgnoredAny;
use upstream::Upstream;

mod sinks;

use sinks::{FileSink, FileSinkSettings};

/// The part of the file that concerns calls of the provider.
#[derive(Debug, Deserialize)]
struct ProviderFile {
    /// The table `provider`: its address and key.
    provider: ProviderEntry,
    /// How its answers are read and who else gets them.
    stream: Option<ProviderStream>,
}

/// The table `provider` of the file.
#[derive(Debug, Deserialize)]
struct ProviderEntry {
    /// A known provider's name, or one of the user's own.
    name: String,
    /// The URL to which each request goes as it is.
    api_url: String,
    /// The environment variable with the key, unless the agent's table names one.
    key_env: Option<String>,
}

/// The table `stream` of the file.
#[derive(Debug, Deserialize)]
struct ProviderStream {
    /// Must not be false: the hub takes streams alone.
    enabled: Option<bool>,
    /// Who gets the raw events of each answer.
    #[serde(default)]
    sinks: Vec<FileSinkSettings>,
    /// How the stream is read; [`UserDialect`] parses it.
    extract: Option<IgnoredAny>,
}

/// What the file describes.
pub(super) struct ReadProviderFile {
    /// The provider that answers.
    pub(super) provider: Provider,
    /// The dialect of the provider, if it is not a known one.
    pub(super) dialect: Option<UserDialect>,
    /// Further targets of its raw events.
    pub(super) sinks: Vec<StreamSink>,
    /// How many pieces of an answer may wait for the agent, if set.
    pub(super) notes_max: Option<usize>,
}

/// Whether `provider` is the name of such a file.
pub(super) fn is_one(provider: &str) -> bool {
    let end = Path::new(provider).extension();
    end.is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// Reads the file. The error says what is wrong, and where. The URL of the file wins over the provider's
/// usual one, and `key_env` over that of the file.
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
    // A known provider's dialect is complete, so what the file extracts must only be valid.
    let dialect = if is_known && extract.is_none() { None } else { Some(described()?) };
    Ok(ReadProviderFile { provider, dialect: dialect.filter(|_| !is_known), sinks: elsewhere, notes_max })
}
