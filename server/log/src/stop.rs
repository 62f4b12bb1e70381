//! How a query that reads the log is ended from elsewhere: when its time is up, or when nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rusqlite::InterruptHandle;

/// One query, as those know it who may end it. A query that was stopped before it began does nothing.
#[derive(Default)]
pub struct Stop {
    is_stopped: AtomicBool,
    /// The connection that the query runs on, while it does.
    running: Mutex<Option<InterruptHandle>>,
}

impl Stop {
    /// Ends the query: a statement that runs is interrupted.
    pub fn now(&self) {
        let running = self.running.lock();
        self.is_stopped.store(true, Ordering::Release);
        if let Some(running) = &*running {
            running.interrupt();
        }
    }

    /// Whether it was ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// The query runs on the connection of `handle` from here on, until what comes back is dropped: after that nobody interrupts
    /// the connection, which others use then.
    pub(crate) fn runs(&self, handle: InterruptHandle) -> Running<'_> {
        *self.running.lock() = Some(handle);
        Running(self)
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stop").field("is_stopped", &self.is_stopped).finish_non_exhaustive()
    }
}

/// See [`Stop::runs`].
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Stop);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() = None;
    }
}

/// Ends a query when it is dropped: held by whoever waits for it.
#[derive(Debug)]
pub struct StopOnDrop(pub Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}
