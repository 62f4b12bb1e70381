//! Counts which events of a courier were offered, sent and acked, under which numbers, and what is sent next. It
//! does not know I/O, the clock, and the events themselves ([`super::window`] has those).
//!
//! Events are counted from 1 on; `begins_after ≤ acked ≤ sent ≤ offered`:
//!
//! ```text
//! 1 … begins_after │ … acked │ … sent │ … offered
//!     dropped      │ kept as │ in     │ waits
//!                  │ long as │ flight │
//!                  │ there   │
//!                  │ is room │
//! ```
//!
//! The hub's numbers begin at 1 in each life: number `n` is event `base + n`. A hub that has forgotten what
//! it acked (its log is in memory, and it died) says which number it expects. Kept events are sent again; if
//! some are not kept any more, a new life begins with the first that is.

use std::collections::VecDeque;

/// The most frames that wait for their acks.
const FLIGHTS_MAX: usize = 16;

/// The counts of events (offered, sent, acked), and the frames that wait for an ack.
#[derive(Debug)]
pub(crate) struct AckLedger {
    /// The life of the publisher, from 1.
    life: u64,
    /// The number of events that came before this life.
    base: u64,
    /// Events up to this one are not kept any more.
    begins_after: u64,
    /// The last event that the hub is known to have.
    acked: u64,
    /// The last event that was sent.
    sent: u64,
    /// The last event that was offered.
    offered: u64,
    /// Frames without an ack, the oldest first, at most [`FLIGHTS_MAX`].
    flights: VecDeque<FrameInFlight>,
    /// The id of the next frame; ids rise over all connections.
    next_id: u64,
    /// The first frame whose answer still matters.
    since_id: u64,
    /// What is known of the connection.
    link: LinkState,
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    /// The courier is not connected.
    Down,
    /// Connected; the hub was not asked yet whether it still has what it acked.
    Fresh,
    /// Connected, and events may be sent.
    Up,
}

/// A frame without an ack.
#[derive(Debug, Clone, Copy)]
struct FrameInFlight {
    /// The id of the frame.
    id: u64,
    /// The last event in it.
    last: u64,
}

/// What is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueFrame {
    /// The question whether the hub has everything up to this event.
    Question(u64),
    /// The events after this one.
    Events(u64),
}

/// The numbers of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameNumbers {
    /// The number of the frame itself.
    pub(crate) id: u64,
    /// The life of the publisher.
    pub(crate) life: u64,
    /// The number of the first event.
    pub(crate) first: u64,
    /// The number of the last event; `first - 1` for a question.
    pub(crate) last: u64,
}

/// The way in which a gap is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapRecovery {
    /// The gap concerns a frame whose answer no longer matters.
    Stale,
    /// The missing events are sent again.
    Resend,
    /// The missing events are not kept: a new life has begun.
    NewLife {
        /// How many events the hub will never have.
        missing: u64,
    },
}

impl Default for AckLedger {
    fn default() -> Self {
        Self {
            life: 1,
            base: 0,
            begins_after: 0,
            acked: 0,
            sent: 0,
            offered: 0,
            flights: VecDeque::new(),
            next_id: 1,
            since_id: 1,
            link: LinkState::Down,
        }
    }
}

impl AckLedger {
    /// A ledger of a publisher that begins with this life, which must be higher than all earlier ones.
    pub(crate) fn of_life(life: u64) -> Self {
        Self { life, ..Self::default() }
    }

    /// Notes `count` more events to be sent.
    pub(crate) fn offer(&mut self, count: u64) {
        self.offered = self.offered.saturating_add(count);
    }

    /// The number of events that were offered.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// The last event that the hub is known to have.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// Whether the hub has everything.
    pub(crate) fn is_done(&self) -> bool {
        self.acked == self.offered && self.flights.is_empty() && self.link == LinkState::Up
    }

    /// Whether frames wait for their acks.
    pub(crate) fn has_flights(&self) -> bool {
        !self.flights.is_empty()
    }

    /// Notes that acked events up to `event` are not kept any more.
    pub(crate) fn forget(&mut self, event: u64) {
        self.begins_after = self.begins_after.max(event.min(self.acked));
    }

    /// Notes a new connection.
    pub(crate) fn connected(&mut self) {
        self.again();
        // A hub that was told nothing in this life has forgotten nothing.
        self.link = if self.acked > self.base { LinkState::Fresh } else { LinkState::Up };
    }

    /// Notes that the connection was lost, and with it all frames in flight.
    pub(crate) fn lost(&mut self) {
        self.again();
        self.link = LinkState::Down;
    }

    /// Makes everything due again that is not acked.
    pub(crate) fn again(&mut self) {
        self.flights.clear();
        self.since_id = self.next_id;
        self.sent = self.acked;
    }

    /// What is sent next, if anything is due.
    pub(crate) fn due(&self) -> Option<DueFrame> {
        if self.flights.len() >= FLIGHTS_MAX {
            return None;
        }
        match self.link {
            LinkState::Down => None,
            LinkState::Fresh => Some(DueFrame::Question(self.sent)),
            LinkState::Up => (self.sent < self.offered).then_some(DueFrame::Events(self.sent)),
        }
    }

    /// Notes that what is due is sent, with `count` events; 0 for a question.
    pub(crate) fn send_more(&mut self, count: u64) -> FrameNumbers {
        self.send(self.sent.saturating_add(count))
    }

    /// Notes that what is due is sent, up to the event `last`.
    pub(crate) fn send(&mut self, last: u64) -> FrameNumbers {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        let first = self.sent.saturating_sub(self.base).saturating_add(1);
        self.sent = last.clamp(self.sent, self.offered);
        self.link = LinkState::Up;
        self.flights.push_back(FrameInFlight { id, last: self.sent });
        FrameNumbers { id, life: self.life, first, last: self.sent.saturating_sub(self.base) }
    }

    /// Notes that the hub has the frame `id` and all before it. False if that no longer matters.
    pub(crate) fn ack(&mut self, id: u64) -> bool {
        if id < self.since_id {
            return false;
        }
        while let Some(flight) = self.flights.front().copied()
            && flight.id <= id
        {
            self.flights.pop_front();
            self.acked = self.acked.max(flight.last);
        }
        true
    }

    /// Notes that the hub refused the frame `id` because it expects the number `expected`.
    pub(crate) fn gap(&mut self, id: u64, expected: u64) -> GapRecovery {
        if id < self.since_id {
            return GapRecovery::Stale;
        }
        let stands = self.base.saturating_add(expected.saturating_sub(1)).min(self.offered);
        if stands >= self.begins_after {
            self.acked = stands;
            self.again();
            return GapRecovery::Resend;
        }
        let missing = self.begins_after.saturating_sub(stands);
        self.life = self.life.saturating_add(1);
        self.base = self.begins_after;
        self.acked = self.begins_after;
        self.again();
        GapRecovery::NewLife { missing }
    }
}

#[cfg(test)]
mod tests;
