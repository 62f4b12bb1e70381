//! Links to one conversation: `POST /v1/shares`, `GET /v1/shares`, `DELETE /v1/shares/{id}`. The receiver of a link opens `/s/{secret}`
//! ([`super::opening`]).
//!
//! ```json
//! {"conversation": "c", "for": "Bob", "expires_s": 3600, "views": 5, "role": "guest", "frozen": true, "turn": "m4"}
//! {"id": "k3f…", "url": "/s/SECRET", "conversation": "c", "expires": 1795300000000}
//! ```
//!
//! The secret is told once, in the answer that makes the link; the hub keeps its hash. Links are stored
//! beside the log, so they outlive a restart; the sessions that came by them do not. Hubs that share a log keep both there.

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use access::{FrozenShare, Principal, Right, Share, ShareFacts};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use compact_str::CompactString;
use event_log::{Purpose, blocking};
use model::code::ErrorCode;
use model::mask::{Hideable, Mask};
use model::{ConversationId, MessageId, Seq};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Gate;
use crate::access::ShareFault;
use crate::frozen::{self, Copies, CopyKind, NewCopy};
use crate::http::hubs::asked::at_home;
use crate::http::{body, conversations};
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path, Query};
use crate::inbound::problem::Problem;
use crate::peers::Ownership;
use crate::work::Work;
use event_log::clock;
use hub::Hub;

/// The largest request for a link, in bytes.
const WANTED_BYTES_MAX: usize = 4 << 10;

/// How long a link lives if the request does not say, in seconds: a day.
const LIVES_S: u64 = 24 * 60 * 60;

/// The body of a request for a link. Unknown fields are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShareRequest {
    /// The conversation that the link opens.
    conversation: ConversationId,
    /// The role with which the conversation is shown; that of the caller unless said, and no other if the
    /// caller has one.
    role: Option<CompactString>,
    /// How long the link lives, in seconds; [`LIVES_S`] unless said.
    expires_s: Option<u64>,
    /// How often the link may be opened; unbounded if absent.
    views: Option<u32>,
    /// Whom it is for, in the words of the caller.
    #[serde(rename = "for")]
    audience: Option<CompactString>,
    /// Whether it shows the conversation as it is now, and nothing that happens later.
    frozen: Option<bool>,
    /// The message that begins the one turn that it shows; as it goes on unless `frozen` says otherwise.
    turn: Option<MessageId>,
}

/// The answer to a request for a link. Only here is its address told.
#[derive(Debug, Serialize)]
pub(crate) struct ShareMade {
    /// The short name, by which it can be revoked.
    id: String,
    /// The path with the secret.
    url: String,
    conversation: ConversationId,
    /// When the link expires, in milliseconds since 1970.
    expires: u64,
}

/// A link in a list, without its secret.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The short name, by which it can be revoked.
    id: String,
    conversation: ConversationId,
    /// The name of whoever made it; absent where the caller's role hides users.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<CompactString>,
    /// Whom it is for; absent where nobody said, or where the caller's role hides users.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    audience: Option<CompactString>,
    /// The role with which it shows the conversation, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<CompactString>,
    /// When it was made, in milliseconds since 1970.
    created: u64,
    /// When the link expires, in milliseconds since 1970.
    expires: u64,
    /// How often it may still be opened; absent if unbounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    views_left: Option<u32>,
    /// What it shows if it is frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen: Option<FrozenRow>,
    /// The message that begins the one turn that a live link shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<MessageId>,
    /// Whether the caller may revoke it.
    revocable: bool,
}

/// What a frozen link of a list shows.
#[derive(Debug, Serialize)]
struct FrozenRow {
    /// The seq of the newest event that was there.
    seq: Seq,
    /// The message that begins the one turn that it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<MessageId>,
}

impl Row {
    /// `share` as `caller` is told of it.
    fn of(share: Share, caller: &Caller) -> Self {
        let revocable = is_of(caller, &share);
        let names = revocable || shows_users(caller.mask().map(AsRef::as_ref));
        let conversation = share.subject().clone();
        let turn = share.frozen.as_ref().filter(|copy| copy.live).and_then(|copy| copy.turn.clone());
        let frozen = |copy: FrozenShare| (!copy.live).then_some(FrozenRow { seq: copy.seq, turn: copy.turn });
        Self {
            id: share.id(),
            conversation,
            by: Some(share.by).filter(|_| names),
            audience: share.audience.filter(|_| names),
            role: share.role,
            created: share.created,
            expires: share.expires,
            views_left: share.views_left,
            frozen: share.frozen.and_then(frozen),
            turn,
            revocable,
        }
    }
}

