//! Live links to one turn: the hub that has a conversation goes on writing the copy of the turn while its runs go on.
//!
//! ```text
//! each look at the links:  copy here, runs go on? ─ original here ─▶ a task for it ─▶ events of the runs, as they are logged ─▶ copy ─▶ viewers
//!                                                └ original elsewhere ─▶ the copy is given up for that hub, which looks when it takes it
//!                          copy elsewhere, runs go on? ─▶ looked at again, less and less often ([`LookPause`](super::looking::LookPause))
//! ends:  no run goes on (for good) · link revoked, over, conversation deleted · drain · read or write failed (looked at again)
//! ```
//!
//! All tasks are known here, and each look ends those without a link. How far a copy has come is stored with its events, so a hub that starts again
//! goes on at the next one. The task reads what is logged and waits for it like a viewer: whoever publishes never waits for it (invariant I8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use access::FrozenShare;
use event_log::{LogError, Owner, Purpose, clock};
use hub::{Conversation, OpenError};
use model::ConversationId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Copies;
use super::moving::{self, CopyMoves, GiveUp};
use super::turn::{FollowEnd, TurnCopy};
use crate::peers;

/// The pause before a copy is looked at again that could not be written.
const AGAIN: Duration = Duration::from_secs(1);

/// A link to a turn that goes on.
#[derive(Debug, Clone)]
pub(super) struct LiveLink {
    /// The copy that it opens.
    pub(super) copy: ConversationId,
    /// What that is a copy of.
    pub(super) shows: FrozenShare,
    /// When the link ends, in milliseconds since 1970.
    pub(super) expires: u64,
}

/// The copies of turns on which this hub writes.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    /// What ends the task of each copy.
    tasks: Mutex<BTreeMap<ConversationId, CancellationToken>>,
    /// Copies whose runs have ended, so that nobody need look at them again.
    finished: Mutex<BTreeSet<ConversationId>>,
    /// Copies that are being given up for the hub of their original.
    pub(super) moves: Arc<CopyMoves>,
}

/// Dropping it tells that the task of a copy has ended.
struct CopySeat {
    copies: Arc<Copies>,
    copy: ConversationId,
    cancelled: CancellationToken,
}

impl Drop for CopySeat {
    fn drop(&mut self) {
        self.copies.followers.tasks.lock().remove(&self.copy);
        if !self.cancelled.is_cancelled() {
            self.copies.look();
        }
    }
}

/// The outcome of a look at one link, or at all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookVerdict {
    /// The task of the link runs, or nothing is left to do.
    Settled,
    /// Another hub writes the copy, or will; somebody must look again soon.
    Waits,
}

/// Starts the tasks of copies among `links` that have none and ends those without a link. [`LookVerdict::Waits`] if some of them must be looked at again soon.
pub(super) async fn keep(copies: &Arc<Copies>, links: Vec<LiveLink>, give_up: &GiveUp) -> LookVerdict {
    let alive: BTreeSet<&ConversationId> = links.iter().map(|link| &link.copy).collect();
    let followers = &copies.followers;
    for (copy, task) in &*followers.tasks.lock() {
        if !alive.contains(copy) {
            task.cancel();
        }
    }
    followers.finished.lock().retain(|copy| alive.contains(copy));
    let mut verdict = LookVerdict::Settled;
    for link in links {
        let is_known = followers.tasks.lock().contains_key(&link.copy);
        if is_known || followers.finished.lock().contains(&link.copy) {
            continue;
        }
        match look_at(copies, &link, give_up).await {
            Ok(LookVerdict::Settled) => {}
            Ok(LookVerdict::Waits) => verdict = LookVerdict::Waits,
            Err(error) => {
                tracing::warn!(%error, copy = %link.copy, "the copy of a turn does not go on yet");
                verdict = LookVerdict::Waits;
            }
        }
    }
    verdict
}

/// Has this hub go on with the copy of `link` if it has both, and gives the copy up for the hub that has the original if that is another one.
async fn look_at(copies: &Arc<Copies>, link: &LiveLink, give_up: &GiveUp) -> Result<LookVerdict, LogError> {
    if let Owner::Elsewhere(_) = peers::owner(&copies.ownership, &link.copy, Purpose::Find).await? {
        return Ok(LookVerdict::Waits);
    }
    let Some(copy) = found(copies, &link.copy).await? else { return Ok(LookVerdict::Settled) };
    if !copy.is_on() {
        copies.followers.finished.lock().insert(link.copy.clone());
        return Ok(LookVerdict::Settled);
    }
    if let Owner::Elsewhere(to) = peers::owner(&copies.ownership, &link.shows.of, Purpose::Find).await? {
        drop(copy);
        moving::start(copies, &link.copy, to, give_up);
        return Ok(LookVerdict::Waits);
    }
    // Without it the link goes at the next look.
    let Some(original) = found(copies, &link.shows.of).await? else { return Ok(LookVerdict::Waits) };
    start(copies, link, original, &copy);
    Ok(LookVerdict::Settled)
}

/// A conversation of this hub; `None` if it is not there or another hub has it.
async fn found(copies: &Arc<Copies>, id: &ConversationId) -> Result<Option<Arc<Conversation>>, LogError> {
    let (hub, of) = (Arc::clone(&copies.ownership.hub), id.clone());
    let found = tokio::task::spawn_blocking(move || hub.find(&of)).await;
    let found = found.map_err(|error| LogError::Unreadable(Arc::from(error.to_string())))?;
    Ok(found.map_err(unreadable)?.filter(|found| !found.is_followed()))
}

/// What a conversation that cannot be opened is for those who read the log.
pub(super) fn unreadable(error: OpenError) -> LogError {
    match error {
        OpenError::Log(error) => error,
        error => LogError::Unreadable(Arc::from(error.to_string())),
    }
}

/// Starts the task that goes on with `copy`.
fn start(copies: &Arc<Copies>, link: &LiveLink, original: Arc<Conversation>, copy: &Conversation) {
    let cancelled = copies.ownership.drain.child_token();
    copies.followers.tasks.lock().insert(link.copy.clone(), cancelled.clone());
    let seat = CopySeat { copies: Arc::clone(copies), copy: link.copy.clone(), cancelled };
    let turn = TurnCopy::new(copy, &original, &link.shows);
    let left = Duration::from_millis(link.expires.saturating_sub(clock::now_ms()));
    copies.ownership.tasks.spawn(async move {
        let work = async {
            let end = turn.follow(&seat.copies.ownership.fanout, &original).await;
            let is_settled = matches!(end, FollowEnd::Finished | FollowEnd::Moved);
            told(&seat, end);
            if !is_settled {
                tokio::time::sleep(AGAIN).await;
            }
        };
        // The work may be cut anywhere: what was appended is stored with how far it came.
        tokio::select! {
            () = seat.cancelled.cancelled() => {}
            () = tokio::time::sleep(left) => {}
            () = work => {}
        }
    });
}

/// Notes why a task ended.
fn told(seat: &CopySeat, end: FollowEnd) {
    let copy = &seat.copy;
    match end {
        FollowEnd::Finished => {
            seat.copies.followers.finished.lock().insert(copy.clone());
        }
        FollowEnd::Moved => tracing::debug!(%copy, "the copy of a turn is looked at again"),
        FollowEnd::Missing(what) => tracing::warn!(%copy, what, "the copy of a turn was ended"),
        FollowEnd::Failed(error) => {
            tracing::warn!(%copy, error, "the copy of a turn does not go on for the moment");
        }
    }
}
