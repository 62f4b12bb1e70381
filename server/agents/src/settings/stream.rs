//! Where raw events of a provider go besides, as a file that describes the provider says.

use super::Filled;

/// A sink of a provider's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSink {
    /// Where to.
    pub target: StreamTarget,
    /// Most events that wait for it; more are lost to it.
    pub events_max: usize,
}

/// See [`StreamSink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamTarget {
    /// A file.
    File(StreamFile),
    /// A WebSocket.
    Socket(StreamSocket),
}

/// A file with one event a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFile {
    /// The file; `{thread_id}` in it stands for the conversation.
    pub path: Filled,
    /// The size at which it is renamed.
    pub max_bytes: Option<u64>,
    /// How many older ones are kept.
    pub keep: usize,
}

/// A WebSocket that is sent one event a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSocket {
    /// Its address.
    pub url: Filled,
    /// How often it is tried again to open it.
    pub attempts: u32,
    /// What comes while it is not open waits for it.
    pub waits: bool,
}
