//! A viewer of the conversations of one slot, one after the other, over one socket.

use std::net::SocketAddr;

use super::{Clock, Connection, Tally};
use crate::load::Outcome;
use crate::load::event::Scan;
use crate::load::native::{field, head, is_kind};
use crate::load::websocket::{TEXT, write_frame};

/// A viewer that goes on to the next conversation when one is over.
#[derive(Debug)]
pub struct Watcher {
    pub(super) connection: Connection,
    pub(super) slot: usize,
    /// The number of its newest subscription, from 1; each is of another conversation.
    sub: u64,
    /// What came of the newest subscription and of the one before, which may still get its last events.
    scans: [Scan; 2],
    text_bytes: usize,
    /// Events that were missing, double, broken or out of order in conversations that are over.
    wrong: u64,
}

impl Watcher {
    /// Connects and subscribes; what the hub says to that is read later.
    pub(super) fn connect(
        at: SocketAddr,
        slot: usize,
        conversation: u64,
        text_bytes: usize,
    ) -> Outcome<Self> {
        let connection = Connection::open(at)?;
        let scans = [Scan::new(text_bytes), Scan::new(text_bytes)];
        let mut watcher = Self { connection, slot, sub: 0, scans, text_bytes, wrong: 0 };
        watcher.subscribe(conversation);
        Ok(watcher)
    }

    fn subscribe(&mut self, conversation: u64) {
        self.sub += 1;
        let text = format!(r#"{{"t":"sub","sub":{},"conv":"c{conversation}"}}"#, self.sub);
        write_frame(&mut self.connection.unwritten, TEXT, text.as_bytes());
        self.connection.flush();
    }

    /// Goes on to the next conversation: this one has its `length`.
    pub(super) fn turn(&mut self, conversation: u64, length: u64) {
        if self.sub > 1 {
            let text = format!(r#"{{"t":"unsub","sub":{}}}"#, self.sub - 1);
            write_frame(&mut self.connection.unwritten, TEXT, text.as_bytes());
            let before = place(self.sub - 1);
            self.wrong += self.scans[before].wrong + length.saturating_sub(self.scans[before].next);
            self.scans[before] = Scan::new(self.text_bytes);
        }
        self.subscribe(conversation);
    }

    /// Whether it has as many events of its newest conversation.
    pub(super) fn has(&self, events: u64) -> bool {
        self.scans[place(self.sub)].next >= events
    }

    pub(super) fn wrong(&self) -> u64 {
        self.wrong + self.scans.iter().map(|scan| scan.wrong).sum::<u64>()
    }

    /// Takes what arrived.
    pub(super) fn read(&mut self, bytes: &mut [u8], clock: Clock, tally: &mut Tally) {
        self.connection.read(bytes);
        let now = clock.micros();
        let (scans, text_bytes, newest) = (&mut self.scans, self.text_bytes, self.sub);
        self.connection.take(|payload| {
            let head = head(payload);
            let sub = field(head, br#""sub":"#).unwrap_or(newest);
            let scan = &mut scans[place(sub)];
            let known = scan.next;
            let mut each = |micros: u64| tally.deliveries.add(now.saturating_sub(micros));
            if is_kind(head, b"snap") {
                // A snapshot repeats all events: those that were seen before do not count again.
                let (mut whole, mut number) = (Scan::new(text_bytes), 0);
                whole.take(payload, &mut |micros| {
                    number += 1;
                    if number > known {
                        each(micros);
                    }
                });
                scan.wrong += whole.wrong + u64::from(whole.next < known);
                scan.next = whole.next.max(known);
            } else if is_kind(head, b"batch") && sub + 1 >= newest {
                scan.take(payload, &mut each);
            } else if is_kind(head, b"error") || is_kind(head, b"bye") {
                tally.refused(payload);
            }
            tally.delivered += scan.next - known;
        });
        self.connection.flush();
    }
}

/// Where the scan of a subscription is.
fn place(sub: u64) -> usize {
    usize::from(sub % 2 == 1)
}
