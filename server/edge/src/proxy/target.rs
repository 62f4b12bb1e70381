//! Parses the path of a call: `/proxy/{upstream}/~{conversation}/{path}`, where the conversation is optional.
//! The rest goes to the upstream byte for byte, so it is never decoded.
//!
//! ```text
//! /proxy/openai/v1/chat/completions             upstream openai, /v1/chat/completions
//! /proxy/openai/~ci%2042/v1/chat/completions    the same, recorded in the conversation "ci 42"
//! ```

use axum::http::Method;
use exchange::ModelApi;
use model::ConversationId;
use percent_encoding::percent_decode_str;

use crate::inbound::problem::Problem;

/// The path of a call, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The name of the upstream.
    pub(super) upstream: &'a str,
    /// The conversation, if the path names one.
    pub(super) conversation: Option<ConversationId>,
    /// Path and query for the upstream: empty, or beginning with a slash or a question mark.
    pub(super) rest: &'a str,
}

impl<'a> Target<'a> {
    /// Takes a path with its query apart. Fails with `bad_conversation` or `bad_request` if the
    /// conversation's name is none.
    pub(super) fn parse(path_and_query: &'a str) -> Result<Self, Problem> {
        let path = path_and_query.strip_prefix("/proxy/").unwrap_or_default();
        let (upstream, rest) = cut(path);
        let Some(named) = rest.strip_prefix("/~") else {
            return Ok(Self { upstream, conversation: None, rest });
        };
        let (name, rest) = cut(named);
        Ok(Self { upstream, conversation: Some(conversation(name)?), rest })
    }
}

/// The first segment, and what follows it, beginning with its slash or question mark.
fn cut(path: &str) -> (&str, &str) {
    path.find(['/', '?']).and_then(|at| path.split_at_checked(at)).unwrap_or((path, ""))
}

/// Parses the name of a conversation that is percent-encoded in a path or header.
pub(super) fn conversation(name: &str) -> Result<ConversationId, Problem> {
    let name = percent_decode_str(name).decode_utf8();
    let name = name.map_err(|_other| Problem::bad_request("the name of the conversation is not UTF-8"))?;
    Ok(ConversationId::parse(&name)?)
}

/// The API that is spoken over a WebSocket at `path`: the Responses API, or the Realtime API, which is read
/// like it. `None` for others, which are not recorded.
pub(super) fn api_of_socket(_spoken: upstream::Api, _method: &Method, path: &str) -> Option<ModelApi> {
    let is_realtime = path.trim_end_matches('/').ends_with("/realtime");
    let api = if is_realtime { Some(ModelApi::OpenAiResponses) } else { ModelApi::of_path(path) };
    api.filter(|api| *api == ModelApi::OpenAiResponses)
}

/// The API of a request to `path` at an upstream that speaks `spoken`; `None` if it is no call of a model,
/// which is then passed on and not recorded.
pub(super) fn api(spoken: upstream::Api, method: &Method, path: &str) -> Option<ModelApi> {
    let api = ModelApi::of_path(path).filter(|_| method == Method::POST)?;
    let is_sure = match api {
        // OpenAI's threads have messages too.
        ModelApi::Anthropic => spoken == upstream::Api::Anthropic || !path.contains("/threads/"),
        // Other servers answer in their own form at these paths.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => spoken == upstream::Api::Ollama,
        _ => true,
    };
    is_sure.then_some(api)
}

#[cfg(test)]
mod tests;
