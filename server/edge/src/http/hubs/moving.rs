//! `POST /v1/conversations/{c}/move?to=URL`: a conversation goes on at another hub, while its publishers publish and its viewers watch.
//!
//! ```text
//! owner                                                                    the other hub
//! requests wait; nothing is open ─▶ nobody appends ─▶ all is stored, and
//! the conversation given up in the same transaction ── the same request ─▶ claims it, takes over what it followed
//! requests go on, to the other hub; links are sent there; what is watched here is followed ◀─┘
//! ```
//!
//! A conversation that is given up is free: whichever hub is asked for it claims it, in the same epoch. So neither death in between loses anything:
//! who asks next has it.

use std::sync::Arc;
use std::time::Duration;

use access::Principal;
use access::audit::{Audited, AuditedAction};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::{Extension, Json};
use event_log::{EventLog, LeavingEnd, LogError, Owner, Purpose, Ticket, blocking, settled};
use hub::{Conversation, NotGivenUp};
use model::ConversationId;
use model::code::ErrorCode;
use model::frame::Durability;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::super::conversations;
use super::known::FromHub;
use super::pass::{NOT_HERE, PassOutcome, escaped, to_owner};
use crate::frozen::GiveUp;
use crate::http::OwnerRoute;
use crate::inbound::caller::Caller;
use crate::inbound::params::{Path, Query};
use crate::inbound::problem::Problem;
use crate::peers::{self, AGAIN, PATIENCE};
use crate::sharing::{Moving, PeersConfig};
use crate::state::Shared;

/// How long the other hub may take to claim the conversation. Whoever asks afterwards claims it.
const TAKEN_WITHIN: Duration = Duration::from_secs(3);

/// The query of a move.
#[derive(Debug, Deserialize)]
pub(crate) struct MoveQuery {
    /// The URL of the hub that is to have the conversation, as its `--hub-address` says it.
    to: String,
}

/// The answer that says where a conversation is now.
#[derive(Debug, Serialize)]
pub(crate) struct Moved {
    conversation: ConversationId,
    /// The URL of the hub that has it.
    hub: String,
}

/// The handler. The middleware has passed the request on to the hub that has the conversation; that hub sends it to the one that is to have it, which then
/// has it and answers. A client that goes away meanwhile stops nothing.
pub(crate) async fn give(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(query): Query<MoveQuery>,
    Caller(principal): Caller,
    by_hub: Option<Extension<FromHub>>,
) -> Result<Json<Moved>, Problem> {
    if by_hub.is_some()
        && shared.config.peers.as_ref().is_some_and(|own| own.address() == query.to)
        && let Ok(conversation) = name.parse::<ConversationId>()
        // The copy behind a live link goes where its original is.
        && !conversation.is_frozen()
    {
        shared.balance.note_arrived(&conversation);
    }
    carry_out(&shared, &name, &query.to, principal, None).await.map(Json)
}

/// The way on which copies behind live links are given up: as the hub itself moves a conversation.
pub(crate) fn of_copies(shared: &Arc<Shared>) -> GiveUp {
    let shared = Arc::clone(shared);
    Arc::new(move |copy, to| {
        let shared = Arc::clone(&shared);
        Box::pin(async move {
            let moved = move_to(&shared, &copy, &to, &hub_itself()).await;
            moved.map_err(|problem| problem.code().to_owned())
        })
    })
}

/// Whoever moves a conversation because this hub wants it itself.
pub(crate) fn hub_itself() -> Arc<Principal> {
    Arc::new(Principal::new("hub", Principal::everyone().grants().to_vec(), None))
}

