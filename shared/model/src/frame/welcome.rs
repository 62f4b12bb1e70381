//! What the hub says first over a socket: the bounds that a client can run into, and when something counts as silent.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// What the hub says first over a socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    /// The version that is spoken from here on.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub version: CompactString,
    /// The name of this socket, for the hub's trace.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub session: CompactString,
    /// When the hub wrote the frame, in milliseconds since 1970.
    pub ts: u64,
    /// Between two heartbeats, in milliseconds.
    pub hb_ms: u64,
    /// The bounds that a client can run into.
    pub limits: Limits,
    /// What this hub offers beyond the core.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub features: Vec<CompactString>,
    /// When runs and calls count as silent or stuck; an older hub says nothing, which means the defaults.
    #[serde(default)]
    pub silence: SilenceThresholds,
}

/// After how long nothing was heard of something that runs the page says so. 0 is never. They only choose words and order: the hub ends
/// nothing by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SilenceThresholds {
    /// How long no event must arrive in a run that waits neither for a person nor for a call before it is silent, in milliseconds.
    pub silent_ms: u64,
    /// How long a run must be silent before it needs a person, in milliseconds.
    pub silent_long_ms: u64,
    /// How long a call must execute before it is stuck, in milliseconds.
    pub stuck_ms: u64,
}

impl Default for SilenceThresholds {
    fn default() -> Self {
        use crate::limits::{SILENT_LONG_MS, SILENT_MS, STUCK_MS};
        Self { silent_ms: SILENT_MS, silent_long_ms: SILENT_LONG_MS, stuck_ms: STUCK_MS }
    }
}

/// The bounds that a client can run into; see [`crate::limits`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "each is named as in crate::limits")]
pub struct Limits {
    pub inbound_frame_bytes: u64,
    pub subscriptions_per_socket: u64,
    pub events_per_publish: u64,
    pub part_bytes: u64,
    pub ring_bytes: u64,
    pub ring_events: u64,
    #[serde(default)]
    pub snapshot_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inbound_frame_bytes: crate::limits::INBOUND_FRAME_BYTES_MAX as u64,
            subscriptions_per_socket: crate::limits::SUBSCRIPTIONS_PER_SOCKET_MAX as u64,
            events_per_publish: crate::limits::EVENTS_PER_PUBLISH_MAX as u64,
            part_bytes: crate::limits::PART_BYTES_MAX as u64,
            ring_bytes: crate::limits::RING_BYTES_MAX as u64,
            ring_events: crate::limits::RING_EVENTS_MAX as u64,
            snapshot_bytes: crate::limits::SNAPSHOT_BYTES_TARGET as u64,
        }
    }
}
