//! Finds the conversation that a caller continues without naming one. The decision is in `exchange::continuation`; this
//! module holds what it remembers of all callers and looks conversations up, which may wait for the disk. No
//! lock is held meanwhile but the turns of those who ask for the very same ([`turns`]), so nobody waits for the disk of another caller.
//!
//! ```text
//! messages ─▶ clues ─▶ candidates ─▶ the view of each: was that answered there? ─▶ the conversation
//! a name   ─▶ current(name): the conversation, or the fork in which it goes on
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use agents::{HUB_STOPPED, RunAddress, Spoken};
use event_log::{ListQuery, blocking, clock};
use exchange::continuation::{
    AskedQuestion, Breaks, Caller, Clue, Continuations, Found, Telling, Trace, begun, check, clues,
    has_ended, may_be,
};
use hub::{Conversation, Hub};
use indexmap::IndexSet;
use model::limits::THREADS_REMEMBERED_MAX;
use model::{ConversationId, Position, RunId, View};
use parking_lot::Mutex;

use crate::failures;
use crate::sharing::is_stand_in;

mod rows;
mod turns;

pub(crate) use rows::{METADATA_BYTES_MAX, Row, Rows};
use turns::{HeldTurn, KeyedTurns};

/// Most conversations that are searched for earlier callers after a restart, newest first.
const LOOKED_THROUGH_MAX: usize = 512;

/// Who begins a run: one that does so twice at once must not begin two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RunBeginner {
    /// Whoever names this conversation or thread.
    Named(ConversationId),
    /// The caller with this print, who names none.
    Told(u64),
}

/// The right to begin a run. Dropping it lets the next one begin.
#[derive(Debug)]
pub(crate) struct BeginTurn {
    _beginner: HeldTurn<RunBeginner>,
    /// The turn of the conversation in which the run begins, once that is known.
    place: Option<HeldTurn<ConversationId>>,
}

/// What was read of earlier callers. A hub that shares its log reads again when it begins to serve a thread, or callers without a
/// name, that another hub may have served before.
#[derive(Debug, Default)]
struct ReadBack {
    /// Whether anything was read.
    is_read: bool,
    /// The threads, and the stand-ins of callers, that are served here by now; at most [`THREADS_REMEMBERED_MAX`].
    served: IndexSet<ConversationId>,
    /// What was found.
    known: KnownTraces,
}

/// What was found in each conversation, and where that stood then.
type KnownTraces = HashMap<ConversationId, (Position, Vec<Found>)>;

/// What callers have asked, and where. One for each hub.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// What each caller was told in each conversation.
    memory: Mutex<Continuations>,
    /// Held while somebody begins a run, so that the same caller begins one at a time.
    beginners: KeyedTurns<RunBeginner>,
    /// Held beside that for the conversation in which it begins, since several callers may mean the same.
    places: KeyedTurns<ConversationId>,
    /// What was restored of the time before this hub served a caller.
    read_back: Mutex<ReadBack>,
    /// Held while something is restored: for the one who is asked for, and for all (`None`) the first time.
    reads: KeyedTurns<Option<ConversationId>>,
    /// The metadata that clients have given their threads.
    pub(crate) rows: Rows,
}

impl Threads {
    /// Waits until the same caller begins no other run: what it means depends on what it has begun. Drop the turn once the run has begun.
    /// May be cancelled.
    pub(crate) async fn begins(&self, beginner: &RunBeginner) -> BeginTurn {
        BeginTurn { _beginner: self.beginners.turn(beginner).await, place: None }
    }

    /// Waits until nobody else begins a run in `conversation`, and keeps others from it for as long as `turn`. Everybody takes the turn of
    /// a caller first and that of one conversation then, so no two wait for each other. May be cancelled.
    pub(crate) async fn begins_in(&self, turn: &mut BeginTurn, conversation: &ConversationId) {
        // Nobody may wait for one conversation and hold another.
        turn.place = None;
        turn.place = Some(self.places.turn(conversation).await);
    }

