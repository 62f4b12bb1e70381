//! The feed: subscriptions of one socket that no pump serves, at their start and whenever the socket took
//! less than there was. Whenever the socket takes more, they go on in turns.

use std::sync::Arc;

use model::Position;
use model::frame::SubscriptionId;
use model::limits::TURN_WRITTEN_BYTES_MAX;
use tokio::time::Instant;

use super::catch_up::{CatchUp, Step};
use hub::{Fanout, Flushed, Ladder, Outbox, Subscription};

/// Most frames for viewers that are behind before other tasks get their turn.
const STEPS_AT_ONCE: usize = 64;

/// The subscriptions of one socket that are behind, in the order in which they are served. Owned by the
/// socket's task; a subscription is in it or at its pump, never at both.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    behind: Vec<CatchUp>,
    /// Those that must begin anew, with another window.
    anew: Vec<SubscriptionId>,
}

impl Feed {
    /// Adds a new subscription. `have` is the position of the client, if it has one.
    pub(crate) fn start(&mut self, subscription: Arc<Subscription>, have: Option<&Position>) {
        self.behind.push(CatchUp::start(subscription, have));
    }

    /// Adds a subscription whose client asked for the snapshot.
    pub(crate) fn resync(&mut self, subscription: Arc<Subscription>) {
        self.behind.push(CatchUp::resync(subscription));
    }

    /// Adds a subscription whose conversation was replaced by one in another epoch.
    pub(crate) fn replaced(&mut self, subscription: Arc<Subscription>) {
        self.behind.push(CatchUp::replaced(subscription));
    }

    /// Adds a subscription that begins anew with another window.
    pub(super) fn other_window(&mut self, subscription: Arc<Subscription>) {
        self.behind.push(CatchUp::other_window(subscription));
    }

    /// Takes the numbers of the subscriptions that must begin anew with another window.
    pub(super) fn take_anew(&mut self) -> Vec<SubscriptionId> {
        std::mem::take(&mut self.anew)
    }

    /// Counts viewers as behind whose socket has taken nothing for long enough. Returns when to check again.
    pub(super) fn look(&self, now: Instant, ladder: &Ladder) -> Option<Instant> {
        self.behind.iter().filter_map(|behind| behind.look(now, ladder)).min()
    }

    /// Whether the subscription with this number is behind.
    pub(super) fn has(&self, sub: SubscriptionId) -> bool {
        self.behind.iter().any(|behind| behind.subscription.sub == sub)
    }

    /// Whether no subscription is behind.
    pub(super) fn is_empty(&self) -> bool {
        self.behind.is_empty()
    }

    /// Drops all subscriptions that are behind.
    pub(super) fn clear(&mut self) {
        self.behind = Vec::new();
    }

    /// Writes what waits. If the socket takes all of it, subscriptions that are behind get their next frames,
    /// in turns.
    ///
    /// True if it stopped early to give other tasks their turn: after [`STEPS_AT_ONCE`] frames, or [`TURN_WRITTEN_BYTES_MAX`] bytes.
    pub(crate) fn go_on(&mut self, outbox: &Outbox, fanout: &Fanout) -> bool {
        for (subscription, cursor) in outbox.take_parked() {
            if subscription.is_active() {
                self.behind.push(CatchUp::parked(subscription, cursor));
            }
        }
        self.behind.retain(|behind| behind.subscription.is_active());
        let stopped = self.take_turn(outbox, fanout);
        if self.behind.is_empty() {
            // An idle socket must not keep the memory of its beginning.
            self.behind = Vec::new();
        }
        stopped
    }

    /// Writes what waits, and frames of subscriptions that are behind. True if it stopped early.
    fn take_turn(&mut self, outbox: &Outbox, fanout: &Fanout) -> bool {
        let (mut next, mut turn) = (0, TURN_WRITTEN_BYTES_MAX);
        for _ in 0..STEPS_AT_ONCE {
            match outbox.flush(&mut turn) {
                Flushed::All => {}
                Flushed::Blocked => return false,
                Flushed::TurnOver => return true,
            }
            // In turns, so that a long catch-up does not delay the others.
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
                Step::Anew => self.anew.push(self.behind.remove(next).subscription.sub),
            }
        }
        true
    }
}
