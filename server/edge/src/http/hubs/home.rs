//! For which conversation a request is, as far as its head says it. A body is read by handlers, which then say
//! it themselves ([`super::asked`]).

use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::http::request::Parts;
use encode::openai_responses::split_response_id;
use model::ConversationId;

use super::super::compat;
use crate::proxy;
use crate::proxy::Proxy;
use crate::sharing::stand_in;

/// The conversation of a request, or one that stands for its caller. `None` if the hub that is asked serves it, or
/// if its body says more.
pub(super) async fn of(proxy: &Proxy, parts: &mut Parts) -> Option<ConversationId> {
    let path = parts.uri.path();
    if path.starts_with("/proxy/") {
        return proxy::home(proxy, parts);
    }
    if path == "/v1/traces" {
        // Spans of one trace come in requests of several programs, so one hub joins all of them.
        return Some(stand_in("spans", 0));
    }
    if is_door(path) {
        return named_at_door(parts).await;
    }
    if path.starts_with("/v1/responses/") {
        let id = param(parts, "id").await?;
        return ConversationId::parse(split_response_id(&id)?.1).ok();
    }
    if !path.starts_with("/v1/") {
        return None;
    }
    // What is no name is refused by whoever serves the path.
    ConversationId::parse(&param(parts, "conversation").await?).ok()
}

/// Whether the path is one whose body may say for which conversation a request is: that of a door, or of links.
pub(super) fn is_door(path: &str) -> bool {
    path.starts_with("/compat/") || matches!(path, "/v1/chat/completions" | "/v1/responses" | "/v1/shares")
}

/// Whether the path is that of a move to another hub.
pub(super) fn is_move(path: &str) -> bool {
    path.starts_with("/v1/conversations/") && path.ends_with("/move")
}

/// The conversation that a request at a door names in a header or in its path.
async fn named_at_door(parts: &mut Parts) -> Option<ConversationId> {
    if let Some(named) = parts.headers.get(compat::CONVERSATION) {
        return ConversationId::parse(named.to_str().ok()?).ok();
    }
    for name in ["thread", "chat"] {
        if let Some(thread) = param(parts, name).await {
            return Some(compat::of_thread(&thread));
        }
    }
    None
}

/// The parameter `name` of the path, as the handler will get it.
async fn param(parts: &mut Parts, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
}