/// Whether somebody from whom `mask` hides something is told names of users.
pub(super) fn shows_users(mask: Option<&Mask>) -> bool {
    mask.is_none_or(|mask| !mask.hides(Hideable::Users))
}

/// What somebody who follows `link` is told about it in `GET /v1/access`.
pub(super) fn told_of(link: &ShareFacts, mask: Option<&Mask>) -> Value {
    let mut told = json!({
        "created": link.created,
        "expires": link.expires,
        "frozen": link.frozen.as_ref().is_some_and(|frozen| !frozen.live),
        "one_turn": link.frozen.as_ref().is_some_and(|frozen| frozen.turn.is_some()),
    });
    if let Some(fields) = told.as_object_mut().filter(|_| shows_users(mask)) {
        fields.insert("by".to_owned(), link.by.as_str().into());
        fields.extend(link.audience.as_deref().map(|audience| ("for".to_owned(), audience.into())));
    }
    told
}

/// Links, without their secrets.
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
    gate: &Gate,
    caller: &Caller,
    wanted: Option<CompactString>,
) -> Result<Option<CompactString>, Problem> {
    let own = caller.0.role();
    if own.is_some() && wanted.as_deref().is_some_and(|wanted| Some(wanted) != own) {
        return Err(Problem::bad_request("role: whoever has a role shares with that one alone"));
    }
    let role = wanted.or_else(|| own.map(CompactString::from));
    if let Some(name) = role.as_deref().filter(|name| !gate.has_role(name)) {
        let name: String = name.chars().take(40).collect();
        return Err(Problem::bad_request(format!("role: this hub has no role {name:?}")));
    }
    Ok(role)
}

/// The roles among which `principal` chooses for a link to `conversation`; `None` where they may make none, have a role, which is then that of the link, and on a hub
/// without roles.
pub(super) fn roles_of_links(gate: &Gate, principal: &Principal, conversation: &str) -> Option<Vec<String>> {
    let shares = [Right::View, Right::Export].into_iter().all(|right| principal.may(right, conversation));
    let is_free = principal.role().is_none() && principal.link().is_none();
    Some(gate.roles()).filter(|roles| shares && is_free && !roles.is_empty())
}

/// The copy that the link shows which is `wanted`; `None` for a live link to the whole conversation. Fails with `bad_request` for a live link to a turn that
/// does not run, with `unknown_conversation`, and as [`frozen::freeze`] does. Another hub that has the conversation serves the whole request.
async fn copy_for<'a>(
    (copies, ownership, work): (&'a Copies, &Arc<Ownership>, &Arc<Work>),
    wanted: &ShareRequest,
) -> Result<Option<NewCopy<'a>>, Problem> {
    let kind = match (wanted.frozen, &wanted.turn) {
        (Some(true), _) => CopyKind::Frozen,
        (_, Some(_)) => CopyKind::Live,
        (_, None) => return Ok(None),
    };
    if wanted.conversation.is_frozen() {
        return Err(Problem::bad_request("this conversation is a frozen copy; share the original instead"));
    }
    at_home(ownership, &wanted.conversation, Purpose::Find).await?;
    let conversation = conversations::find(&ownership.hub, work, wanted.conversation.as_str()).await?;
    Ok(Some(frozen::freeze(copies, &conversation, wanted.turn.clone(), kind).await?))
}

/// Revokes the new frozen link with this id if what it shows was deleted while the copy was made: whoever deleted it did not know the link.
/// Fails with `unknown_conversation` then.
async fn still_there(
    gate: &Gate,
    (hub, work): (&Hub, &Arc<Work>),
    copy: &NewCopy<'_>,
    id: &str,
) -> Result<(), Problem> {
    let found = conversations::find(hub, work, copy.shows.of.as_str()).await;
    let problem = match found {
        Ok(found) if *found.epoch() == copy.epoch => return Ok(()),
        Ok(_) => Problem::new(ErrorCode::UnknownConversation, "the conversation was deleted a moment ago"),
        Err(problem) => problem,
    };
    blocking(|| gate.unshare(id, |share| share.conversation == copy.conversation))?;
    Err(problem)
}