/// Moves the conversation `name` to the hub at `to`, for `principal`, and notes it in the audit log, with the reason if there is one. What has begun goes on when
/// the future is dropped.
pub(crate) async fn carry_out(
    shared: &Arc<Shared>,
    name: &str,
    to: &str,
    principal: Arc<Principal>,
    why: Option<String>,
) -> Result<Moved, Problem> {
    let of = Arc::clone(shared);
    let (name, to) = (name.to_owned(), to.to_owned());
    let done = shared.tasks.spawn(async move {
        let told = Audited::new(AuditedAction::Administer, principal.name()).about(&name);
        let told =
            told.with(why.map_or_else(|| format!("move to {to}"), |why| format!("move to {to}, {why}")));
        let came = moved(&of, &name, &to, &principal).await;
        blocking(|| {
            of.gate.audit(match &came {
                Ok(_) => told,
                Err(problem) => told.failed(problem.code()),
            });
        });
        came
    });
    done.await.map_err(|_panicked| Problem::new(ErrorCode::Internal, "the move broke off"))?
}

/// Has this hub take a conversation over that another one has; does nothing if it is here. Tries for [`PATIENCE`]. Fails as a move does: `still_running` where
/// a run of that hub's agents goes on, `too_many` where a request that writes stays open, `elsewhere` if it does not come about.
pub(crate) async fn bring(shared: &Arc<Shared>, id: &ConversationId) -> Result<(), Problem> {
    let Some(own) = shared.config.peers.as_ref().map(PeersConfig::address) else { return Ok(()) };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let request = request(id, &own).map_err(|why| Problem::new(ErrorCode::Internal, why))?;
        let answer = match to_owner(&OwnerRoute::of(shared), id, &hub_itself(), request.into_parts()).await? {
            PassOutcome::Here(..) => return Ok(()),
            PassOutcome::There(answer) => answer,
        };
        let code = match answer.status() {
            status if status.is_success() => return Ok(()),
            StatusCode::CONFLICT => ErrorCode::StillRunning,
            StatusCode::TOO_MANY_REQUESTS => ErrorCode::TooMany,
            _ => ErrorCode::Elsewhere,
        };
        if code == ErrorCode::StillRunning || Instant::now() >= deadline || shared.is_draining() {
            return Err(Problem::new(code, format!("another hub has the conversation {id} and keeps it")));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Moves the conversation `name` to the hub at `to`, unless it is there.
async fn moved(shared: &Arc<Shared>, name: &str, to: &str, principal: &Principal) -> Result<Moved, Problem> {
    let own = shared.config.peers.as_ref().map(PeersConfig::address);
    let Some(own) = own else {
        return Err(Problem::bad_request("this hub shares its log with no other one"));
    };
    let conversation = conversations::find(&shared.hub, &shared.work, name).await?;
    let id = conversation.id().clone();
    let answer = |hub: String| Moved { conversation: id.clone(), hub };
    if own == to {
        if id.is_frozen() {
            // The copy of a turn may go on here.
            shared.copies.look();
        }
        return Ok(answer(own));
    }
    let hub = Arc::clone(&shared.hub);
    let others = blocking(|| hub.log().other_hubs())?;
    // Only a hub that lives on this log is ever sent anything.
    let Some(to) = others.into_iter().find(|other| **other == *to) else {
        return Err(Problem::bad_request(format!("no other hub of this log lives at {to:?}")));
    };
    drop(conversation);
    move_to(shared, &id, &to, principal).await?;
    match peers::owner_now(&shared.ownership, &id, Purpose::Find).await? {
        Owner::Elsewhere(hub) => {
            if hub != to {
                // A third one was asked for it in between and has it now. It is told, so that it does not give it away at once; whether it hears that changes nothing else.
                drop(offer(shared, &id, &hub, principal).await);
            }
            Ok(answer(hub.to_string()))
        }
        // The other hub did not take it.
        Owner::Here => {
            Err(Problem::new(ErrorCode::Elsewhere, "the other hub did not take the conversation over"))
        }
    }
}

/// Gives a conversation of this hub up and has the hub at `to` take it over. Fails if it stays; then nothing has changed. When it returns, requests and
/// frames for it go to whoever has it by then.
pub(crate) async fn move_to(
    shared: &Arc<Shared>,
    id: &ConversationId,
    to: &Arc<str>,
    principal: &Principal,
) -> Result<(), Problem> {
    let Some(peers) = &shared.peers else { return Ok(()) };
    // A command that is being carried out appends to it.
    let _no_commands = shared.commands.remembered.turn(id).await;
    let busy = |why: &str| Problem::busy(format!("the conversation stays where it is: {why}"));
    let Some(moving) = Moving::begin(&shared.moves, id) else {
        return Err(busy("it is being moved already"));
    };
    if moving.has_open() {
        return Err(busy("a request that writes to it is open"));
    }
    shared.fanout.release_withheld(id);
    let given_up = blocking(|| shared.hub.give_up(id, to));
    let (conversation, ticket) = given_up.map_err(|why| match why {
        NotGivenUp::Elsewhere => Problem::new(ErrorCode::Elsewhere, why.to_string()),
        NotGivenUp::OwnRun => Problem::new(ErrorCode::StillRunning, why.to_string()),
        NotGivenUp::Unused | NotGivenUp::Busy => busy(&why.to_string()),
    })?;
    let end = given_up_for_good(shared.hub.log(), ticket).await;
    if end == LeavingEnd::Gone
        && let Err(why) = offer(shared, id, to, principal).await
    {
        tracing::warn!(conversation = %id, hub = %to, why, "a hub did not take a conversation over; whoever is asked for it has it next");
    }
    shared.hub.log().released(id, end);
    peers.forget(id);
    go_on(shared, &conversation);
    drop(moving);
    // Afterwards, since it may wait for what is read of threads.
    shared.threads.no_longer_served(id).await;
    match end {
        LeavingEnd::Gone => {
            tracing::info!(conversation = %id, hub = %to, "a conversation was given up");
            Ok(())
        }
        LeavingEnd::Stays => Err(busy("the database refused it")),
    }
}

/// Waits until the transaction is made that gives a conversation up, however long the database is away: it is not known before whether another hub may have it.
async fn given_up_for_good(log: &dyn EventLog, ticket: Ticket) -> LeavingEnd {
    let mut progress = log.progress();
    log.hasten(ticket, Durability::Stored);
    loop {
        match settled(&progress.borrow_and_update(), ticket, Durability::Stored) {
            Some(Ok(())) => return LeavingEnd::Gone,
            Some(Err(LogError::SetAside)) => return LeavingEnd::Stays,
            _ => {}
        }
        if progress.changed().await.is_err() {
            return LeavingEnd::Stays;
        }
    }
}

/// Sends the request to the hub at `to`, which claims the conversation before it answers. Fails, with the reason, if it does not.
async fn offer(
    shared: &Arc<Shared>,
    id: &ConversationId,
    to: &Arc<str>,
    principal: &Principal,
) -> Result<(), String> {
    let peers = shared.peers.as_ref().ok_or("this hub shares its log with nobody")?;
    let request = request(id, to)?;
    let (parts, body) = request.into_parts();
    let said = |problem: Problem| problem.code().to_owned();
    let request = peers.request(to, &parts, body, (Some(id), principal, None)).map_err(said)?;
    let answer = tokio::time::timeout(TAKEN_WITHIN, peers.send(to, request)).await;
    let answer = answer.map_err(|_elapsed| String::from("it does not answer"))?.map_err(said)??;
    if answer.headers().contains_key(NOT_HERE) {
        return Err(String::from("another one was faster"));
    }
    if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status())) }
}

/// The request that moves a conversation to the hub at `to`.
fn request(id: &ConversationId, to: &str) -> Result<Request, String> {
    let target = percent_encoding::utf8_percent_encode(to, percent_encoding::NON_ALPHANUMERIC);
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/v1/conversations/{}/move?to={target}", escaped(id)))
        .header(header::CONTENT_LENGTH, 0)
        .body(Body::empty());
    request.map_err(|error| error.to_string())
}

/// Goes on with a conversation that was given up: links of other hubs are told that it is not here, and what is watched here is followed where it is by now.
fn go_on(shared: &Arc<Shared>, conversation: &Arc<Conversation>) {
    shared.sockets.wake_due(true);
    shared.tasks.spawn(peers::recover(Arc::clone(&shared.ownership), Arc::clone(conversation)));
}
