//! Replays of a conversation: its logged events, the view after each of them, and a player that follows their
//! times. It does not know where events come from, nor the clock.
//!
//! `history` holds the events, `kept` views to begin from, `player` the clock of the replay, and `running`
//! the state of reading and playing.

mod history;
mod kept;
mod player;
mod running;

pub use history::{EVENTS_MAX, History, LOG_BYTES_MAX, Mark};
pub use player::{Player, SPEEDS};
pub use running::{AfterEnd, End, Running, STEP_MAX_MS, Wanted};

use model::View;
use model::fold::ViewChange;

/// A moment of the past, and the view at that moment. It is owned by the model, while a replay is on.
#[derive(Debug, Default)]
pub struct Replay {
    /// The events that are known.
    pub history: History,
    /// The clock and the speed.
    pub player: Player,
    /// The view after the first `at` events.
    view: View,
    /// The number of events that the view contains.
    at: usize,
}

impl Replay {
    /// The view at the moment.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The number of events that had happened at the moment.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The time of the moment in milliseconds: the hub's, if events have times.
    pub fn clock(&self) -> u64 {
        self.player.clock()
    }

    /// Goes to the view after `to` events, at least one if there is one. `changed` is called for each change.
    /// Returns whether the view is a different one altogether.
    pub fn go(&mut self, to: usize, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = to.min(self.history.len()).max(self.history.len().min(1));
        let (from, known) = self.history.nearest(to);
        // The current view is the nearest one to begin from, unless a kept one is nearer.
        let is_far = to < self.at || from > self.at;
        if is_far {
            self.view = known.cloned().unwrap_or_default();
            self.at = from;
        }
        self.history.fold(&mut self.view, self.at..to, changed);
        self.at = to;
        is_far
    }

    /// Goes to the last event that had happened at `at`. Returns as [`go`](Self::go).
    pub fn seek_time(&mut self, at: u64, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = self.history.count_until(at);
        let is_other = self.go(to, changed);
        let first = self.history.time(0).unwrap_or(at);
        self.player.set_clock(at.max(first).min(self.history.end().unwrap_or(at)));
        is_other
    }

    /// Goes to the moment of the event `to`, counted from 1. Returns as [`go`](Self::go).
    pub fn seek_event(&mut self, to: usize, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let is_other = self.go(to, changed);
        let time = self.at.checked_sub(1).and_then(|last| self.history.time(last));
        self.player.set_clock(time.unwrap_or_default());
        is_other
    }

    /// Advances by `elapsed_ms` of the reader's time. Returns as [`go`](Self::go).
    pub fn play(&mut self, elapsed_ms: u64, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = self.player.advance(elapsed_ms, &self.history, self.at);
        to != self.at && self.go(to, changed)
    }

    /// Whether no event follows this moment.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.history.len()
    }
}

#[cfg(test)]
mod tests;
