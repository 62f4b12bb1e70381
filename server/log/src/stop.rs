//! Cancels a query of the log from another thread: when its time is up, or when nobody waits for it any more.
//!
//! ```text
//! whoever waits     Arc<QueryCancel> ──cancel()──▶ is_cancelled, and the statement that runs is interrupted
//! the query         looks at is_cancelled between two steps; holds an InterruptGuard while a statement runs
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Interrupts the statement that runs on a connection. Does not wait.
pub(crate) type Interrupt = Box<dyn Fn() + Send>;

/// A handle with which another thread cancels one query. A query that was cancelled before it began does
/// nothing. Each query needs a handle of its own. Dropping the handle does not cancel the query, see
/// [`CancelOnDrop`].
#[derive(Default)]
pub struct QueryCancel {
    is_cancelled: AtomicBool,
    is_hurried: AtomicBool,
    /// The connection that the query runs on, while it does.
    running: Mutex<Option<Interrupt>>,
}

impl QueryCancel {
    /// Cancels the query; a statement that runs is interrupted.
    pub fn cancel(&self) {
        let running = self.running.lock();
        self.is_cancelled.store(true, Ordering::Release);
        if let Some(running) = &*running {
            running();
        }
    }

    /// Asks the query to wait no longer for what the log has yet to write, and to do with what is there.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Release);
    }

    /// Whether [`QueryCancel::hurry`] or [`QueryCancel::cancel`] was called.
    pub(crate) fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Acquire) || self.is_cancelled()
    }

    /// Whether [`QueryCancel::cancel`] was called.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// Notes that the query runs on a connection that `interrupt` interrupts, until the returned guard is dropped. After
    /// that the connection is not interrupted: another query may use it.
    pub(crate) fn attach(&self, interrupt: Interrupt) -> InterruptGuard<'_> {
        *self.running.lock() = Some(interrupt);
        InterruptGuard(self)
    }
}

impl std::fmt::Debug for QueryCancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryCancel").field("is_cancelled", &self.is_cancelled).finish_non_exhaustive()
    }
}

/// A guard for the time in which a query runs. Dropping it detaches the connection from its [`QueryCancel`].
#[derive(Debug)]
pub(crate) struct InterruptGuard<'a>(&'a QueryCancel);

impl Drop for InterruptGuard<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() = None;
    }
}

/// Cancels a query when it is dropped. Whoever waits for the answer holds it, so that a client that leaves
/// ends its search.
#[derive(Debug)]
pub struct CancelOnDrop(pub Arc<QueryCancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
