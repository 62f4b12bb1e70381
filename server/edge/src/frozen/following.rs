//! Live links to one turn: the hub that has a conversation goes on writing the copy of the turn while its runs go on.
//!
//! ```text
//! each look at the links:  copy here, runs go on? ─ original here ─▶ a task for it ─▶ events of the runs, as they are logged ─▶ copy ─▶ viewers
//!                                                └ original elsewhere ─▶ the copy is given up for that hub, which looks when it takes it
//! ends:  no run goes on (for good) · link revoked, over, conversation deleted · drain · read or write failed (looked at again)
//! ```
//!
//! All tasks are known here, and each look ends those without a link. How far a copy has come is stored with its events, so a hub that starts again
//! goes on at the next one. The task reads what is logged and waits for it like a viewer: whoever publishes never waits for it (invariant I8).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use access::{FrozenShare, Grant, Pattern, Principal, Right};
use event_log::{LogError, Owner, Purpose, blocking, clock};
use hub::{AppendError, Conversation, PublishError};
use model::event::{ErrorFact, Event, Kind};
use model::{ConversationId, Envelope, RunId, Seq};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fork::{ends, said};
use crate::http::hubs::moving;
use crate::peers;
use crate::state::Shared;

/// Most events that are copied at once.
const EVENTS_AT_ONCE: usize = 500;

/// The pause before a copy is looked at again that could not be written.
const AGAIN: Duration = Duration::from_secs(1);

/// The code of the failure in a copy that cannot go on to the end of its runs.
const BROKE_OFF: &str = "copy_broke_off";

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
}

/// Dropping it tells that the task of a copy has ended.
struct Seat {
    shared: Arc<Shared>,
    copy: ConversationId,
    cancelled: CancellationToken,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.copies.followers.tasks.lock().remove(&self.copy);
        if !self.cancelled.is_cancelled() {
            self.shared.copies.look();
        }
    }
}

/// Why a task ended.
#[derive(Debug)]
enum FollowEnd {
    /// No run of the copy goes on.
    Finished,
    /// The copy or the original is not this hub's any more, or gone.
    Moved,
    /// Events that belong into the copy are nowhere to be read; what is missing.
    Missing(String),
    /// It could not be read or written.
    Failed(String),
}

/// What came of a look at one link.
#[derive(Debug, PartialEq, Eq)]
enum LookVerdict {
    /// Its task runs, or nothing is left to do.
    Settled,
    /// Another hub writes it, or will; somebody must look again soon.
    Waits,
}

/// Starts the tasks of copies among `links` that have none and ends those without a link. True if some of them must be looked at again soon.
pub(super) async fn keep(shared: &Arc<Shared>, links: Vec<LiveLink>) -> bool {
    let alive: BTreeSet<&ConversationId> = links.iter().map(|link| &link.copy).collect();
    let followers = &shared.copies.followers;
    for (copy, task) in &*followers.tasks.lock() {
        if !alive.contains(copy) {
            task.cancel();
        }
    }
    followers.finished.lock().retain(|copy| alive.contains(copy));
    let mut waits = false;
    for link in links {
        let is_known = followers.tasks.lock().contains_key(&link.copy);
        if is_known || followers.finished.lock().contains(&link.copy) {
            continue;
        }
        match look_at(shared, &link).await {
            Ok(verdict) => waits |= verdict == LookVerdict::Waits,
            Err(error) => {
                tracing::warn!(%error, copy = %link.copy, "the copy of a turn does not go on yet");
                waits = true;
            }
        }
    }
    waits
}

/// Has this hub go on with the copy of `link` if it has both, and gives the copy up for the hub that has the original if that is another one.
async fn look_at(shared: &Arc<Shared>, link: &LiveLink) -> Result<LookVerdict, LogError> {
    if let Owner::Elsewhere(_) = peers::owner(shared, &link.copy, Purpose::Find).await? {
        return Ok(LookVerdict::Waits);
    }
    let Some(copy) = found(shared, &link.copy).await? else { return Ok(LookVerdict::Settled) };
    if !copy.is_on() {
        shared.copies.followers.finished.lock().insert(link.copy.clone());
        return Ok(LookVerdict::Settled);
    }
    if let Owner::Elsewhere(to) = peers::owner(shared, &link.shows.of, Purpose::Find).await? {
        drop(copy);
        let hub = Principal::new("hub", vec![Grant::new(Right::ALL, Pattern::any())], None);
        if let Err(problem) = moving::move_to(shared, &link.copy, &to, &hub).await {
            tracing::debug!(copy = %link.copy, why = problem.code(), "the copy of a turn stays here for now");
        }
        return Ok(LookVerdict::Waits);
    }
    // Without it the link goes at the next look.
    let Some(original) = found(shared, &link.shows.of).await? else { return Ok(LookVerdict::Waits) };
    start(shared, link, original, &copy);
    Ok(LookVerdict::Settled)
}

/// A conversation of this hub; `None` if it is not there or another hub has it.
async fn found(shared: &Arc<Shared>, id: &ConversationId) -> Result<Option<Arc<Conversation>>, LogError> {
    let (hub, of) = (Arc::clone(&shared.hub), id.clone());
    let found = tokio::task::spawn_blocking(move || hub.find(&of)).await;
    match found.map_err(|error| LogError::Unreadable(Arc::from(error.to_string())))? {
        Ok(found) => Ok(found.filter(|found| !found.is_followed())),
        Err(hub::OpenError::Log(error)) => Err(error),
        Err(error) => Err(LogError::Unreadable(Arc::from(error.to_string()))),
    }
}

