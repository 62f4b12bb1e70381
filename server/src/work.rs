//! How much the hub does at the same time for those who ask for much: searches, and answers that are made of a whole conversation.
//! The hub listens on one machine, so all who ask are one client to it; these bounds hold for all of them together. Publishing
//! and viewing do not go through here and never wait for it (invariant I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shared::limits::{
    LARGE_ANSWERS_AT_ONCE_MAX, LARGE_BODIES_AT_ONCE_MAX, SEARCHES_AT_ONCE_MAX, SMALL_ANSWERS_AT_ONCE_MAX,
    SPOOL_BYTES_MAX,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::rank::{Rank, Threads};

/// The bounds of work that is done on request, one set for each hub.
#[derive(Debug)]
pub(crate) struct Work {
    /// Whose turn it is to search.
    pub(crate) searches: Arc<Semaphore>,
    /// Whose turn it is to make an answer of a large conversation.
    pub(crate) large: Arc<Semaphore>,
    /// Whose turn it is to make an answer of any other one: the large ones do not hold them up.
    pub(crate) small: Arc<Semaphore>,
    /// Whose turn it is to publish a large body.
    pub(crate) bodies: Arc<Semaphore>,
    /// Bytes of answers that lie in files until they are sent.
    spooled: AtomicU64,
    /// Where all of it is done: behind the threads that serve sockets.
    threads: Threads,
}

/// How much is done at the same time: as much as may have its turn. Importing has none, it waits for a thread.
const AT_ONCE: usize = SEARCHES_AT_ONCE_MAX
    + LARGE_ANSWERS_AT_ONCE_MAX
    + SMALL_ANSWERS_AT_ONCE_MAX
    + LARGE_BODIES_AT_ONCE_MAX
    + 1;

impl Default for Work {
    fn default() -> Self {
        Self {
            searches: Arc::new(Semaphore::new(SEARCHES_AT_ONCE_MAX)),
            large: Arc::new(Semaphore::new(LARGE_ANSWERS_AT_ONCE_MAX)),
            small: Arc::new(Semaphore::new(SMALL_ANSWERS_AT_ONCE_MAX)),
            bodies: Arc::new(Semaphore::new(LARGE_BODIES_AT_ONCE_MAX)),
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
