//! Links to one conversation: `POST /v1/shares`, `GET /v1/shares`, `DELETE /v1/shares/{id}`, and `GET
//! /s/{secret}`, which the receiver of a link opens.
//!
//! ```json
//! {"conversation": "c", "expires_s": 3600, "views": 5, "role": "guest"}
//! {"id": "k3f…", "url": "/s/SECRET", "conversation": "c", "expires": 1795300000000}
//! ```
//!
//! The secret is told once, in the answer that makes the link; the hub keeps its hash. Links are stored
//! beside the log, so they outlive a restart; the sessions that came by them do not. Hubs that share a log keep both there.

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use access::{Right, Share, cookie};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use compact_str::CompactString;
use event_log::blocking;
use model::ConversationId;
use model::code::ErrorCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::login::{peer, problem, to, word};
use super::{Caller, channel, fair};
use crate::access::ShareFault;
use crate::http::body;
use crate::http::params::{self, Path};
use crate::http::problem::Problem;
use crate::state::Shared;
use event_log::clock;

/// The largest request for a link, in bytes.
const WANTED_BYTES_MAX: usize = 4 << 10;

/// How long a link lives if the request does not say, in seconds: a day.
const LIVES_S: u64 = 24 * 60 * 60;

/// The body of a request for a link. Unknown fields are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The conversation that the link opens.
    conversation: ConversationId,
    /// The role with which the conversation is shown; that of the caller unless said, and no other if the
    /// caller has one.
    role: Option<CompactString>,
    /// How long the link lives, in seconds; [`LIVES_S`] unless said.
    expires_s: Option<u64>,
    /// How often the link may be opened; unbounded if absent.
    views: Option<u32>,
}

/// The answer to a request for a link. Only here is its address told.
#[derive(Debug, Serialize)]
pub(crate) struct Made {
    /// The short name, by which it can be revoked.
    id: String,
    /// The path with the secret.
    url: String,
    conversation: ConversationId,
    /// When it expires, in milliseconds since 1970.
    expires: u64,
}

/// A link in a list, without its secret.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The short name, by which it can be revoked.
    id: String,
    conversation: ConversationId,
    /// The name of whoever made it.
    by: CompactString,
    /// The role with which it shows the conversation, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<CompactString>,
    /// When it expires, in milliseconds since 1970.
    expires: u64,
    /// How often it may still be opened; absent if unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    views_left: Option<u32>,
}

/// The links that the caller may revoke.
#[derive(Debug, Serialize)]
pub(crate) struct Rows {
    shares: Vec<Row>,
}

impl From<ShareFault> for Problem {
    fn from(fault: ShareFault) -> Self {
        match fault {
            ShareFault::Off => Self::bad_request(fault.to_string()),
            ShareFault::Share(access::ShareError::Full) => Self::new(ErrorCode::TooMany, fault.to_string()),
            ShareFault::Share(error) => Self::bad_request(error.to_string()),
            ShareFault::Log(ref cause) => {
                tracing::warn!(%cause, "links cannot be made or revoked: the log does not answer");
                Self::new(ErrorCode::LogUnavailable, fault.to_string())
            }
            ShareFault::Store(error) => {
                tracing::error!(%error, "the file of links cannot be written");
                Self::new(ErrorCode::Internal, "the hub cannot write its links down")
            }
        }
    }
}

/// Whether the caller may see and revoke `share`: they made it, or they administer the hub.
fn is_of(caller: &Caller, share: &Share) -> bool {
    share.by == caller.0.name() || caller.0.may_everywhere(Right::Admin)
}

/// The role of a new link: the one that is wanted, or the caller's own. Fails with `bad_request` for a role
/// that the hub does not have, and for any other than their own for callers with a role: they share no more
/// than they see.
fn role_of(
    shared: &Shared,
    caller: &Caller,
    wanted: Option<CompactString>,
) -> Result<Option<CompactString>, Problem> {
    let own = caller.0.role();
    if own.is_some() && wanted.as_deref().is_some_and(|wanted| Some(wanted) != own) {
        return Err(Problem::bad_request("role: whoever has a role shares with that one alone"));
    }
    let role = wanted.or_else(|| own.map(CompactString::from));
    if let Some(name) = role.as_deref().filter(|name| !shared.gate.has_role(name)) {
        let name: String = name.chars().take(40).collect();
        return Err(Problem::bad_request(format!("role: this hub has no role {name:?}")));
    }
    Ok(role)
}

