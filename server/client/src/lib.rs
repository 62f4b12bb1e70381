//! Clients of a hub: its address ([`HubAddress`]), publishing over HTTP ([`HttpPublisher`]) or over WebSocket
//! and exactly once ([`Courier`]), and viewing ([`ViewerSession`]).
//!
//! The commands, the demo, the sink into another hub and the tests use these clients, so they all use the
//! same public endpoints as everybody else.
//!
//! The crate does not know how a hub works inside, nor any dialect: it sends and receives what
//! `docs/protocol.md` describes. It depends on `model` and `upstream` and no other crate of the workspace. It
//! writes nothing to disk except for the spool, whose files have no names.
//!
//! Reading order: `address` → `egress` (the way out that they share) → `http` → `publisher`, `download` and `request` → `link` (one WebSocket) → `session`
//! (viewing) → `reconnection` → `courier` (publishing: `ledger` says what is sent next, `window` keeps the
//! events, `line` is the socket) → `spool`.

mod address;
mod courier;
mod download;
mod egress;
mod http;
mod link;
mod publisher;
mod reconnection;
mod request;
mod session;
mod spool;

pub use address::{AddressError, HubAddress};
pub use courier::{
    Courier, CourierError, CourierEvent, CourierStatus, HubAbsence, KEPT_BYTES_MAX, WINDOW_BYTES_MAX,
};
pub use download::download;
pub use link::{HubLink, HubLinkError, SocketClosed};
pub use publisher::{HttpPublisher, PublishError, PublishReceipt};
pub use request::{HubAnswer, post};
pub use session::{SessionError, SessionUpdate, ViewerSession};
pub use spool::{Spool, SpoolStatus};

#[cfg(test)]
mod tests;