    /// Restores what was remembered before the hub restarted, once; waits for it. Reads up to
    /// [`LOOKED_THROUGH_MAX`] conversations, the newest first. With other hubs on the log `of` is the thread or the stand-in that is
    /// asked for, which another hub may have served until now: then what has changed is read again. Those alone wait who need the same.
    pub(crate) async fn remembered(&self, hub: &Hub, of: Option<&ConversationId>) {
        if self.read_back.lock().has_restored(of) {
            return;
        }
        let _its_turn = match of {
            Some(_) => Some(self.reads.turn(&of.cloned()).await),
            None => None,
        };
        let mut is_fresh = false;
        if !self.read_back.lock().is_read {
            let _first = self.reads.turn(&None).await;
            if !self.read_back.lock().is_read {
                blocking(|| self.restore(hub));
                is_fresh = true;
            }
        }
        let Some(of) = of.filter(|of| !self.read_back.lock().served.contains(*of)) else { return };
        // A thread in which nothing was said has no earlier callers.
        let has_earlier = || is_stand_in(of) || !matches!(hub.look(of), Ok(None));
        if !is_fresh && blocking(has_earlier) {
            blocking(|| self.restore(hub));
        }
        let mut read_back = self.read_back.lock();
        if read_back.served.len() >= THREADS_REMEMBERED_MAX {
            read_back.served.shift_remove_index(0);
        }
        read_back.served.insert(of.clone());
    }

    /// Reads what callers had begun and remembers it. Waits for the disk; what is known by then was read before or at the same time.
    fn restore(&self, hub: &Hub) {
        let before = self.read_back.lock().known.clone();
        let known = traces(hub, before);
        let mut found: Vec<Found> = known.values().flat_map(|(_, found)| found.iter().cloned()).collect();
        found.sort_by_key(|found| found.at);
        self.memory.lock().read_back(found);
        let mut read_back = self.read_back.lock();
        read_back.known = known;
        read_back.is_read = true;
    }

    /// Notes that another hub serves the thread `of` from now on, so that what callers were told there is read when it comes back. Waits
    /// while it is being read.
    pub(crate) async fn no_longer_served(&self, of: &ConversationId) {
        let _its_turn = self.reads.turn(&Some(of.clone())).await;
        self.read_back.lock().served.shift_remove(of);
    }

    /// The conversation in which the thread `named` goes on.
    pub(crate) fn current(&self, named: &ConversationId) -> ConversationId {
        self.memory.lock().current(named)
    }

    /// The conversations of the thread `named`: first the one in which it goes on, then the others, newest
    /// first.
    pub(crate) fn family(&self, named: &ConversationId) -> Vec<ConversationId> {
        self.memory.lock().family(named)
    }

    /// Whether a conversation is a fork in which a thread of another name went on.
    pub(crate) fn is_fork(&self, id: &ConversationId) -> bool {
        self.memory.lock().is_fork(id)
    }

    /// Notes that the thread `named` goes on in `there`.
    pub(crate) fn goes_on_in(&self, named: &ConversationId, there: &ConversationId) {
        self.remember(Trace::goes_on_in(named, there), &RunId::none(), clock::now_ms());
    }

    /// Notes that a caller has begun `run` at `at`, in milliseconds since 1970.
    pub(crate) fn remember(&self, trace: Trace, run: &RunId, at: u64) {
        self.memory.lock().remember(trace, run, at);
    }

    /// Notes that the caller of the run at `place` hung up before its end.
    pub(crate) fn left(&self, trace: &Trace, place: &RunAddress) {
        self.memory.lock().left(trace, &place.run);
    }

