//! The bounds of expensive work. How much the hub does at the same time for those who ask for much has one
//! bound, whatever the work is ([decision 0036](../../../docs/decisions/0036-one-bound-for-all-work.md)). With access control each
//! principal has a share of it ([decision 0140](../../../docs/decisions/0140-a-share-of-work-for-each-principal.md)); without, all who
//! ask count as one.
//!
//! Work takes a *turn* while a conversation is loaded, searched, read back from the log, made into an answer,
//! imported or copied. Of [`WORK_AT_ONCE_MAX`] turns, heavy work may take only a few, so that there is always
//! one for light work. Sending takes no turn: an answer waits in a file. Whoever waits (for a turn, for a
//! reader, for an event) is *open*: that costs next to nothing and is counted against larger bounds.
//! Publishing and viewing over sockets take no turns and never wait for them (invariant I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::UseCounts;
use compact_str::CompactString;
use model::View;
use model::limits::{
    ANSWER_AWAITED_MS, LARGE_ANSWERS_AT_ONCE_MAX, LARGE_BODIES_AT_ONCE_MAX, LARGE_VIEW_BYTES,
    PIECES_AT_ONCE_MAX, REQUESTS_WAITING_MAX, REQUESTS_WAITING_PER_PRINCIPAL_MAX, SEARCHES_AT_ONCE_MAX,
    SPOOL_BYTES_MAX, STREAMS_OPEN_MAX, STREAMS_OPEN_PER_PRINCIPAL_MAX, TRANSFERS_OPEN_MAX,
    TRANSFERS_OPEN_PER_PRINCIPAL_MAX, WORK_AT_ONCE_MAX,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;

use crate::access::{Seat, seat};
use crate::priority::{ThreadPriority, Threads};

use callers::CallerWaiting;

pub(crate) mod callers;

/// How long an answer or a copy may wait for its turn.
pub(crate) const TURN: Duration = Duration::from_millis(ANSWER_AWAITED_MS);

/// The kind of work for which a turn is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// A search in the log.
    Search,
    /// Work on a whole conversation of [`LARGE_VIEW_BYTES`] bytes or more.
    Large,
    /// The next piece of an answer that is made while it is sent.
    Piece,
    /// Any other work.
    Small,
}

impl Task {
    /// The kind of work on so many bytes.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        if bytes < LARGE_VIEW_BYTES { Self::Small } else { Self::Large }
    }

    /// The kind of work on a whole view. Walks all items of the view.
    pub(crate) fn of(view: &View) -> Self {
        let messages = view.messages.values().map(|message| {
            let files = message.files.iter().map(|file| usize::try_from(file.bytes).unwrap_or(usize::MAX));
            files.fold(message.text.len(), usize::saturating_add)
        });
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

/// The kinds of requests that may be open in bounded numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenKind {
    /// A request that waits for its turn, or whose answer is being made.
    Request,
    /// An answer or an import in a file, while its bytes are on their way.
    Transfer,
    /// A stream without an end, or a request that waits for something to happen.
    Stream,
}

/// A turn. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Turn {
    /// One of the turns of this kind; `None` for small work.
    _own: Option<OwnedSemaphorePermit>,
    /// One of all turns.
    _all: Option<OwnedSemaphorePermit>,
}

/// A place among those that are open. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Open {
    /// The place among those of all.
    _place: OwnedSemaphorePermit,
    /// The place among those of its principal; `None` where there is no principal with a share.
    _share: Option<Seat<CompactString>>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenRefusal {
    /// All places are taken.
    All,
    /// The principal has as many as it may.
    Share,
}

/// The places of one kind.
#[derive(Debug)]
struct Places {
    all: Arc<Semaphore>,
    /// The places that each principal has taken.
    shares: Arc<Mutex<UseCounts<CompactString>>>,
}

impl Places {
    /// Makes `max` places, of which a principal may take `share` at a time.
    fn new(max: usize, share: u32) -> Self {
        Self { all: Arc::new(Semaphore::new(max)), shares: Arc::new(Mutex::new(UseCounts::new(share))) }
    }

    /// Takes a place for the principal for whom this task works.
    fn take(&self) -> Result<Open, OpenRefusal> {
        let share = callers::current()
            .map(|caller| seat(&self.shares, caller).ok_or(OpenRefusal::Share))
            .transpose()?;
        let place = Arc::clone(&self.all).try_acquire_owned().map_err(|_taken| OpenRefusal::All)?;
        Ok(Open { _place: place, _share: share })
    }
}

