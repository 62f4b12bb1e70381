//! How the task of one socket is woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

/// Wakes one task. Does what `tokio::sync::Notify` does for a single waiter, but the task needs no room for a place in a queue, and each
/// idle socket has such a task.
#[derive(Debug, Default)]
pub struct TaskWake {
    is_called: AtomicBool,
    waker: AtomicWaker,
}

impl TaskWake {
    /// Wakes the task. If it does not wait now, its next wait is over at once.
    pub fn notify_one(&self) {
        self.is_called.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Ready once for all calls since it was last ready. Only one task may wait: a second one takes its place.
    pub fn poll_notified(&self, context: &Context<'_>) -> Poll<()> {
        self.waker.register(context.waker());
        if self.is_called.swap(false, Ordering::AcqRel) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests;
