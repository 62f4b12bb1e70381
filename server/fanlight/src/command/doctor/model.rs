//! Requests to the APIs of upstreams, each with its own paths, headers and bodies.

use hyper::Uri;
use hyper::header::{CONTENT_TYPE, HeaderName};
use serde::Deserialize;
use serde_json::{Value, json};
use upstream::Api;

use super::request::CheckRequest;

/// The prompt of the test request.
const QUESTION: &str = "Count from one to twenty in words.";

/// The most tokens of the answer.
const TOKENS: u32 = 60;

/// The upstreams, from the hub's answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct UpstreamList {
    /// One row for each; fields that are not needed here are skipped.
    upstreams: Vec<UpstreamRow>,
}

/// An upstream as the hub lists it.
#[derive(Debug, Deserialize)]
struct UpstreamRow {
    /// The name in `/proxy/NAME`.
    name: String,
    /// The API, by its name in settings.
    api: String,
    /// The URL to which the hub sends calls.
    url: String,
}

/// The API of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelEndpoint {
    /// The API that the upstream speaks.
    pub(super) api: Api,
    /// Whether it is on this machine, so that it may need no key.
    pub(super) is_near: bool,
}

impl UpstreamList {
    /// Reads the hub's answer. If it cannot be read, only the known upstreams are known.
    pub(super) fn of(body: &str) -> Self {
        serde_json::from_str(body).unwrap_or_default()
    }

    /// The API of the upstream `name`.
    pub(super) fn model(&self, name: &str) -> ModelEndpoint {
        let row = self.upstreams.iter().find(|row| row.name == name);
        let api = row.and_then(|row| Api::of_name(&row.api)).unwrap_or_else(|| Api::of_upstream(name));
        let is_near = row.is_some_and(|row| is_near(&row.url)) || api == Api::Ollama && row.is_none();
        ModelEndpoint { api, is_near }
    }
}

/// Whether `url` is on this machine.
fn is_near(url: &str) -> bool {
    let url: Option<Uri> = url.parse().ok();
    let host = url.as_ref().and_then(Uri::host).unwrap_or_default();
    let address: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

impl ModelEndpoint {
    /// The path after `/proxy/` in the base URL of its clients.
    pub(super) fn place(self, name: &str) -> String {
        if self.api == Api::OpenAi { format!("{name}/v1") } else { name.to_owned() }
    }

    /// The API for the base URL `given`: some vendors have a path for clients of OpenAI.
    pub(super) fn through(self, given: &str) -> Self {
        let is_open_ai = match self.api {
            Api::Ollama => given.ends_with("/v1"),
            Api::Gemini => given.ends_with("/openai"),
            _ => false,
        };
        if is_open_ai { Self { api: Api::OpenAi, ..self } } else { self }
    }

    /// A request for the list of models at `given`.
    pub(super) fn list(self, given: &str) -> CheckRequest {
        CheckRequest::get(match self.api {
            Api::OpenAi => format!("{given}/models"),
            Api::Anthropic => format!("{given}/v1/models"),
            Api::Gemini => format!("{given}/v1beta/models"),
            Api::Ollama => format!("{given}/api/tags"),
        })
    }

    /// A request at `given` for a streamed answer of `model`.
    pub(super) fn answer(self, given: &str, model: &str) -> CheckRequest {
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
        CheckRequest::post(url, body.to_string()).header(CONTENT_TYPE, "application/json")
    }

    /// Adds the key to `request`, if there is one.
    pub(super) fn with_key(self, request: CheckRequest, key: Option<&str>) -> CheckRequest {
        let request = match self.api {
            Api::Anthropic => request.header(HeaderName::from_static("anthropic-version"), "2023-06-01"),
            _ => request,
        };
        match (self.api, key) {
            (_, None) => request,
            (Api::Anthropic, Some(key)) => request.header(HeaderName::from_static("x-api-key"), key),
            (Api::Gemini, Some(key)) => request.header(HeaderName::from_static("x-goog-api-key"), key),
            (Api::OpenAi | Api::Ollama, Some(key)) => request.bearer(Some(key)),
        }
    }

    /// The number of events in a piece of a stream.
    pub(super) fn events(self, piece: &str) -> usize {
        // Ollama sends lines.
        piece.matches(if self.api == Api::Ollama { "\n" } else { "data:" }).count()
    }
}

#[cfg(test)]
mod tests;
