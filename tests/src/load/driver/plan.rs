//! What a driver does, and what it says of it.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::load::histogram::Histogram;

/// How fast a publisher publishes.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// As fast as acks come: so many frames are ahead of them.
    Ahead(usize),
    /// So many events in a second, evenly.
    Rate(u64),
}

/// What a driver does.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Connections that publish, at most one for each conversation.
    pub publishers: u64,
    /// Conversations at the same time.
    pub conversations: u64,
    /// The number of the first of them.
    pub first: u64,
    /// Events of a frame.
    pub batch: u64,
    /// The pace of each publisher.
    pub pace: Pace,
    /// Events of a conversation, after which its run ends and another one begins.
    pub length: u64,
    /// Length of an event's text.
    pub text_bytes: usize,
}

/// What becomes of a driver that runs.
#[derive(Debug, Default)]
pub struct Wish(AtomicU8);

impl Wish {
    /// Nothing more is published; what is owed is awaited.
    pub fn end(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// The server is about to be killed: sockets may end.
    pub fn cut(&self) {
        self.0.store(2, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    pub(super) fn is_cut(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

/// What happened since somebody last took it away.
#[derive(Debug)]
pub struct Tally {
    /// From writing a frame to its ack, in microseconds.
    pub acks: Histogram,
    /// From writing an event to having read it, in microseconds.
    pub deliveries: Histogram,
    /// Events that were acked.
    pub acked: u64,
    /// Events that viewers have.
    pub delivered: u64,
    /// What was not as it must be.
    pub problems: Vec<String>,
}

impl Default for Tally {
    fn default() -> Self {
        let (acks, deliveries) = (Histogram::new(), Histogram::new());
        Self { acks, deliveries, acked: 0, delivered: 0, problems: Vec::new() }
    }
}

impl Tally {
    /// Notes what the hub refused. Of each code the first is enough.
    pub(super) fn refused(&mut self, payload: &[u8]) {
        let text = String::from_utf8_lossy(payload);
        let code = text
            .split_once(r#""code":"#)
            .map_or("", |(_, rest)| rest.split([',', '}']).next().unwrap_or(rest));
        if !self.problems.iter().any(|known| known.contains(code)) {
            self.problems.push(text.into_owned());
        }
    }
}

/// What is known of one conversation: deltas that were sent, and those of them that were acked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// Deltas that were sent.
    pub sent: u64,
    /// Deltas of frames that were acked.
    pub acked: u64,
}
