//! Headless clients of a hub: where it is ([`HubAddress`]), publishing to it over HTTP ([`HttpPublisher`]) or over WebSocket and exactly
//! once ([`Courier`]), viewing it ([`ViewerSession`]).
//!
//! The commands, the demo, the sink into another hub and the tests all use these, so they go through the same public doors as
//! everybody else.
//!
//! The crate must never know how a hub works inside, and nothing of dialects: it sends and receives what `docs/protocol.md` describes. It names
//! `model` and `upstream` and no other crate of the workspace. It keeps nothing on disk but the spool, whose files have no names.
//!
//! Reading order: `address` → `http` → `publisher` and `download` → `link` (one WebSocket) → `session` (viewing) → `comeback` →
//! `courier` (publishing: `ledger` says what is sent next, `window` keeps the events, `line` is the socket) → `spool`.

mod address;
mod courier;
mod download;
mod http;
mod link;
mod publisher;
mod reconnection;
mod session;
mod spool;

pub use address::{AddressError, HubAddress};
pub use courier::{
    Courier, CourierError, CourierEvent, CourierStatus, HubAbsence, KEPT_BYTES_MAX, WINDOW_BYTES_MAX,
};
pub use download::download;
pub use publisher::{HttpPublisher, PublishError, PublishReceipt};
pub use session::{SessionError, SessionUpdate, ViewerSession};
pub use spool::{Spool, SpoolStatus};

#[cfg(test)]
mod tests;
