//! Clients of a hub: where it is ([`HubAddress`]) and how to publish to it over HTTP ([`Publisher`]). The commands, the
//! demo, the tests and the benches all use these, so they go through the same public doors as everybody else.

mod address;
mod publisher;

pub use address::{AddressError, HubAddress};
pub use publisher::{PublishError, Publisher, Taken};

#[cfg(test)]
mod tests;
