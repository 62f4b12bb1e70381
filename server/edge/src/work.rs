//! How much the hub does at the same time for those who ask for much: one bound for all of it, whatever it is. The hub listens on
//! one machine, so all who ask are one client to it; the bound holds for all of them together
//! ([decision 0036](../../../docs/decisions/0036-one-bound-for-all-work.md)).
//!
//! Work takes a *turn*: while a conversation is loaded, searched, read back from the log, made into an answer, imported or
//! copied. Of [`WORK_AT_ONCE_MAX`] turns what is heavy has few, so that there is always one for what is not. Sending takes no turn:
//! what was made waits in a file. Who waits (for a turn, for a reader, for an event) is *open*: that costs next to nothing and is
//! counted against larger numbers. Publishing and viewing over sockets do not go through here and never wait for it (invariant I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::View;
use model::limits::{
    ANSWER_AWAITED_MS, LARGE_ANSWERS_AT_ONCE_MAX, LARGE_BODIES_AT_ONCE_MAX, LARGE_VIEW_BYTES,
    PIECES_AT_ONCE_MAX, REQUESTS_WAITING_MAX, SEARCHES_AT_ONCE_MAX, SPOOL_BYTES_MAX, STREAMS_OPEN_MAX,
    TRANSFERS_OPEN_MAX, WORK_AT_ONCE_MAX,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::rank::{Rank, Threads};

/// How long an answer or a copy waits for its turn.
pub(crate) const TURN: Duration = Duration::from_millis(ANSWER_AWAITED_MS);

/// What a turn is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// A search of the log.
    Search,
    /// Something with all of a conversation of [`LARGE_VIEW_BYTES`] or more.
    Large,
    /// The next piece of an answer that is made while it is sent.
    Piece,
    /// Anything else.
    Small,
}

impl Task {
    /// Something with so many bytes.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        if bytes < LARGE_VIEW_BYTES { Self::Small } else { Self::Large }
    }

    /// Something with all of `view`. Takes a moment for each item of it.
    pub(crate) fn of(view: &View) -> Self {
        let messages = view.messages.values().map(|message| message.text.len());
        let runs = view.runs.values().map(|run| {
            let parts = run.parts.values().map(|part| part.body.text.len());
            let tools = run.tools.values().map(|tool| {
                let result = tool.result.as_ref().map_or(0, |result| result.as_str().len());
                let whole = tool
                    .result_ref
                    .as_ref()
                    .map_or(0, |whole| usize::try_from(whole.bytes).unwrap_or(usize::MAX));
                [tool.arguments.text.len(), tool.output.text.len(), result, whole]
                    .into_iter()
                    .fold(0_usize, usize::saturating_add)
            });
            parts.chain(tools).fold(256 * run.items.len(), usize::saturating_add)
        });
        Self::of_bytes(messages.chain(runs).fold(0, usize::saturating_add))
    }
}

/// Who may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guest {
    /// A request that waits for its turn, or whose answer is being made.
    Request,
    /// An answer or an import that lies in a file while its bytes are on their way.
    Transfer,
    /// A stream without an end, or somebody who waits for something to happen.
    Stream,
}

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

/// The place of somebody who is open, until it is dropped.
#[derive(Debug)]
pub(crate) struct Open(#[expect(dead_code, reason = "held, not looked at")] OwnedSemaphorePermit);

/// The bounds of work that is done on request, one set for each hub.
#[derive(Debug)]
pub(crate) struct Work {
    /// All turns.
    all: Arc<Semaphore>,
    /// Those of them that heavy work may have.
    searches: Arc<Semaphore>,
    large: Arc<Semaphore>,
    pieces: Arc<Semaphore>,
    /// Whose turn it is to publish a large body. It is none of the others': publishing waits for nothing else.
    pub(crate) bodies: Arc<Semaphore>,
    /// Who may be open.
    requests: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// Bytes of answers that lie in files until they are sent.
    spooled: AtomicU64,
    /// Where all of it is done: behind the threads that serve sockets.
    threads: Threads,
}

/// How much is done at the same time: as much as may have its turn.
const AT_ONCE: usize = WORK_AT_ONCE_MAX + LARGE_BODIES_AT_ONCE_MAX;

impl Default for Work {
    fn default() -> Self {
        let so_many = |count| Arc::new(Semaphore::new(count));
        Self {
            all: so_many(WORK_AT_ONCE_MAX),
            searches: so_many(SEARCHES_AT_ONCE_MAX),
            large: so_many(LARGE_ANSWERS_AT_ONCE_MAX),
            pieces: so_many(PIECES_AT_ONCE_MAX),
            bodies: so_many(LARGE_BODIES_AT_ONCE_MAX),
            requests: so_many(REQUESTS_WAITING_MAX),
            transfers: so_many(TRANSFERS_OPEN_MAX),
            streams: so_many(STREAMS_OPEN_MAX),
            spooled: AtomicU64::new(0),
            // Without tasks of their own; a runtime has one thread for them at least.
            threads: Threads::new("worker", Rank::Asked, 1, AT_ONCE),
        }
    }
}

impl Work {
    /// Does `work` behind the threads that serve sockets.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.threads.run(work)
    }

    /// A turn, after those who asked before.
    pub(crate) async fn turn(&self, task: Task) -> Turn {
        let own = match task {
            Task::Search => Some(&self.searches),
            Task::Large => Some(&self.large),
            Task::Piece => Some(&self.pieces),
            Task::Small => None,
        };
        // Neither is ever closed, so that both give a permit.
        let own = match own {
            Some(own) => Arc::clone(own).acquire_owned().await.ok(),
            None => None,
        };
        let all = Arc::clone(&self.all).acquire_owned().await.ok();
        Turn { _own: own, _all: all }
    }

    /// The same; nothing when it does not come within `time`.
    pub(crate) async fn turn_within(&self, task: Task, time: Duration) -> Option<Turn> {
        tokio::time::timeout(time, self.turn(task)).await.ok()
    }

    /// A place for one more of those who are open; nothing when there are as many as there may be.
    pub(crate) fn open(&self, guest: Guest) -> Option<Open> {
        let places = match guest {
            Guest::Request => &self.requests,
            Guest::Transfer => &self.transfers,
            Guest::Stream => &self.streams,
        };
        Arc::clone(places).try_acquire_owned().ok().map(Open)
    }

    /// Takes room for `bytes` in files. False when that would be more than there is.
    pub(crate) fn spool(&self, bytes: u64) -> bool {
        let taken = self.spooled.fetch_add(bytes, Ordering::Relaxed);
        let fits = taken.saturating_add(bytes) <= SPOOL_BYTES_MAX;
        if !fits {
            self.unspool(bytes);
        }
        fits
    }

    /// Gives room back.
    pub(crate) fn unspool(&self, bytes: u64) {
        self.spooled.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
