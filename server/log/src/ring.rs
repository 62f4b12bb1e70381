//! The ring: the newest events of a conversation, bounded in bytes and in number. All viewers read from it;
//! none has a queue. The log in memory uses the same type.

use std::collections::VecDeque;
use std::sync::Arc;

use model::limits::{RING_BYTES_MAX, RING_EVENTS_MAX};
use model::weigh::weigh;
use model::{Envelope, Seq};

/// One event of a ring. `end` counts the bytes of all events up to and including this one since the epoch
/// began, so the difference of two ends is the weight of the events between them.
#[derive(Debug)]
struct RingEntry {
    envelope: Arc<Envelope>,
    end: u64,
}

/// The newest events of one conversation, without a hole: as many as both bounds allow, and always at least
/// the newest one. The conversation owns it, under its lock. Readers get clones of the `Arc`s, so an event
/// that has left the ring lives as long as somebody still writes it out.
#[derive(Debug)]
pub struct Ring {
    /// The events, the oldest first.
    entries: VecDeque<RingEntry>,
    /// The bytes of all events since the epoch began that are no longer here.
    start: u64,
    /// The seq of the first event; while the ring is empty, the seq that the next one will have.
    first: Seq,
    /// Most bytes; a single larger event is kept all the same.
    bytes_max: u64,
    /// Most events that are kept.
    events_max: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self::bounded(RING_BYTES_MAX, RING_EVENTS_MAX)
    }
}

impl Ring {
    /// Makes an empty ring that holds at most `bytes_max` bytes and `events_max` events. Its first event has
    /// seq 1.
    pub fn bounded(bytes_max: usize, events_max: usize) -> Self {
        Self { entries: VecDeque::new(), start: 0, first: 1, bytes_max: bytes_max as u64, events_max }
    }

    /// Makes an empty ring with the usual bounds whose first event will be the one after `seq`.
    pub fn after_seq(seq: Seq) -> Self {
        Self::bounded_after(seq, RING_BYTES_MAX, RING_EVENTS_MAX)
    }

    /// Makes an empty ring of these bounds whose first event will be the one after `seq`.
    pub fn bounded_after(seq: Seq, bytes_max: usize, events_max: usize) -> Self {
        Self { first: seq + 1, ..Self::bounded(bytes_max, events_max) }
    }

    /// The weight of the events in the ring, in bytes.
    fn bytes(&self) -> u64 {
        self.end() - self.start
    }

    /// About the memory that it holds, in bytes.
    pub fn held(&self) -> u64 {
        const EACH: u64 = (size_of::<RingEntry>() + size_of::<Envelope>() + 2 * size_of::<usize>()) as u64;
        self.bytes() + self.entries.len() as u64 * EACH
    }

    /// Adds the next event, which weighs `bytes`, and drops the oldest ones beyond the bounds.
    pub fn push(&mut self, envelope: Arc<Envelope>, bytes: usize) {
        let end = self.end() + bytes as u64;
        self.entries.push_back(RingEntry { envelope, end });
        self.evict(self.bytes_max);
    }

    /// Puts `older` before the oldest event, as far back as both bounds allow. They must follow one another, and the oldest event must follow
    /// them; if not, nothing changes. Returns the weight of what was added, in bytes.
    pub fn prepend(&mut self, older: Vec<Arc<Envelope>>) -> u64 {
        let Some(first) = older.first().map(|envelope| envelope.seq) else { return 0 };
        let dense = (first..).zip(&older).all(|(seq, envelope)| envelope.seq == seq);
        if !dense || first + older.len() as Seq != self.first {
            return 0;
        }
        let before = self.bytes();
        let mut whole = Self { entries: VecDeque::new(), start: 0, first, ..*self };
        for envelope in older {
            let bytes = weigh(&envelope);
            whole.push(envelope, bytes);
        }
        let mut end = self.start;
        for entry in std::mem::take(&mut self.entries) {
            // What a ring holds fits into memory.
            let bytes = usize::try_from(entry.end - end).unwrap_or(usize::MAX);
            end = entry.end;
            whole.push(entry.envelope, bytes);
        }
        *self = whole;
        self.bytes().saturating_sub(before)
    }

    /// Drops the oldest events until the rest weighs at most `bytes_max`; the newest one stays. Frees the
    /// memory.
    pub fn keep_newest(&mut self, bytes_max: usize) {
        if self.bytes() > bytes_max as u64 {
            self.evict(bytes_max as u64);
            self.entries.shrink_to_fit();
        }
    }

    /// Drops the oldest events beyond `bytes_max` and the bound of number.
    fn evict(&mut self, bytes_max: u64) {
        while self.entries.len() > 1 && (self.entries.len() > self.events_max || self.bytes() > bytes_max) {
            let Some(dropped) = self.entries.pop_front() else { break };
            self.start = dropped.end;
            self.first += 1;
        }
    }

    /// The bytes of all events since the epoch began.
    fn end(&self) -> u64 {
        self.entries.back().map_or(self.start, |entry| entry.end)
    }

    /// The seq before the first event of the ring: it has every event after that.
    pub fn begins_after(&self) -> Seq {
        self.first - 1
    }

    /// The seq of the newest event; while the ring is empty, the seq before the next one.
    pub(crate) fn head(&self) -> Seq {
        self.begins_after() + self.entries.len() as Seq
    }

    /// Whether the ring has all events after `seq`. `seq` must not be after the newest.
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

    /// The weight of the events after `seq`, in bytes.
    pub fn bytes_after(&self, seq: Seq) -> u64 {
        let before = match self.index(seq).checked_sub(1) {
            Some(last_had) => self.entries.get(last_had).map_or(self.end(), |entry| entry.end),
            None => self.start,
        };
        self.end() - before
    }

    /// The events after `seq` that fit into `bytes_max` after the first of them, which is always included.
    pub fn after(&self, seq: Seq, bytes_max: usize) -> Vec<Arc<Envelope>> {
        let from = self.index(seq);
        let Some(first) = self.entries.get(from) else { return Vec::new() };
        let stop = first.end + bytes_max as u64;
        let entries = self.entries.range(from..).take_while(|entry| entry.end <= stop);
        entries.map(|entry| Arc::clone(&entry.envelope)).collect()
    }
}
