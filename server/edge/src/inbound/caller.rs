//! Who sends a request, as handlers get it: the connection that it came over, the principal that was admitted, and the token of a call
//! through the proxy. `http::access` finds it out and puts it into the extensions of the request.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use access::{Denial, Hash, Principal, Right};
use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use model::code::ErrorCode;
use model::{ConversationId, Envelope, Mask, PublisherId};
use serde::{Deserialize, Serialize};

use super::problem::Problem;

/// The header with the token of a call through the proxy.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("fanlight-token");

/// How a connection came in. Every request has it as an extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The address of the peer.
    pub(crate) address: IpAddr,
    /// Whether the hub itself speaks TLS with the peer.
    pub(crate) is_tls: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), is_tls: false }
    }
}

/// Whoever sends a request; everybody while access control is off. The admission of `http::access` puts it into the request, and a
/// handler extracts it. Extraction fails with `internal` on a route that needs no known caller, such as the
/// socket.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Arc<Principal>);

/// The token of this call stood in the place of the vendor's key. An extension of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyPlace;

/// The token of a call through the proxy that another hub has passed on, where it says which upstreams may be called.
/// The middleware of `http::hubs` puts it into the request as an extension; nobody else can.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct PassedToken {
    /// The hash of the token, by which this hub finds it among its own.
    pub(crate) hash: Hash,
    /// Whether it stood in the place of the vendor's key.
    pub(crate) in_place: bool,
}

impl Caller {
    /// Fails with `forbidden` if the caller does not have `right` on `conversation`, whether that exists or
    /// not.
    pub(crate) fn may(&self, right: Right, conversation: &str) -> Result<(), Problem> {
        if self.0.may(right, conversation) { Ok(()) } else { Err(Denial::Forbidden.into()) }
    }

    /// Fails with `publish_not_granted` for a publisher id or a kind of events that the caller's grants on `conversation` are not about, and with `forbidden`
    /// if there are none.
    pub(crate) fn publishes(
        &self,
        conversation: &ConversationId,
        publisher: Option<&PublisherId>,
        events: &[Envelope],
    ) -> Result<(), Problem> {
        let checked = self.0.publishes(conversation.as_str(), publisher.map(PublisherId::as_str), events);
        checked.map_err(|denial| Problem::new(denial.code(), denial.to_string()))
    }

    /// What is hidden from the caller by its role; `None` if nothing is.
    pub(crate) fn mask(&self) -> Option<&Arc<Mask>> {
        self.0.mask()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        of(parts)
    }
}

/// The caller that The admission of `http::access` has found.
fn of(parts: &Parts) -> Result<Caller, Problem> {
    let known = parts.extensions.get::<Caller>().cloned();
    known.ok_or_else(|| Problem::new(ErrorCode::Internal, "the request was not authenticated"))
}

/// Fails with `forbidden` if the caller may not publish what a call through the proxy records: to `named`, or
/// anywhere if the call names no conversation, since then the joiner decides where it belongs.
pub(crate) fn may_record(parts: &Parts, named: Option<&ConversationId>) -> Result<(), Problem> {
    let Caller(principal) = of(parts)?;
    let may = match named {
        Some(named) => principal.may(Right::Publish, named.as_str()),
        None => principal.may_everywhere(Right::Publish),
    };
    if may {
        return Ok(());
    }
    let detail = match named {
        Some(_) => "this principal may not publish there",
        None => {
            "this principal may publish to some conversations only, so the call must name one: Fanlight-Conversation"
        }
    };
    Err(Problem::new(ErrorCode::Forbidden, detail))
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        Self::new(denial.code(), denial.to_string())
    }
}
