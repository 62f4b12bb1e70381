//! `GET /v1/access`: who the caller is, and what they may do.

use std::sync::Arc;

use access::{beginnings, offers};
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::shares;
use crate::access::Gate;
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Query};
use crate::inbound::problem::Problem;

/// The query of `GET /v1/access`.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct AccessQuery {
    /// The conversation in which the caller asks what they may do; it need not exist.
    conversation: Option<String>,
}

/// `GET /v1/access`: whether access control is on, the caller's name and grants, the beginnings of names under
/// which they may begin conversations, for a caller with a role the role and what it hides, and for one who follows a link the link. With
/// `?conversation=C` also what they may do there, and the roles of links to it. Fails with `bad_conversation`.
pub(crate) async fn whoami(
    State(gate): State<Arc<Gate>>,
    Caller(principal): Caller,
    Query(AccessQuery { conversation }): Query<AccessQuery>,
) -> Result<Response, Problem> {
    let mut told = serde_json::json!({
        "on": gate.is_on(),
        "principal": principal.name(),
        "grants": principal.grants().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "begins": beginnings(&principal),
    });
    if let (Some(conversation), Some(fields)) = (conversation, told.as_object_mut()) {
        let conversation = params::conversation(&conversation)?;
        let mut may = offers(&principal, conversation.as_str());
        // Nobody writes to what a frozen link shows.
        may.retain(|word| !conversation.is_frozen() || matches!(*word, "export" | "delete"));
        let roles = shares::roles_of_links(&gate, &principal, conversation.as_str());
        fields.extend(roles.map(|roles| ("roles".to_owned(), roles.into())));
        fields.insert("may".to_owned(), may.into());
    }
    if let (Some(link), Some(fields)) = (principal.link(), told.as_object_mut()) {
        fields.insert("link".to_owned(), shares::told_of(link, principal.mask().map(AsRef::as_ref)));
    }
    if let (Some(mask), Some(fields)) = (principal.mask(), told.as_object_mut()) {
        let hides = mask.words().collect::<Vec<_>>();
        let tools = mask.tools().collect::<Vec<_>>();
        fields.insert("role".to_owned(), mask.name().into());
        fields.insert("hides".to_owned(), hides.into());
        fields.insert("hides_tools".to_owned(), tools.into());
    }
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from(told.to_string())).into_response())
}
