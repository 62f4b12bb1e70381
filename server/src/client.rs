//! Clients of a hub: where it is ([`HubAddress`]), publishing to it over HTTP ([`Publisher`]) or over WebSocket and exactly
//! once ([`Courier`]), viewing it ([`Session`]).
//! The commands, the demo, the tests and the benches all use these, so they go through the same public doors as
//! everybody else.

mod address;
mod comeback;
mod courier;
mod download;
mod link;
mod publisher;
mod session;
mod spool;

pub use address::{AddressError, HubAddress};
pub use courier::{Absence, Courier, CourierError, KEPT_BYTES_MAX, News, Standing, WINDOW_BYTES_MAX};
pub use download::download;
pub use publisher::{PublishError, Publisher, Taken};
pub use session::{Session, SessionError, Update};
pub use spool::{Spool, SpoolStanding};

#[cfg(test)]
mod tests;
