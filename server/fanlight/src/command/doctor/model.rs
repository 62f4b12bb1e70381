//! How an upstream is asked: each API has paths, headers and words of its own.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use upstream::Api;

/// What an answer is asked for with.
const QUESTION: &str = "Count from one to twenty in words.";

/// Most tokens of the answer.
const TOKENS: u32 = 60;

/// The upstreams, as the hub tells of them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct UpstreamList {
    upstreams: Vec<UpstreamRow>,
}

#[derive(Debug, Deserialize)]
struct UpstreamRow {
    name: String,
    api: String,
    url: String,
}

/// How one is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelEndpoint {
    pub(super) api: Api,
    /// It is on this machine, so that it may be without keys.
    pub(super) is_near: bool,
}

impl UpstreamList {
    /// Of the answer of the hub; a hub that does not tell knows those that are known everywhere.
    pub(super) fn of(body: &str) -> Self {
        serde_json::from_str(body).unwrap_or_default()
    }

    /// How the upstream `name` is asked.
    pub(super) fn model(&self, name: &str) -> ModelEndpoint {
        let row = self.upstreams.iter().find(|row| row.name == name);
        let api = row.and_then(|row| Api::of_name(&row.api)).unwrap_or_else(|| Api::of_upstream(name));
        let is_near = row.is_some_and(|row| is_near(&row.url)) || api == Api::Ollama && row.is_none();
        ModelEndpoint { api, is_near }
    }
}

fn is_near(url: &str) -> bool {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let address: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

impl ModelEndpoint {
    /// What stands behind `/proxy/` in the base URL of its clients.
    pub(super) fn place(self, name: &str) -> String {
        if self.api == Api::OpenAi { format!("{name}/v1") } else { name.to_owned() }
    }

    /// The same model, where the base URL `given` is that of a client of OpenAI: some vendors have a place for those.
    pub(super) fn through(self, given: &str) -> Self {
        let is_open_ai = match self.api {
            Api::Ollama => given.ends_with("/v1"),
            Api::Gemini => given.ends_with("/openai"),
            _ => false,
        };
        if is_open_ai { Self { api: Api::OpenAi, ..self } } else { self }
    }

    /// Asks at `given` for the models that there are.
    pub(super) fn list(self, http: &Client, given: &str) -> RequestBuilder {
        http.get(match self.api {
            Api::OpenAi => format!("{given}/models"),
            Api::Anthropic => format!("{given}/v1/models"),
            Api::Gemini => format!("{given}/v1beta/models"),
            Api::Ollama => format!("{given}/api/tags"),
        })
    }

    /// Asks at `given` for an answer of `model`, as a stream.
    pub(super) fn answer(self, http: &Client, given: &str, model: &str) -> RequestBuilder {
        let messages = json!([{"role": "user", "content": QUESTION}]);
        let (url, body): (_, Value) = match self.api {
            Api::OpenAi => (
                format!("{given}/chat/completions"),
                json!({"model": model, "stream": true, "max_tokens": TOKENS, "messages": messages}),
            ),
            Api::Anthropic => (
                format!("{given}/v1/messages"),
                json!({"model": model, "stream": true, "max_tokens": TOKENS, "messages": messages}),
            ),
            Api::Gemini => (
                format!("{given}/v1beta/models/{model}:streamGenerateContent?alt=sse"),
                json!({"contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
                    "generationConfig": {"maxOutputTokens": TOKENS}}),
            ),
            Api::Ollama => (
                format!("{given}/api/chat"),
                json!({"model": model, "stream": true, "messages": messages, "options": {"num_predict": TOKENS}}),
            ),
        };
        http.post(url).header("content-type", "application/json").body(body.to_string())
    }

    /// `request` with its key, where there is one.
    pub(super) fn with_key(self, request: RequestBuilder, key: Option<&str>) -> RequestBuilder {
        let request = match self.api {
            Api::Anthropic => request.header("anthropic-version", "2023-06-01"),
            _ => request,
        };
        match (self.api, key) {
            (_, None) => request,
            (Api::Anthropic, Some(key)) => request.header("x-api-key", key),
            (Api::Gemini, Some(key)) => request.header("x-goog-api-key", key),
            (Api::OpenAi | Api::Ollama, Some(key)) => request.bearer_auth(key),
        }
    }

    /// How many events there are in a piece of a stream.
    pub(super) fn events(self, piece: &str) -> usize {
        // Ollama's are lines.
        piece.matches(if self.api == Api::Ollama { "\n" } else { "data:" }).count()
    }
}

#[cfg(test)]
mod tests;
