//! The events that a courier keeps in memory: those that the hub does not have yet, and before them those
//! that it could forget.

use std::collections::VecDeque;
use std::io::{self, Write};

use model::Envelope;

/// An event, and the number of bytes from the first event ever to its end.
#[derive(Debug)]
struct WindowEntry {
    /// The event in its envelope.
    envelope: Envelope,
    /// Bytes as JSON, counted from the first event ever.
    end: u64,
}

/// The events that may have to be sent again, the oldest first. The courier bounds their bytes.
#[derive(Debug, Default)]
pub(super) struct ResendWindow {
    /// The events that are kept.
    entries: VecDeque<WindowEntry>,
    /// The event before the first entry.
    begins_after: u64,
    /// The number of bytes from the first event ever to the first entry.
    start: u64,
}

impl ResendWindow {
    /// Appends the next event.
    pub(super) fn push(&mut self, envelope: Envelope) {
        let end = self.end().saturating_add(json_bytes(&envelope));
        self.entries.push_back(WindowEntry { envelope, end });
    }

    fn end(&self) -> u64 {
        self.entries.back().map_or(self.start, |entry| entry.end)
    }

    /// The event before the first one that is kept.
    pub(super) fn begins_after(&self) -> u64 {
        self.begins_after
    }

    /// The bytes of all kept events, as JSON.
    pub(super) fn bytes(&self) -> u64 {
        self.end().saturating_sub(self.start)
    }

    /// The bytes of the events after `event`.
    pub(super) fn bytes_after(&self, event: u64) -> u64 {
        let before = self.index(event).checked_sub(1).and_then(|last| self.entries.get(last));
        self.end().saturating_sub(before.map_or(self.start, |entry| entry.end))
    }

    /// The index of the event after `event`.
    fn index(&self, event: u64) -> usize {
        usize::try_from(event.saturating_sub(self.begins_after)).unwrap_or(usize::MAX)
    }

    /// The bytes of the event after `event`.
    pub(super) fn next_bytes(&self, event: u64) -> u64 {
        let behind = event.saturating_add(1);
        self.bytes_after(event).saturating_sub(self.bytes_after(behind))
    }

    /// The events after `event`: at least one if there is one, then as many as fit.
    pub(super) fn after(&self, event: u64, count_max: usize, bytes_max: u64) -> Vec<Envelope> {
        let mut left = bytes_max;
        let mut at = event;
        let entries = self.entries.iter().skip(self.index(event)).take(count_max);
        let fitting = entries.take_while(|_| {
            let bytes = self.next_bytes(at);
            let fits = at == event || bytes <= left;
            left = left.saturating_sub(bytes);
            at = at.saturating_add(1);
            fits
        });
        fitting.map(|entry| entry.envelope.clone()).collect()
    }

    /// Drops the events up to `event`.
    pub(super) fn drop_to(&mut self, event: u64) {
        while self.begins_after < event
            && let Some(dropped) = self.entries.pop_front()
        {
            self.start = dropped.end;
            self.begins_after = self.begins_after.saturating_add(1);
        }
    }

    /// Drops events up to `event`, the oldest first, while more than `bytes_max` are kept.
    pub(super) fn shrink(&mut self, bytes_max: u64, event: u64) {
        while self.bytes() > bytes_max && self.begins_after < event {
            self.drop_to(self.begins_after.saturating_add(1));
        }
    }
}

/// The bytes of `envelope` as JSON, with the comma after it.
pub(super) fn json_bytes(envelope: &Envelope) -> u64 {
    struct JsonByteCounter(u64);
    impl Write for JsonByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len() as u64);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = JsonByteCounter(1);
    // An envelope can always be serialized, and counting cannot fail.
    serde_json::to_writer(&mut count, envelope).ok();
    count.0
}
