//! `DELETE /v1/conversations/{c}`: deletes a conversation with everything that belongs to it.
//!
//! ```text
//! known? ─ no ─▶ 404
//!   │ runs go on? ─ yes, without force ─▶ 409 still_running
//!   │    │ with force: the hub's own agents are stopped, and waited for
//!   ▼    ▼
//! memory and log ─▶ viewers, lists, links ─▶ audit log ─▶ wait until nothing is left in the files ─▶ 204
//! ```

use std::sync::Arc;
use std::time::Duration;

use access::audit::{Audited, AuditedAction};
use agents::RunAddress;
use axum::extract::State;
use axum::http::StatusCode;
use event_log::{blocking, purged, reached};
use hub::{Conversation, PendingDeletion};
use model::code::ErrorCode;
use model::frame::Durability;
use model::{ConversationId, View};
use serde::Deserialize;

use super::conversations;
use crate::frozen;
use crate::inbound::caller::Caller;
use crate::inbound::params::{Path, Query};
use crate::inbound::problem::Problem;
use crate::state::Shared;

/// How long the hub's own agents may take to stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// The query parameters of a deletion.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct DeleteQuery {
    /// Whether it is deleted although runs go on.
    #[serde(default)]
    force: bool,
}

/// `DELETE /v1/conversations/{c}?force`: deletes the conversation, 204 when nothing of it is left where the log stores. 404 if there
/// is none; 409 `still_running` while runs go on, unless `force` is true. A client that goes away meanwhile stops nothing.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(query): Query<DeleteQuery>,
    Caller(principal): Caller,
) -> Result<StatusCode, Problem> {
    let told = Audited::new(AuditedAction::Delete, principal.name()).about(&name);
    let told = if query.force { told.with("force") } else { told };
    let came = deleted(&shared, &name, &query).await;
    blocking(|| {
        shared.gate.audit(match &came {
            Ok(_) => told,
            Err(problem) => told.failed(problem.code()),
        });
    });
    let pending = came?;
    let log = shared.hub.log();
    for deletion in &pending {
        reached(log, deletion.removal, Durability::Stored.min(log.durability())).await?;
    }
    // Until now a list that was read from the log could have it, and it was counted.
    if let Ok(id) = ConversationId::parse(&name) {
        // If it cannot be written, the wait for the purge says so.
        blocking(|| drop(log.settle(&id)));
        shared.fanout.fleet.lose(&id);
    }
    for deletion in pending {
        purged(log, deletion.purge).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the conversation, and the copies of it that frozen links show, for all who see them, and says what to wait for until nothing of
/// them is left.
async fn deleted(
    shared: &Arc<Shared>,
    name: &str,
    query: &DeleteQuery,
) -> Result<Vec<PendingDeletion>, Problem> {
    let conversation = conversations::find(&shared.hub, &shared.work, name).await?;
    let id = conversation.id();
    // A command that is being carried out would begin it anew.
    let _no_commands = shared.commands.remembered.turn(id).await;
    if query.force {
        stop(shared, &conversation).await?;
    } else if let Some(run) = conversation.read_view(|view| running(view).next().map(ToString::to_string)) {
        let why = format!("the run {run} goes on: stop it first, or delete with ?force=true");
        return Err(Problem::new(ErrorCode::StillRunning, why));
    }
    let deleted = shared.hub.delete(id)?;
    let deleted = deleted.ok_or_else(|| {
        Problem::new(ErrorCode::UnknownConversation, format!("no conversation is named {name:?}"))
    })?;
    let mut pending = vec![deleted];
    pending.extend(forget(shared, id));
    Ok(pending)
}

/// The runs that go on.
fn running(view: &View) -> impl Iterator<Item = &model::RunId> {
    view.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id)
}

/// Stops the runs of the hub's own agents and waits for their ends, which would otherwise begin the conversation anew. Runs of others
/// are not stopped. Fails with `still_running` if that takes too long.
async fn stop(shared: &Shared, conversation: &Conversation) -> Result<(), Problem> {
    let place = |run: &model::RunId| RunAddress { conversation: conversation.id().clone(), run: run.clone() };
    let places: Vec<RunAddress> = conversation.read_view(|view| running(view).map(&place).collect());
    let told = places.into_iter().filter(|place| shared.agents.stop(place)).collect::<Vec<_>>();
    let stopped = async {
        for place in &told {
            loop {
                let mut appended = std::pin::pin!(conversation.appended());
                appended.as_mut().enable();
                if shared.agents.is_over(place) {
                    break;
                }
                appended.await;
            }
            shared.agents.left(place).await;
        }
    };
    tokio::time::timeout(STOP_MAX, stopped).await.map_err(|_late| {
        Problem::new(ErrorCode::StillRunning, "a run of the hub's agents was told to stop and does not end")
    })
}

/// Tells those who see it, and forgets what the hub remembers of it beside the log. Returns what to wait for until the copies are gone that
/// frozen links showed.
fn forget(shared: &Shared, id: &ConversationId) -> Vec<PendingDeletion> {
    shared.commands.remembered.forget(id);
    shared.threads.rows.forget(id);
    let links = blocking(|| shared.gate.unshare_all(id)).unwrap_or_else(|error| {
        tracing::error!(%error, conversation = %id, "links to a deleted conversation are still stored");
        Vec::new()
    });
    let pending = frozen::remove(&shared.fanout, frozen::copies_of(&links).filter(|copy| copy != id));
    if !links.is_empty() {
        // What went on with a copy ends.
        shared.copies.look();
    }
    // Sockets begin anew what is over, and end with their links.
    shared.sockets.wake_due(true);
    shared.fanout.fleet.lose(id);
    pending
}
