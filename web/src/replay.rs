//! The past of a conversation: its events as they were logged, the view at any of them, and a player that goes through
//! them by their own clock. Pure: events come from elsewhere, and so does time.

mod history;
mod kept;
mod player;
mod running;

pub use history::{EVENTS_MAX, History, LOG_BYTES_MAX, Mark};
pub use player::{Player, SPEEDS};
pub use running::{AfterEnd, End, Running, STEP_MAX_MS, Wanted};

use model::View;
use model::fold::ViewChange;

/// A moment of the past, and what was to be seen then.
#[derive(Debug, Default)]
pub struct Replay {
    /// What is known of the past.
    pub history: History,
    /// How it goes on.
    pub player: Player,
    view: View,
    at: usize,
}

impl Replay {
    /// What was to be seen.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How many events had happened.
    pub fn at(&self) -> usize {
        self.at
    }

    /// When, as the player counts: the hub's time where the events have one.
    pub fn clock(&self) -> u64 {
        self.player.clock()
    }

    /// Goes to the view after `to` events, at least one where there is one. `changed` hears what in the view changed;
    /// true when it is another one altogether.
    pub fn go(&mut self, to: usize, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = to.min(self.history.len()).max(self.history.len().min(1));
        let (from, known) = self.history.nearest(to);
        // What is there already is the best to go on from, where nothing that is kept is nearer.
        let is_far = to < self.at || from > self.at;
        if is_far {
            self.view = known.cloned().unwrap_or_default();
            self.at = from;
        }
        self.history.fold(&mut self.view, self.at..to, changed);
        self.at = to;
        is_far
    }

    /// Goes to the last event that had happened at the time `at`.
    pub fn seek_time(&mut self, at: u64, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = self.history.count_until(at);
        let is_other = self.go(to, changed);
        let first = self.history.time(0).unwrap_or(at);
        self.player.set_clock(at.max(first).min(self.history.end().unwrap_or(at)));
        is_other
    }

    /// Goes to the moment of the event with the number `to`, from 1.
    pub fn seek_event(&mut self, to: usize, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let is_other = self.go(to, changed);
        let time = self.at.checked_sub(1).and_then(|last| self.history.time(last));
        self.player.set_clock(time.unwrap_or_default());
        is_other
    }

    /// Lets `elapsed_ms` of the reader's time pass.
    pub fn play(&mut self, elapsed_ms: u64, changed: &mut dyn FnMut(ViewChange)) -> bool {
        let to = self.player.advance(elapsed_ms, &self.history, self.at);
        to != self.at && self.go(to, changed)
    }

    /// Whether nothing comes after this moment.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.history.len()
    }
}

#[cfg(test)]
mod tests;
