//! The subscriptions of one socket that no pump serves: at their start, and whenever the socket took less than what was
//! said. They go on one after another whenever the socket takes more.

use std::sync::Arc;

use model::Position;
use model::frame::SubscriptionId;
use tokio::time::Instant;

use super::catch_up::{CatchUp, Step};
use hub::{Fanout, Ladder, Outbox, Subscription};

/// Frames that viewers who are behind are given before others get their turn.
const STEPS_AT_ONCE: usize = 64;

/// The subscriptions of one socket that are behind, in the order in which they are served.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    behind: Vec<CatchUp>,
}

impl Feed {
    /// A new subscription, whose client has `have`.
    pub(crate) fn start(&mut self, subscription: Arc<Subscription>, have: Option<&Position>) {
        self.behind.push(CatchUp::start(subscription, have));
    }

    /// A subscription whose client asked for the snapshot.
    pub(super) fn resync(&mut self, subscription: Arc<Subscription>) {
        self.behind.push(CatchUp::resync(subscription));
    }

    /// Looks at the clock: who is behind for a while counts as that. When to look again.
    pub(super) fn look(&self, now: Instant, ladder: &Ladder) -> Option<Instant> {
        self.behind.iter().filter_map(|behind| behind.look(now, ladder)).min()
    }

    /// Whether no pump serves the subscription with this number.
    pub(super) fn has(&self, sub: SubscriptionId) -> bool {
        self.behind.iter().any(|behind| behind.subscription.sub == sub)
    }

    /// Whether the pumps serve all.
    pub(super) fn is_empty(&self) -> bool {
        self.behind.is_empty()
    }

    /// Forgets every subscription of the socket.
    pub(super) fn clear(&mut self) {
        self.behind = Vec::new();
    }

    /// Writes what waits; where the socket takes it all, those that are behind go on.
    ///
    /// True when it stopped although the socket would take more, so that others get their turn.
    pub(crate) fn go_on(&mut self, outbox: &Outbox, fanout: &Fanout) -> bool {
        for (subscription, cursor) in outbox.take_parked() {
            if subscription.is_active() {
                self.behind.push(CatchUp::parked(subscription, cursor));
            }
        }
        self.behind.retain(|behind| behind.subscription.is_active());
        let mut next = 0;
        for _ in 0..STEPS_AT_ONCE {
            if !outbox.flush() {
                return false;
            }
            // In turns, so that a long catch-up does not keep the others waiting.
            let Some(behind) = self.behind.get_mut(next) else {
                if self.behind.is_empty() {
                    return false;
                }
                next = 0;
                continue;
            };
            match behind.step(fanout) {
                Step::More => next += 1,
                Step::Done => drop(self.behind.remove(next)),
            }
        }
        true
    }
}
