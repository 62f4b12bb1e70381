//! The newest events of a conversation, bounded in bytes and in number. All viewers read from it; none has a queue. The
//! log in memory keeps the same.

use std::collections::VecDeque;
use std::sync::Arc;

use model::limits::{RING_BYTES_MAX, RING_EVENTS_MAX};
use model::{Envelope, Seq};

/// One event of a ring. `end` counts the bytes of all events up to and with this one since the epoch began, so that a difference
/// of two ends is what lies between them.
#[derive(Debug)]
struct Entry {
    envelope: Arc<Envelope>,
    end: u64,
}

/// The newest events of one conversation, without a hole: as many as both bounds allow, the last one always. The conversation
/// owns it, under its lock; readers get clones of the `Arc`s, so that an event lives on while somebody still writes it out.
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
    /// An empty ring that holds at most `bytes_max` bytes and `events_max` events.
    pub fn bounded(bytes_max: usize, events_max: usize) -> Self {
        Self { entries: VecDeque::new(), start: 0, first: 1, bytes_max: bytes_max as u64, events_max }
    }

    /// An empty ring whose first event will be the one after `seq`.
    pub fn after_seq(seq: Seq) -> Self {
        Self { first: seq + 1, ..Self::default() }
    }

    /// What the events in the ring weigh, in bytes.
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
        self.cut(self.bytes_max);
    }

    /// Drops the oldest events until the others weigh `bytes_max` at most; the last one stays. The memory is given back.
    pub fn keep_newest(&mut self, bytes_max: usize) {
        if self.bytes() > bytes_max as u64 {
            self.cut(bytes_max as u64);
            self.entries.shrink_to_fit();
        }
    }

    fn cut(&mut self, bytes_max: u64) {
        while self.entries.len() > 1 && (self.entries.len() > self.events_max || self.bytes() > bytes_max) {
            let Some(dropped) = self.entries.pop_front() else { break };
            self.start = dropped.end;
            self.first += 1;
        }
    }

    fn end(&self) -> u64 {
        self.entries.back().map_or(self.start, |entry| entry.end)
    }

    /// The seq before the first event of the ring: every event after it is here.
    pub fn begins_after(&self) -> Seq {
        self.first - 1
    }

    /// The seq of the newest event; that before the next one while the ring is empty.
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