/// `POST /v1/shares`: makes a link, 201. The caller needs `view` and `export` on the conversation, so one
/// that came by a link cannot make further ones. 400 for a body that is none, or a lifetime, role or note that is
/// not allowed, and for a live link to a turn that does not run; 404 for a conversation or turn to freeze that is not there; 403 without the grants; 429 if there are as many links as may be.
pub(crate) async fn share(
    State(gate): State<Arc<Gate>>,
    State(copies): State<Arc<Copies>>,
    State(ownership): State<Arc<Ownership>>,
    State(work): State<Arc<Work>>,
    caller: Caller,
    request: Request,
) -> Result<(StatusCode, Json<ShareMade>), Problem> {
    let bytes = body::whole(request.into_body(), WANTED_BYTES_MAX).await?;
    let wanted: ShareRequest = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::bad_request(format!("the body does not describe a link: {error}")))?;
    caller.may(Right::View, wanted.conversation.as_str())?;
    caller.may(Right::Export, wanted.conversation.as_str())?;
    let role = role_of(&gate, &caller, wanted.role.clone())?;
    let lives_ms = wanted.expires_s.unwrap_or(LIVES_S).saturating_mul(1000);
    let make = |hash, copy: Option<&NewCopy<'_>>, now: u64| Share {
        hash,
        conversation: copy.map_or(&wanted.conversation, |copy| &copy.conversation).clone(),
        audience: wanted.audience.clone(),
        frozen: copy.map(|copy| copy.shows.clone()),
        role: role.clone(),
        by: caller.0.name().into(),
        created: now,
        expires: now.saturating_add(lives_ms),
        views_left: wanted.views,
    };
    // What is no link makes no copy either.
    gate.may_share(|hash| make(hash, None, clock::now_ms()))?;
    let copy = copy_for((&copies, &ownership, &work), &wanted).await?;
    // Making a copy may take long, and the link lives from here.
    let now = clock::now_ms();
    let secret = blocking(|| gate.share(|hash| make(hash, copy.as_ref(), now)))?;
    let (id, expires) = (secret.hash().short(), now.saturating_add(lives_ms));
    if let Some(copy) = &copy {
        still_there(&gate, (&ownership.hub, &work), copy, &id).await?;
    }
    let told = Audited::new(AuditedAction::Share, caller.0.name()).about(wanted.conversation.as_str());
    let what = match &copy {
        None => "",
        Some(copy) if copy.shows.live => ", one turn, live",
        Some(copy) if copy.shows.turn.is_some() => ", one turn, frozen",
        Some(_) => ", frozen",
    };
    if let Some(copy) = copy {
        copy.linked();
    }
    let whom = wanted.audience.as_deref().map(|audience| format!(", for {audience}")).unwrap_or_default();
    blocking(|| gate.audit(told.with(format!("link {id}{what}{whom}"))));
    let made =
        ShareMade { id, url: format!("/s/{}", secret.reveal()), conversation: wanted.conversation, expires };
    Ok((StatusCode::CREATED, Json(made)))
}

/// The query parameters of a list of links.
#[derive(Debug, Deserialize)]
pub(crate) struct SharesQuery {
    /// The conversation to which the links lead.
    conversation: Option<String>,
}

/// `GET /v1/shares?conversation`: the links that the caller may revoke, their own, and all of them for `admin`; with `conversation` all links
/// to that one that hold, frozen ones too, for whoever may see it and did not come by a link.
pub(crate) async fn shares(
    State(gate): State<Arc<Gate>>,
    caller: Caller,
    Query(SharesQuery { conversation }): Query<SharesQuery>,
) -> Result<Json<Rows>, Problem> {
    let of = conversation.as_deref().map(params::conversation).transpose()?;
    let now = clock::now_ms();
    let shares = match &of {
        None => blocking(|| gate.shares(|share| is_of(&caller, share))),
        Some(of) => {
            caller.may(Right::View, of.as_str())?;
            // Who else is shown it is no matter of somebody who follows a link.
            let is_one = |share: &Share| share.subject() == of && share.expires > now;
            blocking(|| gate.shares(|share| caller.0.link().is_none() && is_one(share)))
        }
    };
    Ok(Json(Rows { shares: shares.into_iter().map(|share| Row::of(share, &caller)).collect() }))
}

/// `DELETE /v1/shares/{id}`: revokes a link, 204. Whoever came by it is cut off at once. 404 if there is none
/// that the caller may revoke.
pub(crate) async fn unshare(
    State(gate): State<Arc<Gate>>,
    State(copies): State<Arc<Copies>>,
    State(ownership): State<Arc<Ownership>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let revoked = blocking(|| gate.unshare(&id, |share| is_of(&caller, share)))?;
    if let Some(share) = revoked {
        let told = Audited::new(AuditedAction::Unshare, caller.0.name()).with(format!("link {id}"));
        blocking(|| gate.audit(told.about(share.subject().as_str())));
        ownership.sockets.wake_due(true);
        copies.look();
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::new(ErrorCode::NotFound, "there is no such link, or it is somebody else's"))
}
