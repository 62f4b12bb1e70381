//! Sinks of a provider's raw events, as a file that describes the provider sets them.

use super::Filled;

/// A sink of a provider's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSink {
    /// The target that events are written to.
    pub target: StreamTarget,
    /// Most events that wait for it; beyond them, events are lost to it.
    pub events_max: usize,
}

/// The targets of the raw events of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamTarget {
    /// A file with one event per line.
    File(StreamFile),
    /// A WebSocket that gets one event per message.
    Socket(StreamSocket),
}

/// A file with one event per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFile {
    /// The path; `{thread_id}` in it stands for the name of the conversation.
    pub path: Filled,
    /// The size in bytes at which it is rotated; `None` for never.
    pub max_bytes: Option<u64>,
    /// The number of older files that are kept.
    pub keep: usize,
}

/// A WebSocket that gets one event per message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSocket {
    /// The address of the WebSocket.
    pub url: Filled,
    /// How many more attempts are made to open it.
    pub attempts: u32,
    /// Whether events wait while it is not open; otherwise they are lost.
    pub waits: bool,
}
