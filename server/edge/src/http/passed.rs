//! What marks an answer as an upstream's own.

/// Marks an answer that is not the hub's own: nothing is added to it on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed;
