//! Which conversation a caller continues that names none. The decision is in `exchange::continuation`; this
//! module holds what it remembers of all callers and looks conversations up, which may wait for the disk. It
//! never does that while it holds the memory's lock.
//!
//! ```text
//! messages ─▶ clues ─▶ candidates ─▶ the view of each: was that answered there? ─▶ the conversation
//! a name   ─▶ current(name): the conversation, or the fork in which it goes on
//! ```

use agents::{HUB_STOPPED, RunAddress, Spoken};
use event_log::{ListQuery, blocking, clock};
use exchange::continuation::{
    Breaks, Caller, Clue, Continuations, Found, Known, Telling, Trace, begun, check, clues, may_be,
};
use hub::Hub;
use model::{ConversationId, RunId, View};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::failures;

mod rows;

pub(crate) use rows::{METADATA_BYTES_MAX, Row, Rows};

/// Most conversations that are searched for earlier callers after a restart, newest first.
const LOOKED_THROUGH_MAX: usize = 512;

/// What callers have asked, and where. One for each hub.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Which callers were told what in which conversation.
    memory: Mutex<Continuations>,
    /// Held while a run is begun, so that only one begins at a time.
    one: tokio::sync::Mutex<()>,
    /// Set once the memory from before the restart was restored.
    is_read_back: OnceCell<()>,
    /// The metadata that clients have given their threads.
    pub(crate) rows: Rows,
}

impl Threads {
    /// Waits until no other caller begins a run, in the whole hub: what a caller means depends on what others
    /// have begun. Drop the guard once the run has begun. May be cancelled.
    pub(crate) async fn one(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.one.lock().await
    }

    /// Restores what was remembered before the hub restarted, once; waits for it. Reads up to
    /// [`LOOKED_THROUGH_MAX`] conversations, the newest first.
    pub(crate) async fn remembered(&self, hub: &Hub) {
        let read_back = || async {
            let found = blocking(|| traces(hub));
            self.memory.lock().read_back(found);
        };
        self.is_read_back.get_or_init(read_back).await;
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

    /// Whether `known` is what this caller was told, and `fits` what it sends now. Reads the conversation,
    /// perhaps from the disk; one that cannot be read is not it.
    fn is_it(
        &self,
        hub: &Hub,
        known: &Known,
        (clue, caller): (&Clue, &Caller),
        fits: impl Fn(&View) -> bool,
    ) -> bool {
        if !may_be(known, clue, caller) {
            return false;
        }
        let Some(found) = hub.find(known.conversation()).ok().flatten() else { return false };
        let breaks = if caller.door() == "deep-agent" { Breaks::Off } else { Breaks::Never };
        let telling = Telling { breaks, failures: &failures::TOLD };
        let checked = found.read_view(|view| check(known, clue, &telling, view, fits));
        self.memory.lock().checked(known, clue, checked);
        checked.is_it
    }
}

/// What callers had begun before the restart, read from the runs themselves, the oldest first.
fn traces(hub: &Hub) -> Vec<Found> {
    let query = ListQuery { limit: LOOKED_THROUGH_MAX, ..ListQuery::default() };
    let rows = hub.list(&query).map(|listed| listed.rows).unwrap_or_default();
    let mut found = Vec::new();
    for row in rows {
        let Ok(Some(conversation)) = hub.find(&row.conversation) else { continue };
        let of = |view: &View| {
            let runs = view.runs.iter().filter(|(_, run)| run.own);
            runs.flat_map(|(id, run)| begun(id, run, HUB_STOPPED)).collect::<Vec<_>>()
        };
        let traces = conversation.read_view(of).into_iter();
        found.extend(traces.filter(|found| *found.trace.conversation() == row.conversation));
    }
    found.sort_by_key(|found| found.at);
    found
}

#[cfg(test)]
mod tests;