/// `POST /v1/shares`: makes a link, 201. The caller needs `view` and `export` on the conversation, so one
/// that came by a link cannot make further ones. 400 for a body that is none, or a lifetime or role that is
/// not allowed; 403 without the grants; 429 if there are as many links as may be.
pub(crate) async fn share(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    request: Request,
) -> Result<(StatusCode, Json<Made>), Problem> {
    let bytes = body::whole(request.into_body(), WANTED_BYTES_MAX).await?;
    let wanted: Wanted = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::bad_request(format!("the body does not describe a link: {error}")))?;
    caller.may(Right::View, wanted.conversation.as_str())?;
    caller.may(Right::Export, wanted.conversation.as_str())?;
    let role = role_of(&shared, &caller, wanted.role)?;
    let now = clock::now_ms();
    let expires = now.saturating_add(wanted.expires_s.unwrap_or(LIVES_S).saturating_mul(1000));
    let secret = blocking(|| {
        shared.gate.share(|hash| Share {
            hash,
            conversation: wanted.conversation.clone(),
            role: role.clone(),
            by: caller.0.name().into(),
            created: now,
            expires,
            views_left: wanted.views,
        })
    })?;
    let id = secret.hash().short();
    let told = Audited::new(AuditedAction::Share, caller.0.name()).about(wanted.conversation.as_str());
    blocking(|| shared.gate.audit(told.with(format!("link {id}"))));
    let made =
        Made { id, url: format!("/s/{}", secret.reveal()), conversation: wanted.conversation, expires };
    Ok((StatusCode::CREATED, Json(made)))
}

/// `GET /v1/shares`: the links that the caller may revoke: their own, and all of them for `admin`.
pub(crate) async fn shares(State(shared): State<Arc<Shared>>, caller: Caller) -> Json<Rows> {
    let shares = blocking(|| shared.gate.shares(|share| is_of(&caller, share)));
    let rows = shares.into_iter().map(|share| Row {
        id: share.id(),
        conversation: share.conversation,
        by: share.by,
        role: share.role,
        expires: share.expires,
        views_left: share.views_left,
    });
    Json(Rows { shares: rows.collect() })
}

/// `DELETE /v1/shares/{id}`: revokes a link, 204. Whoever came by it is cut off at once. 404 if there is none
/// that the caller may revoke.
pub(crate) async fn unshare(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let was_there = blocking(|| shared.gate.unshare(&id, |share| is_of(&caller, share)))?;
    if was_there {
        let told = Audited::new(AuditedAction::Unshare, caller.0.name()).with(format!("link {id}"));
        blocking(|| shared.gate.audit(told));
        shared.sockets.wake_due(true);
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::new(ErrorCode::NotFound, "there is no such link, or it is somebody else's"))
}

/// `GET /s/{secret}`: begins a session for the one conversation of the link, and redirects the browser to it
/// with 303. Each answer of that kind uses up one view. 401 for a link that is unknown, expired or used up, which counts as a failed login; 429
/// for an address of which too many have failed.
pub(crate) async fn follow(
    State(shared): State<Arc<Shared>>,
    Path(secret): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    // A preview of the link in a chat must not use it up. A browser that opens a page sends this header.
    if params::text(&headers, "sec-fetch-dest").ok().flatten().is_some_and(|dest| dest != "document") {
        return problem(access::Denial::Unknown);
    }
    let (parts, _) = request.into_parts();
    let channel = channel(&shared, &parts);
    let followed = shared.gate.follow(&secret).await;
    let told = Audited::new(AuditedAction::Follow, "").at(&peer(&parts).to_string());
    blocking(|| {
        shared.gate.audit(match &followed {
            Ok((_, share)) => told.about(share.conversation.as_str()).with(format!("link {}", share.id())),
            Err(denial) => {
                Audited { deed: AuditedAction::Refused, ..told.with("a link").failed(word(*denial)) }
            }
        });
    });
    match followed {
        Err(denial) => {
            fair::failed(&shared, &parts, denial);
            problem(denial)
        }
        Ok((session, share)) => {
            let name = utf8_percent_encode(share.conversation.as_str(), NON_ALPHANUMERIC);
            let lives_s = share.expires.saturating_sub(clock::now_ms()) / 1000;
            let lives_s = lives_s.min(access::SESSION_MS / 1000);
            to(&format!("/c/{name}"), Some(cookie::set(&session, channel, lives_s)))
        }
    }
}
