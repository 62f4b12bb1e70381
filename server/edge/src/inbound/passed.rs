//! The mark of answers that come from an upstream. `proxy` sets it and `guard` reads it.

/// An extension of answers that come from an upstream: no headers are added to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FromUpstream;