/// Starts the task that goes on with `copy`.
fn start(shared: &Arc<Shared>, link: &LiveLink, original: Arc<Conversation>, copy: &Conversation) {
    let cancelled = shared.drain.child_token();
    shared.copies.followers.tasks.lock().insert(link.copy.clone(), cancelled.clone());
    let seat = Seat { shared: Arc::clone(shared), copy: link.copy.clone(), cancelled };
    let turn = TurnCopy {
        copy: link.copy.clone(),
        runs: copy.read_view(|view| view.runs.keys().cloned().collect()),
        at: copy.copied_up_to().unwrap_or_default().max(link.shows.seq),
    };
    let left = Duration::from_millis(link.expires.saturating_sub(clock::now_ms()));
    shared.tasks.spawn(async move {
        let work = async {
            let end = turn.follow(&seat.shared, &original).await;
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
fn told(seat: &Seat, end: FollowEnd) {
    let copy = &seat.copy;
    match end {
        FollowEnd::Finished => {
            seat.shared.copies.followers.finished.lock().insert(copy.clone());
        }
        FollowEnd::Moved => tracing::debug!(%copy, "the copy of a turn is looked at again"),
        FollowEnd::Missing(what) => tracing::warn!(%copy, what, "the copy of a turn was ended"),
        FollowEnd::Failed(error) => {
            tracing::warn!(%copy, error, "the copy of a turn does not go on for the moment");
        }
    }
}

/// The copy of one turn, on which this hub writes.
struct TurnCopy {
    /// The name of the copy.
    copy: ConversationId,
    /// The runs of the turn. No other run ever comes into the copy.
    runs: HashSet<RunId>,
    /// The seq of the original up to which it was looked through.
    at: Seq,
}

impl TurnCopy {
    /// Copies what the original has of the turn, as it is logged, until no run of the copy goes on. Safe to cancel.
    async fn follow(mut self, shared: &Shared, original: &Arc<Conversation>) -> FollowEnd {
        loop {
            let mut appended = std::pin::pin!(original.appended());
            // Before the look, so that nothing is missed that comes meanwhile.
            appended.as_mut().enable();
            if original.is_followed() || original.is_over() {
                return FollowEnd::Moved;
            }
            let page = match shared.hub.read(original, self.at, EVENTS_AT_ONCE).await {
                Ok(page) => page,
                Err(LogError::Gone { .. }) => return self.break_off(shared, original),
                Err(error) => return FollowEnd::Failed(error.to_string()),
            };
            let Some(last) = page.envelopes.last().map(|last| last.seq) else {
                if page.head != self.at {
                    return self.break_off(shared, original);
                }
                appended.await;
                continue;
            };
            if page.envelopes.first().is_some_and(|first| first.seq != self.at + 1) {
                return self.break_off(shared, original);
            }
            let its = page.envelopes.iter().filter(|envelope| self.is_of(&envelope.event));
            let its: Vec<Envelope> = blocking(|| {
                its.map(|envelope| shared.hub.made_whole(original, envelope).into_owned()).collect()
            });
            self.at = last;
            if let Some(end) = self.write(shared, its) {
                return end;
            }
        }
    }

    /// Whether an event belongs into the copy: it is of one of the runs, whatever it says.
    fn is_of(&self, event: &Event) -> bool {
        let is_loose = event.run.is_none() && event.kind.is_of_conversation();
        !is_loose && self.runs.contains(&event.run)
    }

    /// Appends `its` to the copy, and shows them. Returns why nothing more is written, if that is so.
    fn write(&self, shared: &Shared, its: Vec<Envelope>) -> Option<FollowEnd> {
        if its.is_empty() {
            return None;
        }
        let written = blocking(|| shared.hub.copy_on(&self.copy, its, self.at));
        shared.fanout.deliver(&self.copy);
        match written {
            Ok(true) => None,
            Ok(false) | Err(PublishError::Append(AppendError::Frozen)) => Some(FollowEnd::Finished),
            Err(
                PublishError::Append(AppendError::Retired | AppendError::Elsewhere)
                | PublishError::Open(hub::OpenError::Elsewhere { .. }),
            ) => Some(FollowEnd::Moved),
            Err(error) => Some(FollowEnd::Failed(error.to_string())),
        }
    }

    /// Ends the runs of the copy, and says in each what is missing: events of the original after those that were copied are not in the log.
    fn break_off(&self, shared: &Shared, original: &Conversation) -> FollowEnd {
        let head = original.head();
        let message = if head < self.at {
            "the hub has lost what came after this: its log ends before what was shown here".to_owned()
        } else {
            format!(
                "what came after this is missing: the hub's log no longer has events {} to {head} one by one",
                self.at + 1
            )
        };
        let runs = match shared.hub.find(&self.copy) {
            Ok(Some(copy)) => copy.read_view(|view| ends(view).collect::<Vec<_>>()),
            Ok(None) => return FollowEnd::Moved,
            Err(error) => return FollowEnd::Failed(error.to_string()),
        };
        let fact = ErrorFact {
            code: BROKE_OFF.into(),
            message: message.clone(),
            retryable: None,
            retry_after_ms: None,
        };
        let events = runs.into_iter().flat_map(|end| [Event::new(&end.run, Kind::Error(fact.clone())), end]);
        let events = events.map(|event| said(event, 0)).collect();
        match self.write(shared, events) {
            None | Some(FollowEnd::Finished) => FollowEnd::Missing(message),
            Some(end) => end,
        }
    }
}
