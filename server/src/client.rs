//! Clients of a hub: where it is ([`HubAddress`]), publishing to it over HTTP ([`Publisher`]), viewing it ([`Session`]).
//! The commands, the demo, the tests and the benches all use these, so they go through the same public doors as
//! everybody else.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

mod address;
mod download;
mod link;
mod publisher;
mod session;

pub use address::{AddressError, HubAddress};
pub use download::download;
pub use publisher::{PublishError, Publisher, Taken};
pub use session::{Session, SessionError, Update};

/// Any number, for spreading clients in time; not for secrets.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests;
