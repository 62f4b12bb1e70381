//! Whose work it is, and the share that each principal has of it. A request, the body of its answer and a command carry the name of their
//! principal along. Where access control is off, and for what the hub does by itself, there is no name and no share.
//!
//! ```text
//! request ─▶ on_behalf(name, …) ─▶ Work::open: half of the places at most
//!                                └▶ Work::turn: one of its requests at a time stands in each queue
//! ```
//!
//! Since each principal stands in a queue once, turns go round the principals that wait, however many requests each of them has. A principal that is alone
//! takes all turns there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Task;

tokio::task_local! {
    /// The principal for whom this task works now.
    static CALLER: Option<CompactString>;
}

/// The principal for whom this task works now, if it has a share.
pub(crate) fn current() -> Option<CompactString> {
    CALLER.try_with(Option::clone).ok().flatten()
}

/// Does `work` for `caller`. May be cancelled.
pub(crate) async fn on_behalf<F: Future>(caller: Option<CompactString>, work: F) -> F::Output {
    CALLER.scope(caller, work).await
}

/// Does `work`, which waits for nothing, for `caller`.
pub(crate) fn on_behalf_now<T>(caller: Option<CompactString>, work: impl FnOnce() -> T) -> T {
    CALLER.sync_scope(caller, work)
}

/// Where the requests of one principal wait until they may stand in the queue of all: one at a time for each queue.
#[derive(Debug)]
struct CallerQueues {
    all: Semaphore,
    searches: Semaphore,
    large: Semaphore,
    pieces: Semaphore,
}

impl Default for CallerQueues {
    fn default() -> Self {
        let one = || Semaphore::new(1);
        Self { all: one(), searches: one(), large: one(), pieces: one() }
    }
}

/// The principals that wait for turns now. One set for each hub, owned by [`super::Work`]; the lock is held for moments.
#[derive(Debug, Default)]
pub(super) struct Callers {
    by: Mutex<BTreeMap<CompactString, Arc<CallerQueues>>>,
}

impl Callers {
    /// The queues of the principal for whom this task works. `None` where it has no name.
    pub(super) fn of_task(self: &Arc<Self>) -> Option<CallerWaiting> {
        let caller = current()?;
        let queues = Arc::clone(self.by.lock().entry(caller.clone()).or_default());
        Some(CallerWaiting { among: Arc::clone(self), caller, queues: Some(queues) })
    }

    /// The number of principals that wait.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.by.lock().len()
    }
}

/// A principal that waits. Dropping it forgets the principal's queues if nobody else of it waits.
#[derive(Debug)]
pub(super) struct CallerWaiting {
    among: Arc<Callers>,
    caller: CompactString,
    /// `None` once it is dropped.
    queues: Option<Arc<CallerQueues>>,
}

impl CallerWaiting {
    /// Waits until no other request of this principal stands in the queue of `task`, or in that of all turns where `task` is `None`. Dropping
    /// the permit lets the next one stand there.
    pub(super) async fn stand(&self, task: Option<Task>) -> Option<SemaphorePermit<'_>> {
        let queues = self.queues.as_ref()?;
        let queue = match task {
            None | Some(Task::Small) => &queues.all,
            Some(Task::Search) => &queues.searches,
            Some(Task::Large) => &queues.large,
            Some(Task::Piece) => &queues.pieces,
        };
        // Never closed.
        queue.acquire().await.ok()
    }
}

impl Drop for CallerWaiting {
    fn drop(&mut self) {
        let mut by = self.among.by.lock();
        self.queues = None;
        // Others are made with the lock only, so one that is alone stays so.
        if by.get(&self.caller).is_some_and(|queues| Arc::strong_count(queues) == 1) {
            by.remove(&self.caller);
        }
    }
}
