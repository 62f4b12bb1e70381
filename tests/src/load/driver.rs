//! Publishers that wait for acks of the level `stored`, and viewers, all in the thread that calls [`Driver::run`]. Every conversation has one
//! publisher; a publisher has many, which take turns. Each event holds its number and the time when it was written, so that what arrives is
//! counted, timed and checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use parking_lot::Mutex;

use super::Outcome;
use super::clock::Clock;
use super::event::Event;
use super::native::{Publication, field, head, is_kind};
use super::websocket::{TEXT, write_frame};

mod connection;
mod plan;
mod watching;

use connection::Connection;
pub use plan::{Pace, Plan, Tally, Told, Wish};
pub use watching::Watcher;

/// What may wait to be written before no more is made, in bytes.
const UNWRITTEN_MAX: usize = 256 << 10;

/// Between two looks at what is due, in microseconds.
const TICK: u64 = 1_000;

/// How long acks and deliveries may be awaited once nothing more is published, in microseconds.
const PATIENCE: u64 = 20_000_000;

/// A place for a conversation, and for the next one once that has its length.
#[derive(Debug, Clone, Copy)]
struct Slot {
    conversation: u64,
    sent: u64,
    frames: u64,
}

/// A frame without its ack.
#[derive(Debug, Clone, Copy)]
struct Flight {
    micros: u64,
    events: u64,
    conversation: u64,
    last: u64,
}

#[derive(Debug)]
struct Publisher {
    connection: Connection,
    slots: Vec<usize>,
    turn: usize,
    in_flight: BTreeMap<u64, Flight>,
    next: u64,
    /// Events that were written since the run began.
    written: u64,
}

/// Publishers and viewers of one thread.
#[derive(Debug)]
pub struct Driver {
    plan: Plan,
    clock: Clock,
    slots: Vec<Slot>,
    publishers: Vec<Publisher>,
    watchers: Vec<Watcher>,
    /// By the number of the conversation.
    told: BTreeMap<u64, Told>,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
}

impl Driver {
    /// Connects the publishers.
    ///
    /// # Errors
    /// When the hub does not take them.
    pub fn connect(at: SocketAddr, plan: Plan, clock: Clock) -> Outcome<Self> {
        let slot = |number| Slot { conversation: plan.first + number, sent: 0, frames: 0 };
        let slots: Vec<Slot> = (0..plan.conversations).map(slot).collect();
        let count = plan.publishers.min(plan.conversations) as usize;
        let mut publishers = Vec::with_capacity(count);
        for number in 0..count {
            let slots = (number..slots.len()).step_by(count).collect();
            let connection = Connection::open(at)?;
            let in_flight = BTreeMap::new();
            publishers.push(Publisher { connection, slots, turn: 0, in_flight, next: 1, written: 0 });
        }
        let (watchers, told) = (Vec::new(), BTreeMap::new());
        Ok(Self {
            plan,
            clock,
            slots,
            publishers,
            watchers,
            told,
            bytes: vec![0; 256 << 10],
            scratch: Vec::new(),
        })
    }

    /// Connects `count` viewers, spread evenly over the conversations.
    ///
    /// # Errors
    /// When the hub does not take them.
    pub fn watch(&mut self, at: SocketAddr, count: u64) -> Outcome<()> {
        for number in 0..count as usize {
            let slot = number % self.slots.len();
            let conversation = self.slots[slot].conversation;
            self.watchers.push(Watcher::connect(at, slot, conversation, self.plan.text_bytes)?);
        }
        Ok(())
    }

    /// Changes the pace and the size of frames.
    pub fn set_pace(&mut self, pace: Pace, batch: u64) {
        (self.plan.pace, self.plan.batch) = (pace, batch);
    }

    /// By conversation, what was sent and what was acked.
    pub fn told(&self) -> &BTreeMap<u64, Told> {
        &self.told
    }

