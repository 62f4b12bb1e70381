//! Counts connections and bodies that were cut since they came too slowly.

use hub::Counter;

/// Connections that brought no whole head of a first request in time.
pub(crate) static HEADS: Counter = Counter::new();

/// Connections that did not agree on TLS in time.
pub(crate) static HANDSHAKES: Counter = Counter::new();

/// Connections over HTTP/2 that were cut since they had no open stream for too long.
pub(crate) static STREAMLESS: Counter = Counter::new();

/// Bodies of strangers that did not come in time.
pub(crate) static BODIES: Counter = Counter::new();

/// All of these with the words for them in metrics.
pub(crate) static ALL: [(&str, &Counter); 4] =
    [("head", &HEADS), ("tls", &HANDSHAKES), ("http2", &STREAMLESS), ("body", &BODIES)];
