//! What a courier has to say next: which events were offered, sent and acked, under which numbers. No I/O and no clock;
//! the events themselves are elsewhere ([`super::window`]).
//!
//! Events are counted from 1 on and never again; `begins_after ≤ acked ≤ sent ≤ offered`:
//!
//! ```text
//! 1 … begins_after │ … acked │ … sent │ … offered
//!     given away   │ kept as │ in     │ waits
//!                  │ long as │ flight │
//!                  │ there   │
//!                  │ is room │
//! ```
//!
//! The hub's numbers begin at 1 in each life: number `n` is event `base + n`. A hub that has forgotten what it acked (its log
//! is in memory, and it died) says which number it expects. What is still kept is sent again; where it is not, a new life
//! begins with the first event that is.

use std::collections::VecDeque;

/// Most frames that wait for their acks.
const FLIGHTS_MAX: usize = 16;

/// The numbers of the events: which were offered, sent and acked, and which frames wait for an ack.
#[derive(Debug)]
pub(crate) struct AckLedger {
    life: u64,
    base: u64,
    begins_after: u64,
    acked: u64,
    sent: u64,
    offered: u64,
    flights: VecDeque<FrameInFlight>,
    next_id: u64,
    /// Answers to frames before this one are of no interest any more.
    since_id: u64,
    link: LinkState,
}

/// Whether something can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    Down,
    /// The hub was not asked yet whether it has what it acked.
    Fresh,
    Up,
}

/// A frame without its ack.
#[derive(Debug, Clone, Copy)]
struct FrameInFlight {
    id: u64,
    /// The last event that is in it.
    last: u64,
}

/// What is to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DueFrame {
    /// The question whether the hub has everything up to this event.
    Question(u64),
    /// Events after this one.
    Events(u64),
}

/// A frame, but for its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameNumbers {
    /// The frame's own number.
    pub(crate) id: u64,
    /// The life.
    pub(crate) life: u64,
    /// The number of the first event.
    pub(crate) first: u64,
    /// The number of the last; `first - 1` for a question.
    pub(crate) last: u64,
}

/// What a gap leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GapRecovery {
    /// It is about a frame that is of no interest any more.
    Stale,
    /// What is missing is sent again.
    Resend,
    /// What is missing is not here any more: a new life has begun.
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
    /// Of a publisher that begins with this life, which must be higher than all that it had before.
    pub(crate) fn of_life(life: u64) -> Self {
        Self { life, ..Self::default() }
    }

    /// So many more events are there to be sent.
    pub(crate) fn offer(&mut self, count: u64) {
        self.offered = self.offered.saturating_add(count);
    }

    /// The number of the last event that was offered.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// The last event that the hub has, as far as is known.
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

    /// Events up to `event`, which are acked, are not kept any more.
    pub(crate) fn forget(&mut self, event: u64) {
        self.begins_after = self.begins_after.max(event.min(self.acked));
    }

    /// A connection is there.
    pub(crate) fn connected(&mut self) {
        self.again();
        // Whoever has been told nothing has nothing to forget.
        self.link = if self.acked > self.base { LinkState::Fresh } else { LinkState::Up };
    }

    /// The connection is gone, and with it what was in flight.
    pub(crate) fn lost(&mut self) {
        self.again();
        self.link = LinkState::Down;
    }

    /// Everything that is not acked is due again.
    pub(crate) fn again(&mut self) {
        self.flights.clear();
        self.since_id = self.next_id;
        self.sent = self.acked;
    }

    /// What is to be sent next, if anything.
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

    /// What is due is sent now: so many events, none for a question.
    pub(crate) fn send_more(&mut self, count: u64) -> FrameNumbers {
        self.send(self.sent.saturating_add(count))
    }

    /// What is due is sent now, up to the event `last`.
    pub(crate) fn send(&mut self, last: u64) -> FrameNumbers {
        let id = self.next_id;
        self.next_id = id.saturating_add(1);
        let first = self.sent.saturating_sub(self.base).saturating_add(1);
        self.sent = last.clamp(self.sent, self.offered);
        self.link = LinkState::Up;
        self.flights.push_back(FrameInFlight { id, last: self.sent });
        FrameNumbers { id, life: self.life, first, last: self.sent.saturating_sub(self.base) }
    }

    /// The hub has the frame `id` and all before it. Says whether that is news.
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

    /// The hub did not take the frame `id`, since it expects the number `expected`.
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