/// The bounds of work on request. One set for each hub.
#[derive(Debug)]
pub(crate) struct Work {
    /// The turns of all kinds of work.
    all: Arc<Semaphore>,
    /// The turns among them that searches may take.
    searches: Arc<Semaphore>,
    /// The turns that work on large conversations may take.
    large: Arc<Semaphore>,
    /// The turns that pieces of answers may take.
    pieces: Arc<Semaphore>,
    /// The turns for publishing large bodies. They are separate, because publishing must wait for nothing
    /// else.
    pub(crate) bodies: Arc<Semaphore>,
    /// The places for open requests.
    requests: Places,
    /// The places for transfers.
    transfers: Places,
    /// The places for streams.
    streams: Places,
    /// The principals whose requests wait for turns.
    callers: Arc<callers::Callers>,
    /// How many bytes of answers and bodies lie in files, bounded by `SPOOL_BYTES_MAX`.
    spooled: AtomicU64,
    /// The threads that do the work, at a lower priority than those that serve sockets.
    threads: Threads,
    /// The threads that read, write and close the files in which answers and bodies wait. They are others, because work
    /// may take all of the first ones for seconds, and whoever takes an answer must not wait for that.
    files: Threads,
}

/// How many threads there are at most: one for each turn.
const AT_ONCE: usize = WORK_AT_ONCE_MAX + LARGE_BODIES_AT_ONCE_MAX;

/// How many threads there are at most for files. What they do is copying, so more would not be faster.
const FILES_AT_ONCE: usize = 2;

impl Default for Work {
    fn default() -> Self {
        let so_many = |count| Arc::new(Semaphore::new(count));
        Self {
            all: so_many(WORK_AT_ONCE_MAX),
            searches: so_many(SEARCHES_AT_ONCE_MAX),
            large: so_many(LARGE_ANSWERS_AT_ONCE_MAX),
            pieces: so_many(PIECES_AT_ONCE_MAX),
            bodies: so_many(LARGE_BODIES_AT_ONCE_MAX),
            requests: Places::new(REQUESTS_WAITING_MAX, REQUESTS_WAITING_PER_PRINCIPAL_MAX),
            transfers: Places::new(TRANSFERS_OPEN_MAX, TRANSFERS_OPEN_PER_PRINCIPAL_MAX),
            streams: Places::new(STREAMS_OPEN_MAX, STREAMS_OPEN_PER_PRINCIPAL_MAX),
            callers: Arc::default(),
            spooled: AtomicU64::new(0),
            // Without tasks of their own; a runtime has one thread for them at least.
            threads: Threads::new("worker", ThreadPriority::Asked, 1, AT_ONCE),
            files: Threads::new("files", ThreadPriority::Asked, 1, FILES_AT_ONCE),
        }
    }
}

impl Work {
    /// Runs `work` on a thread of lower priority than those that serve sockets. It is finished even if the
    /// handle is dropped. Take a turn before: more work than turns waits for a thread.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.threads.run(work)
    }

    /// Does something with a file, on a thread of lower priority than those that serve sockets. Closing counts: the kernel
    /// takes some 25 ms to give up the pages of an unnamed file of 200 MiB.
    pub(crate) fn file<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.files.run(work)
    }

    /// Waits for a turn. Turns are given in the order in which they were asked for; where several principals wait, to one of each in turn.
    /// May be cancelled.
    pub(crate) async fn turn(&self, task: Task) -> Turn {
        let own = match task {
            Task::Search => Some(&self.searches),
            Task::Large => Some(&self.large),
            Task::Piece => Some(&self.pieces),
            Task::Small => None,
        };
        let caller = self.callers.of_task();
        // None of the semaphores is ever closed, so all give a permit.
        let own = match own {
            Some(own) => {
                let _standing = stand(caller.as_ref(), Some(task)).await;
                Arc::clone(own).acquire_owned().await.ok()
            }
            None => None,
        };
        let _standing = stand(caller.as_ref(), None).await;
        let all = Arc::clone(&self.all).acquire_owned().await.ok();
        Turn { _own: own, _all: all }
    }

    /// Waits for a turn for at most `time`; `None` if it does not come.
    pub(crate) async fn turn_within(&self, task: Task, time: Duration) -> Option<Turn> {
        tokio::time::timeout(time, self.turn(task)).await.ok()
    }

    /// Takes a place for one more open request of the principal for whom this task works. Fails if all are taken, or all of its share.
    pub(crate) fn open(&self, guest: OpenKind) -> Result<Open, OpenRefusal> {
        let places = match guest {
            OpenKind::Request => &self.requests,
            OpenKind::Transfer => &self.transfers,
            OpenKind::Stream => &self.streams,
        };
        places.take()
    }

    /// Takes room for `bytes` in files; false if there is not so much, of `SPOOL_BYTES_MAX` in all.
    pub(crate) fn spool(&self, bytes: u64) -> bool {
        let taken = self.spooled.fetch_add(bytes, Ordering::Relaxed);
        let fits = taken.saturating_add(bytes) <= SPOOL_BYTES_MAX;
        if !fits {
            self.unspool(bytes);
        }
        fits
    }

    /// Gives room in files back.
    pub(crate) fn unspool(&self, bytes: u64) {
        self.spooled.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Waits until `caller` may stand in a queue; at once where it has no name.
async fn stand(caller: Option<&CallerWaiting>, task: Option<Task>) -> Option<SemaphorePermit<'_>> {
    match caller {
        Some(caller) => caller.stand(task).await,
        None => None,
    }
}

#[cfg(test)]
mod tests;