    /// Finds the conversation that the caller who sends `messages` to the agent continues. `fits` says
    /// whether the messages continue its view. A conversation that is found counts as continued: the next
    /// caller with the same messages gets another one. Waits for the disk.
    pub(crate) fn find(
        &self,
        hub: &Hub,
        (agent, caller): (&str, &Caller),
        messages: &[Spoken],
        fits: impl Fn(&View) -> bool,
    ) -> Option<ConversationId> {
        let (clues, now) = (clues(agent, messages), clock::now_ms());
        let open = clues.iter().find_map(|clue| {
            let open = self.memory.lock().open(clue, now);
            open.into_iter().find(|known| {
                self.is_it(hub, known, (clue, caller), &fits) && self.memory.lock().go_on(known, clue)
            })
        });
        let changed = || {
            clues.iter().find_map(|clue| {
                let changed = self.memory.lock().changed(clue);
                changed.into_iter().find(|known| self.is_it(hub, known, (clue, caller), |_view| true))
            })
        };
        open.or_else(changed).map(|known| known.conversation().clone())
    }

    /// Whether another hub runs something that this caller may continue, and this one has not seen its end yet: what it sees of the
    /// conversations of others is some milliseconds old. Waits for the disk.
    pub(crate) fn is_behind(&self, hub: &Hub, (agent, caller): (&str, &Caller), messages: &[Spoken]) -> bool {
        let now = clock::now_ms();
        clues(agent, messages).iter().any(|clue| {
            let open = self.memory.lock().open(clue, now);
            open.iter().filter(|known| may_be(known, clue, caller)).any(|known| {
                let id = known.conversation();
                let is_here = hub.in_memory(id).is_some_and(|found| !found.is_followed());
                // Of one that has just begun the log may have nothing yet.
                let has_ended = |found: Arc<Conversation>| found.read_view(|view| has_ended(known, view));
                !is_here && !hub.look(id).ok().flatten().is_some_and(has_ended)
            })
        })
    }

    /// Whether `known` is what this caller was told, and `fits` what it sends now. Reads the conversation,
    /// perhaps from the disk; one that cannot be read is not it.
    fn is_it(
        &self,
        hub: &Hub,
        known: &AskedQuestion,
        (clue, caller): (&Clue, &Caller),
        fits: impl Fn(&View) -> bool,
    ) -> bool {
        if !may_be(known, clue, caller) {
            return false;
        }
        let Some(found) = hub.look(known.conversation()).ok().flatten() else { return false };
        let breaks = if caller.door() == "deep-agent" { Breaks::Off } else { Breaks::Never };
        let telling = Telling { breaks, failures: &failures::TOLD };
        let checked = found.read_view(|view| check(known, clue, &telling, view, fits));
        self.memory.lock().checked(known, clue, checked);
        checked.is_it
    }
}

impl ReadBack {
    /// Whether nothing need be read for `of`, or for those who name nobody.
    fn has_restored(&self, of: Option<&ConversationId>) -> bool {
        self.is_read && of.is_none_or(|of| self.served.contains(of))
    }
}

/// Reads what callers had begun from the runs themselves, as far as it has changed since `before` was read.
fn traces(hub: &Hub, mut before: KnownTraces) -> KnownTraces {
    let query = ListQuery { limit: LOOKED_THROUGH_MAX, ..ListQuery::default() };
    let rows = hub.list(&query).map(|listed| listed.rows).unwrap_or_default();
    let mut known = KnownTraces::default();
    for row in rows {
        let stands = Position { epoch: row.epoch.clone(), seq: row.head };
        if let Some(unchanged) = before.remove(&row.conversation).filter(|(at, _)| *at == stands) {
            known.insert(row.conversation, unchanged);
            continue;
        }
        let Ok(Some(conversation)) = hub.look(&row.conversation) else { continue };
        let of = |view: &View| {
            let runs = view.runs.iter().filter(|(_, run)| run.own);
            runs.flat_map(|(id, run)| begun(id, run, HUB_STOPPED)).collect::<Vec<_>>()
        };
        let mut traces = conversation.read_view(of);
        traces.retain(|found| *found.trace.conversation() == row.conversation);
        known.insert(row.conversation, (stands, traces));
    }
    known
}

#[cfg(test)]
mod tests;
