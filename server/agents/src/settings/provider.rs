//! The server of a model and how it is asked.

use upstream::{Api, Upstream, UpstreamError};

/// The API of a model's server, as far as the hub's own loop uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// The chat completions of OpenAI.
    OpenAi,
    /// The messages of Anthropic.
    Anthropic,
}

/// The server of a model: its API, its address and its key. Read from the settings, once for each agent.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The API that the server speaks.
    pub api: ModelApi,
    /// The server as an upstream.
    pub upstream: Upstream,
    /// The path below its URL for a request.
    pub path: &'static str,
    /// The environment variable with its key, if there is one.
    pub key_env: Option<String>,
    /// Whether a request without the key must fail.
    pub needs_key: bool,
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider is unknown and has no URL.
    #[error("no provider is named {name:?}; there are {known}; others have a url")]
    Unknown {
        /// The name in the settings.
        name: String,
        /// The names of known providers.
        known: String,
    },
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] UpstreamError),
}

impl Provider {
    /// The provider `name`: one of the upstreams that are known or in `named`, or one at `url`, which may be
    /// written as for the vendor's own SDKs. The key in the vendor's usual variable is only sent to the
    /// vendor's usual address.
    pub fn new(
        name: &str,
        url: Option<&str>,
        key_env: Option<&str>,
        named: &[Upstream],
    ) -> Result<Self, ProviderError> {
        let known = Upstream::all(named);
        let found = known.iter().find(|upstream| upstream.name() == name);
        let (upstream, path) = match (found, url) {
            (Some(upstream), None) => (upstream.clone(), usual_path(upstream.api())),
            (found, Some(url)) => {
                let api = found.map_or_else(|| Api::of_upstream(name), Upstream::api);
                (Upstream::new(name, url, api)?, path_behind(api, url))
            }
            (None, None) => {
                let known: Vec<_> = known.iter().map(Upstream::name).collect();
                return Err(ProviderError::Unknown { name: name.to_owned(), known: known.join(", ") });
            }
        };
        let api = match upstream.api() {
            Api::Anthropic => ModelApi::Anthropic,
            Api::OpenAi | Api::Gemini | Api::Ollama => ModelApi::OpenAi,
        };
        let is_usual = found.is_some_and(|found| found.place() == upstream.place());
        let usual = || {
            let letters =
                name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
            is_usual.then(|| letters.chain("_API_KEY".chars()).collect::<String>())
        };
        let needs_key = key_env.is_some();
        let key_env = key_env.map(str::to_owned).or_else(usual);
        Ok(Self { api, upstream, path, key_env, needs_key })
    }
}

/// The path below the host for a request.
fn usual_path(api: Api) -> &'static str {
    match api {
        Api::OpenAi | Api::Ollama => "/v1/chat/completions",
        Api::Anthropic => "/v1/messages",
        // Gemini's copy of OpenAI's API.
        Api::Gemini => "/v1beta/openai/chat/completions",
    }
}

/// The path below a base URL for a request; empty if the URL is that of the request itself.
pub(super) fn path_behind(api: Api, url: &str) -> &'static str {
    let url = url.trim_end_matches('/');
    match api {
        Api::Anthropic if url.ends_with("/messages") => "",
        Api::Anthropic if url.ends_with("/v1") => "/messages",
        Api::Anthropic => "/v1/messages",
        _ if url.ends_with("/chat/completions") => "",
        _ => "/chat/completions",
    }
}

#[cfg(test)]
mod tests;
