//! Commands of sockets for conversations of other hubs: a request to the owner, as a client would send it.

use access::Principal;
use agents::Refusal;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, header};
use model::ConversationId;
use model::code::ErrorCode;
use model::command::{Command, Done};
use serde::Deserialize;

use super::pass::{PassOutcome, escaped, to_owner};
use crate::http::OwnerRoute;

/// Most bytes of the answer to a command.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What another hub says of a command that it refuses.
#[derive(Deserialize)]
struct RefusedThere {
    code: ErrorCode,
    #[serde(default)]
    detail: String,
}

/// Where a command is carried out: here, or by the owner of its conversation.
#[derive(Debug)]
pub(crate) enum CommandRoute {
    /// This hub has the conversation, and gets the command back.
    Here(Box<Command>),
    /// Another hub has answered.
    There(Result<Done, Refusal>),
}

/// Has a command carried out by the hub that has the conversation; a socket's commands come here. A repeated
/// command gets the answer that the owner remembers.
pub(crate) async fn command(
    route: &OwnerRoute,
    principal: &Principal,
    conversation: &ConversationId,
    command: Command,
) -> CommandRoute {
    if route.ownership.peers.is_none() {
        return CommandRoute::Here(Box::new(command));
    }
    let refused = |why: String| CommandRoute::There(Err(Refusal::new(ErrorCode::Elsewhere, why)));
    let path = format!("/v1/conversations/{}/commands", escaped(conversation));
    let Ok(json) = serde_json::to_vec(&command) else { return CommandRoute::Here(Box::new(command)) };
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_LENGTH, json.len())
        .body(Body::from(json));
    let Ok(request) = request else { return CommandRoute::Here(Box::new(command)) };
    let passed = to_owner(route, conversation, principal, request.into_parts()).await;
    let response = match passed {
        Ok(PassOutcome::Here(..)) => return CommandRoute::Here(Box::new(command)),
        Ok(PassOutcome::There(response)) => response,
        Err(problem) => return CommandRoute::There(Err(problem.into())),
    };
    let is_done = response.status().is_success();
    let body = match axum::body::to_bytes(response.into_body(), ANSWER_BYTES_MAX).await {
        Ok(body) => body,
        Err(error) => return refused(error.to_string()),
    };
    if is_done {
        return match serde_json::from_slice(&body) {
            Ok(done) => CommandRoute::There(Ok(done)),
            Err(error) => refused(error.to_string()),
        };
    }
    match serde_json::from_slice::<RefusedThere>(&body) {
        Ok(there) => CommandRoute::There(Err(Refusal::new(there.code, there.detail))),
        Err(error) => refused(error.to_string()),
    }
}
