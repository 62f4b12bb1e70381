//! The way out that all clients of a process share, so that the machine's certificates are read once. It uses no
//! proxy of the environment: a hub is reached directly.

use std::sync::LazyLock;

use upstream::Egress;

/// The way to all hubs.
pub(super) static EGRESS: LazyLock<Egress> = LazyLock::new(Egress::direct);
