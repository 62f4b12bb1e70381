//! What everybody shares who answers requests: who calls, with which parameters, failures as clients see them, the guard against pages
//! of other origins, and the connection that an answer goes out on.
//!
//! It is below `http`, `proxy` and `ws` and names none of them, nor the state of the hub: what it needs of the settings it takes as its
//! state.

pub(crate) mod caller;
pub(crate) mod guard;
pub(crate) mod params;
pub(crate) mod passed;
pub(crate) mod patience;
pub(crate) mod problem;
pub(crate) mod request_span;
