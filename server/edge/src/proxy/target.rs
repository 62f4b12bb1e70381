//! What the path of a call says: `/proxy/{upstream}/~{conversation}/{path}`, the conversation being optional. What follows
//! goes to the upstream byte for byte, so it is never decoded here.

use axum::http::Method;
use exchange::ModelApi;
use model::ConversationId;
use percent_encoding::percent_decode_str;

use crate::http::problem::Problem;

/// The path of a call, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The name of the upstream.
    pub(super) upstream: &'a str,
    /// The conversation, where the path names one.
    pub(super) conversation: Option<ConversationId>,
    /// Path and query for the upstream: nothing, or with a slash or question mark in front.
    pub(super) rest: &'a str,
}

impl<'a> Target<'a> {
    /// Of a path with its query.
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

/// The segment in front, and what follows it, with its slash or question mark.
fn cut(path: &str) -> (&str, &str) {
    path.find(['/', '?']).and_then(|at| path.split_at_checked(at)).unwrap_or((path, ""))
}

/// The conversation that is named with percent signs for what cannot stand in a path or header.
pub(super) fn conversation(name: &str) -> Result<ConversationId, Problem> {
    let name = percent_decode_str(name).decode_utf8();
    let name = name.map_err(|_other| Problem::bad_request("the name of the conversation is no UTF-8"))?;
    Ok(ConversationId::parse(&name)?)
}

/// The API whose events are spoken over a WebSocket at `path`: the responses API, or the Realtime API, which has its words.
pub(super) fn api_of_socket(_spoken: upstream::Api, _method: &Method, path: &str) -> Option<ModelApi> {
    let is_realtime = path.trim_end_matches('/').ends_with("/realtime");
    let api = if is_realtime { Some(ModelApi::OpenAiResponses) } else { ModelApi::of_path(path) };
    api.filter(|api| *api == ModelApi::OpenAiResponses)
}

/// The API of a request to `path` at an upstream that speaks `spoken`; nothing where that is no call of a model.
pub(super) fn api(spoken: upstream::Api, method: &Method, path: &str) -> Option<ModelApi> {
    let api = ModelApi::of_path(path).filter(|_| method == Method::POST)?;
    let is_sure = match api {
        // OpenAI's threads have messages too.
        ModelApi::Anthropic => spoken == upstream::Api::Anthropic || !path.contains("/threads/"),
        // Others answer there in words of their own.
        ModelApi::OllamaChat | ModelApi::OllamaGenerate => spoken == upstream::Api::Ollama,
        _ => true,
    };
    is_sure.then_some(api)
}

#[cfg(test)]
mod tests;
