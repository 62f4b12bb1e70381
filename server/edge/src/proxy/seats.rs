//! The bound on `WebSocket`s through the proxy: at most `PROXY_SOCKETS_MAX` at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::limits::PROXY_SOCKETS_MAX;

/// Counts the open `WebSocket`s.
#[derive(Debug, Default)]
pub(super) struct ProxySockets(Arc<AtomicUsize>);

/// The place of one `WebSocket`. Dropping it gives the place back.
#[derive(Debug)]
pub(super) struct SocketPlace(Arc<AtomicUsize>);

impl ProxySockets {
    /// Takes a place; `None` if there are as many as may be.
    pub(super) fn place(&self) -> Option<SocketPlace> {
        let place = SocketPlace(Arc::clone(&self.0));
        // Counted before the check, so that two cannot take the last place. If it does not fit, dropping it
        // gives it back.
        (self.0.fetch_add(1, Ordering::Relaxed) < PROXY_SOCKETS_MAX).then_some(place)
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