    /// Publishes and reads until `wish` says otherwise, or each publisher has written its part of `events` deltas (rounded up); then waits for what
    /// is owed.
    ///
    /// # Errors
    /// When the system refuses, or a socket ends that must not.
    pub fn run(&mut self, wish: &Wish, tally: &Mutex<Tally>, events: u64) -> Outcome<()> {
        let mut poll = Poll::new()?;
        let streams = self.publishers.iter_mut().map(|publisher| &mut publisher.connection.stream);
        let streams = streams.chain(self.watchers.iter_mut().map(|watcher| &mut watcher.connection.stream));
        for (token, stream) in streams.enumerate() {
            poll.registry().register(stream, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        }
        let ran = self.turn_until(&mut poll, wish, tally, events);
        let streams = self.publishers.iter_mut().map(|publisher| &mut publisher.connection.stream);
        for stream in streams.chain(self.watchers.iter_mut().map(|watcher| &mut watcher.connection.stream)) {
            poll.registry().deregister(stream)?;
        }
        ran
    }

    fn turn_until(&mut self, poll: &mut Poll, wish: &Wish, tally: &Mutex<Tally>, events: u64) -> Outcome<()> {
        let mut happened = Events::with_capacity(1024);
        let (began, mut ended) = (self.clock.micros(), None);
        for publisher in &mut self.publishers {
            publisher.written = 0;
        }
        let most = events.div_ceil(self.publishers.len().max(1) as u64);
        // Something may have come before this watched for it.
        let mut ready: Vec<usize> = (0..self.publishers.len() + self.watchers.len()).collect();
        loop {
            for token in ready.drain(..) {
                self.read(token, &mut tally.lock());
            }
            let is_over = wish.is_over() || self.publishers.iter().all(|publisher| publisher.written >= most);
            for number in 0..self.publishers.len() {
                if !is_over {
                    self.fill(number, began, most);
                }
                self.publishers[number].connection.flush();
            }
            if wish.is_cut() {
                return Ok(());
            }
            self.complain_of_closed()?;
            if is_over {
                let since = *ended.get_or_insert_with(|| self.clock.micros());
                if self.is_done() || self.clock.micros() > since + PATIENCE {
                    self.check(&mut tally.lock());
                    return Ok(());
                }
            }
            poll.poll(&mut happened, Some(Duration::from_micros(TICK)))?;
            ready.extend(happened.iter().filter(|event| event.is_readable()).map(|event| event.token().0));
        }
    }

    fn complain_of_closed(&self) -> Outcome<()> {
        let publishers = self.publishers.iter().map(|publisher| &publisher.connection);
        let mut all = publishers.chain(self.watchers.iter().map(|watcher| &watcher.connection));
        if all.any(|connection| connection.is_closed) {
            Err("the hub closed a socket".into())
        } else {
            Ok(())
        }
    }

    /// Whether all acks and all deliveries are there.
    fn is_done(&self) -> bool {
        self.publishers.iter().all(|publisher| publisher.in_flight.is_empty())
            && self.watchers.iter().all(|watcher| watcher.has(self.slots[watcher.slot].sent))
    }

    /// Says what is missing.
    fn check(&self, tally: &mut Tally) {
        let unacked: usize = self.publishers.iter().map(|publisher| publisher.in_flight.len()).sum();
        let short =
            self.watchers.iter().filter(|watcher| !watcher.has(self.slots[watcher.slot].sent)).count();
        let wrong: u64 = self.watchers.iter().map(Watcher::wrong).sum();
        for (count, what) in [
            (unacked as u64, "frames without an ack"),
            (short as u64, "viewers without all events"),
            (wrong, "events missing, double, broken or out of order at viewers"),
        ] {
            if count > 0 {
                tally.problems.push(format!("{count} {what}"));
            }
        }
    }

    fn read(&mut self, token: usize, tally: &mut Tally) {
        let count = self.publishers.len();
        if token >= count {
            self.watchers[token - count].read(&mut self.bytes, self.clock, tally);
            return;
        }
        let Publisher { connection, in_flight, .. } = &mut self.publishers[token];
        connection.read(&mut self.bytes);
        let now = self.clock.micros();
        let told = &mut self.told;
        connection.take(|payload| {
            let head = head(payload);
            let flight = field(head, br#""id":"#).and_then(|id| in_flight.remove(&id));
            match flight {
                Some(flight) if is_kind(head, b"ack") => {
                    tally.acks.add(now.saturating_sub(flight.micros));
                    tally.acked += flight.events;
                    let told = told.entry(flight.conversation).or_default();
                    told.acked = told.acked.max(flight.last);
                }
                _ if is_kind(head, b"error") || is_kind(head, b"bye") => {
                    tally.refused(payload);
                }
                _ => {}
            }
        });
    }

    /// Writes what is due for a publisher that may write `most` deltas in all.
    fn fill(&mut self, number: usize, began: u64, most: u64) {
        let (batch, count) = (self.plan.batch, self.publishers.len() as u64);
        // Publishers with a rate take turns within the time between two frames of one of them.
        let phase = match self.plan.pace {
            Pace::Ahead(_) => 0,
            Pace::Rate(rate) => number as u64 * batch * 1_000_000 / rate.max(1) / count,
        };
        let now = self.clock.micros() - began + phase;
        while self.publishers[number].written < most {
            let Publisher { connection, in_flight, written, slots, turn, .. } = &mut self.publishers[number];
            let is_due = match self.plan.pace {
                Pace::Ahead(frames) => in_flight.len() < frames,
                Pace::Rate(rate) => now * rate / 1_000_000 >= *written + batch,
            };
            if !is_due || connection.unwritten.len() > UNWRITTEN_MAX {
                return;
            }
            let slot = slots[*turn % slots.len()];
            *turn += 1;
            let left = most - *written;
            let count = batch.min(left).min(self.plan.length - self.slots[slot].sent);
            self.write(number, slot, count);
        }
    }

    /// Writes one frame of `count` deltas.
    fn write(&mut self, number: usize, slot: usize, count: u64) {
        let (publisher, slot_of) = (&mut self.publishers[number], &mut self.slots[slot]);
        let Slot { conversation, sent, frames } = *slot_of;
        let micros = self.clock.micros();
        let first = Event { conversation, number: sent, micros, text_bytes: self.plan.text_bytes };
        let last = sent + count;
        let is_last = last >= self.plan.length;
        let frame = Publication { id: publisher.next, frame: frames + 1, first, events: count, is_last };
        self.scratch.clear();
        let events = frame.write(&mut self.scratch);
        write_frame(&mut publisher.connection.unwritten, TEXT, &self.scratch);
        publisher.in_flight.insert(publisher.next, Flight { micros, events, conversation, last });
        publisher.next += 1;
        publisher.written += count;
        self.told.entry(conversation).or_default().sent = last;
        *slot_of = Slot { conversation, sent: last, frames: frames + 1 };
        if is_last {
            *slot_of = Slot { conversation: conversation + self.plan.conversations, sent: 0, frames: 0 };
            let next = slot_of.conversation;
            for watcher in self.watchers.iter_mut().filter(|watcher| watcher.slot == slot) {
                watcher.turn(next, self.plan.length);
            }
        }
    }
}
