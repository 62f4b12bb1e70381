//! The places of `WebSocket`s that pass through the proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::limits::PROXY_SOCKETS_MAX;

/// How many `WebSocket`s are open.
#[derive(Debug, Default)]
pub(super) struct Sockets(Arc<AtomicUsize>);

/// The place of one, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicUsize>);

impl Sockets {
    /// A place for one more; nothing when there are as many as may be.
    pub(super) fn seat(&self) -> Option<Seat> {
        let seat = Seat(Arc::clone(&self.0));
        // Counted before it is looked at, so that two do not take the last one; dropped, it is given back.
        (self.0.fetch_add(1, Ordering::Relaxed) < PROXY_SOCKETS_MAX).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
