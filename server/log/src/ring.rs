//! The newest events of a conversation, bounded in bytes and in number. All viewers read from it; none has a queue. The
//! log in memory keeps the same.

use std::collections::VecDeque;
use std::sync::Arc;

use model::limits::{RING_BYTES_MAX, RING_EVENTS_MAX};
use model::{Envelope, Seq};

/// An event, and all the bytes up to its end since the epoch began.
#[derive(Debug)]
struct Entry {
    envelope: Arc<Envelope>,
    end: u64,
}

/// Events without a hole: the newest ones, as many as the bounds allow, at least the last.
#[derive(Debug)]
pub struct Ring {
    entries: VecDeque<Entry>,
    /// Where the first entry begins, in bytes since the epoch began.
    start: u64,
    /// The seq of the first entry; that of the next one while it is empty.
    first: Seq,
    bytes_max: u64,
    events_max: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self::bounded(RING_BYTES_MAX, RING_EVENTS_MAX)
    }
}

impl Ring {
    /// An empty ring with these bounds.
    pub fn bounded(bytes_max: usize, events_max: usize) -> Self {
        Self { entries: VecDeque::new(), start: 0, first: 1, bytes_max: bytes_max as u64, events_max }
    }

    /// An empty ring whose first event will be the one after `seq`.
    pub fn after_seq(seq: Seq) -> Self {
        Self { first: seq + 1, ..Self::default() }
    }

    /// What the events in it weigh.
    fn bytes(&self) -> u64 {
        self.end() - self.start
    }

    /// About the memory that it holds, in bytes.
    pub fn held(&self) -> u64 {
        const EACH: u64 = (size_of::<Entry>() + size_of::<Envelope>() + 2 * size_of::<usize>()) as u64;
        self.bytes() + self.entries.len() as u64 * EACH
    }

    /// Adds the next event, which weighs `bytes`, and drops what is over the bounds.
    pub fn push(&mut self, envelope: Arc<Envelope>, bytes: usize) {
        let end = self.end() + bytes as u64;
        self.entries.push_back(Entry { envelope, end });
        while self.entries.len() > 1
            && (self.entries.len() > self.events_max || end - self.start > self.bytes_max)
        {
            let Some(dropped) = self.entries.pop_front() else { break };
            self.start = dropped.end;
            self.first += 1;
        }
    }

    fn end(&self) -> u64 {
        self.entries.back().map_or(self.start, |entry| entry.end)
    }

    /// All events after this seq are here.
    pub fn begins_after(&self) -> Seq {
        self.first - 1
    }

    /// The newest seq.
    pub(crate) fn head(&self) -> Seq {
        self.begins_after() + self.entries.len() as Seq
    }

    /// Whether all events after `seq` are here. `seq` must not be after the newest.
    pub fn reaches(&self, seq: Seq) -> bool {
        seq >= self.begins_after()
    }

    /// Up to `limit` events after `seq`, which the ring must reach.
    pub fn page(&self, seq: Seq, limit: usize) -> Vec<Arc<Envelope>> {
        let entries = self.entries.iter().skip(self.index(seq)).take(limit);
        entries.map(|entry| Arc::clone(&entry.envelope)).collect()
    }

    /// The index of the event after `seq`.
    fn index(&self, seq: Seq) -> usize {
        usize::try_from((seq + 1).saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// What the events after `seq` weigh.
    pub fn bytes_after(&self, seq: Seq) -> u64 {
        let before = match self.index(seq).checked_sub(1) {
            Some(last_had) => self.entries.get(last_had).map_or(self.end(), |entry| entry.end),
            None => self.start,
        };
        self.end() - before
    }

    /// The events after `seq`: one at least if there is one, then as many as fit into `bytes_max`.
    pub fn after(&self, seq: Seq, bytes_max: usize) -> Vec<Arc<Envelope>> {
        let from = self.index(seq);
        let Some(first) = self.entries.get(from) else { return Vec::new() };
        let stop = first.end + bytes_max as u64;
        let entries = self.entries.range(from..).take_while(|entry| entry.end <= stop);
        entries.map(|entry| Arc::clone(&entry.envelope)).collect()
    }
}
