//! Cancels a query of the log from another thread: when its time is up, or when nobody waits for it any more.
//!
//! ```text
//! whoever waits     Arc<Stop> ──now()──▶ is_stopped, and the statement that runs is interrupted
//! the query         looks at is_stopped between two steps; holds a Running guard while a statement runs
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Interrupts the statement that runs on a connection. Does not wait.
pub(crate) type Interrupt = Box<dyn Fn() + Send>;

/// A handle with which another thread cancels one query. A query that was cancelled before it began does
/// nothing. Each query needs a handle of its own. Dropping the handle does not cancel the query, see
/// [`StopOnDrop`].
#[derive(Default)]
pub struct Stop {
    is_stopped: AtomicBool,
    /// The connection that the query runs on, while it does.
    running: Mutex<Option<Interrupt>>,
}

impl Stop {
    /// Cancels the query; a statement that runs is interrupted.
    pub fn now(&self) {
        let running = self.running.lock();
        self.is_stopped.store(true, Ordering::Release);
        if let Some(running) = &*running {
            running();
        }
    }

    /// Whether [`Stop::now`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Notes that the query runs on a connection that `interrupt` interrupts, until the returned guard is dropped. After
    /// that the connection is not interrupted: another query may use it.
    pub(crate) fn runs(&self, interrupt: Interrupt) -> Running<'_> {
        *self.running.lock() = Some(interrupt);
        Running(self)
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stop").field("is_stopped", &self.is_stopped).finish_non_exhaustive()
    }
}

/// A guard for the time in which a query runs. Dropping it detaches the connection from its [`Stop`].
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Stop);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() = None;
    }
}

/// Cancels a query when it is dropped. Whoever waits for the answer holds it, so that a client that leaves
/// ends its search.
#[derive(Debug)]
pub struct StopOnDrop(pub Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}
