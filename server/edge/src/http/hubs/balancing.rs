//! Conversations leave a hub that has too much to do, by themselves: the shell around [`crate::balance`], which decides.
//!
//! ```text
//! each 2 s: look ─▶ overloaded for long enough? ─▶ how many events has each conversation had since the last look?
//!                                                  what do the others tell of their load? (GET /v1/load, with the token of the hubs)
//!                                                  plan ─▶ each a move as an operator asks for it (`moving`), in the audit log
//! ```
//!
//! Only a hub that is overloaded asks. One that does not answer within a second, or is of a version that tells no load, gets nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use event_log::blocking;
use futures_util::future::join_all;
use model::code::ErrorCode;
use model::{ConversationId, Seq};
use tokio::time::Instant;

use super::moving;
use crate::balance::{Candidate, HubLoad, LOOK_EVERY, Mobility, MovePlan};
use crate::inbound::problem::Problem;
use crate::peers::AGAIN;
use crate::sharing::is_stand_in;
use crate::state::Shared;

/// How long another hub may take to tell its load.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

/// How often a conversation is tried in which a request that writes is open; most are over in a moment.
const TRIES: usize = 5;

/// Most bytes of what it tells.
const TOLD_BYTES_MAX: usize = 4_096;

/// For so long after conversations have moved nothing is planned: the loads are averages over that time, and show only then what the moves changed.
const SETTLES: Duration = Duration::from_secs(10);

/// `GET /v1/load`: how much this hub has to do, and how much it may.
pub(crate) async fn load(State(shared): State<Arc<Shared>>) -> Json<HubLoad> {
    Json(shared.balance.load())
}

/// Measures the load, and gives conversations away while it is too much. Never returns; a move that has begun goes on when this is dropped.
pub(crate) async fn run(shared: Arc<Shared>) {
    tokio::join!(look(&shared), give(&shared));
}

/// Measures. Goes on while a move waits for the database.
async fn look(shared: &Shared) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        shared.balance.look();
    }
}

/// Gives conversations away, one after the other, while this hub is overloaded.
async fn give(shared: &Arc<Shared>) {
    if shared.peers.is_none() {
        return;
    }
    let mut meter = EventMeter::default();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if !shared.balance.is_to_give() || shared.is_draining() {
            meter.forget();
            continue;
        }
        let candidates = meter.candidates(shared);
        if candidates.is_empty() {
            continue;
        }
        let others = loads(shared).await;
        let planned = shared.balance.plan(others, candidates);
        if planned.is_empty() {
            continue;
        }
        for one in planned {
            give_one(shared, one).await;
        }
        tokio::time::sleep(SETTLES).await;
        meter.forget();
    }
}

/// Moves one conversation. One that stays is left alone for a while.
async fn give_one(shared: &Arc<Shared>, MovePlan { conversation, to }: MovePlan) {
    shared.balance.note_given(&conversation);
    let HubLoad { used_millicores, room_millicores, .. } = shared.balance.load();
    let why = format!("overloaded: it uses {used_millicores} of {room_millicores} thousandths of a core");
    let mut came = Err(Problem::busy("it was not tried"));
    for _ in 0..TRIES {
        came = moving::carry_out(shared, conversation.as_str(), &to, moving::hub_itself(), Some(why.clone()))
            .await;
        if !came.as_ref().is_err_and(|problem| problem.code() == ErrorCode::TooMany.as_str()) {
            break;
        }
        tokio::time::sleep(AGAIN).await;
    }
    match came {
        Ok(_) => shared.balance.given.one(),
        Err(problem) => {
            shared.balance.note_stayed(&conversation);
            tracing::info!(%conversation, hub = %to, code = problem.code(), "a conversation stays with an overloaded hub");
        }
    }
}

/// What the other hubs that live on the log tell of their load. Those that do not tell it are left out.
async fn loads(shared: &Arc<Shared>) -> Vec<(Arc<str>, HubLoad)> {
    let hub = Arc::clone(&shared.hub);
    let others = blocking(|| hub.log().other_hubs()).unwrap_or_else(|error| {
        tracing::debug!(%error, "which other hubs there are cannot be read");
        Vec::new()
    });
    let told = join_all(others.into_iter().map(|address| async move {
        let load = tokio::time::timeout(TOLD_WITHIN, load_of(shared, &address)).await.ok()??;
        Some((address, load))
    }));
    told.await.into_iter().flatten().collect()
}

/// What the hub at `address` tells of its load; `None` if it does not.
async fn load_of(shared: &Shared, address: &Arc<str>) -> Option<HubLoad> {
    let peers = shared.peers.as_ref()?;
    let request = Request::builder().method(Method::GET).uri("/v1/load").body(Body::empty()).ok()?;
    let (parts, body) = request.into_parts();
    let request = peers.request(address, &parts, body, (None, &moving::hub_itself(), None)).ok()?;
    let answer = peers.send(address, request).await.ok()?.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let told = axum::body::to_bytes(answer.into_body(), TOLD_BYTES_MAX).await.ok()?;
    serde_json::from_slice(&told).ok()
}

/// How many events the conversations of this hub have.
#[derive(Debug, Default)]
struct EventMeter {
    /// When it was looked last, and where each conversation stood then.
    before: Option<(Instant, HashMap<ConversationId, Seq>)>,
}

impl EventMeter {
    /// Forgets the last look.
    fn forget(&mut self) {
        self.before = None;
    }

    /// The conversations of this hub that it also had at the last look, with what they had since. None at the first look.
    fn candidates(&mut self, shared: &Shared) -> Vec<Candidate> {
        let now = Instant::now();
        let heads = shared.hub.own_heads();
        let Some((at, before)) = self.before.take() else {
            self.before = Some((now, heads.into_iter().collect()));
            return Vec::new();
        };
        let passed = u64::try_from(now.duration_since(at).as_millis()).unwrap_or(u64::MAX).max(1);
        let commanded = shared.commands.remembered.conversations();
        let candidates = heads.iter().filter_map(|(conversation, head)| {
            let events = head.saturating_sub(*before.get(conversation)?);
            // The answers to commands do not move, and a repeated command is to be carried out once.
            let is_bound =
                is_stand_in(conversation) || conversation.is_frozen() || commanded.contains(conversation);
            Some(Candidate {
                conversation: conversation.clone(),
                events_per_minute: events.saturating_mul(60_000) / passed,
                mobility: if is_bound { Mobility::Bound } else { Mobility::Free },
            })
        });
        let candidates = candidates.collect();
        self.before = Some((now, heads.into_iter().collect()));
        candidates
    }
}
