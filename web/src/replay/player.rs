//! The clock of a replay: how fast the past goes by, and what of it is skipped.

use super::history::History;

/// The speeds, in quarters of the real one.
pub const SPEEDS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 256];

/// Without an event for longer than this the rest is skipped, in milliseconds of the past.
const IDLE_MS: u64 = 2_000;

/// The clock of a replay: where it stands, whether it runs, how fast, and whether it skips time in which nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Player {
    /// Whether it goes on by itself.
    pub is_playing: bool,
    /// Whether time in which nothing happens is skipped.
    pub skips_idle: bool,
    quarters: u32,
    clock: u64,
    /// Quarters of a millisecond that are not on the clock yet.
    rest: u64,
}

impl Default for Player {
    fn default() -> Self {
        Self { is_playing: false, skips_idle: true, quarters: 4, clock: 0, rest: 0 }
    }
}

impl Player {
    /// When it is, in the time of the past.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    pub(super) fn set_clock(&mut self, clock: u64) {
        (self.clock, self.rest) = (clock, 0);
    }

    /// How fast, in quarters of the real speed.
    pub fn quarters(&self) -> u32 {
        self.quarters
    }

    /// How fast, as it is written: `0.25×`, `4×`.
    pub fn speed(&self) -> String {
        match self.quarters {
            1 => "0.25×".to_owned(),
            2 => "0.5×".to_owned(),
            more => format!("{}×", more / 4),
        }
    }

    /// The next speed, or the one before it.
    pub fn change_speed(&mut self, by: isize) {
        let now = SPEEDS.iter().position(|speed| *speed == self.quarters).unwrap_or(2);
        let next = now.saturating_add_signed(by).min(SPEEDS.len().saturating_sub(1));
        self.quarters = SPEEDS.get(next).copied().unwrap_or(4);
    }

    /// Lets `elapsed_ms` of the reader's time pass, when `at` events of `history` have happened; how many have then.
    pub fn advance(&mut self, elapsed_ms: u64, history: &History, at: usize) -> usize {
        if !self.is_playing {
            return at;
        }
        let quarters = elapsed_ms.saturating_mul(u64::from(self.quarters)).saturating_add(self.rest);
        self.clock = self.clock.saturating_add(quarters / 4);
        self.rest = quarters % 4;
        let mut next = at;
        while let Some(time) = history.time(next) {
            if time > self.clock {
                let last = next.checked_sub(1).and_then(|last| history.time(last)).unwrap_or(time);
                if !self.skips_idle || self.clock.saturating_sub(last) < IDLE_MS {
                    break;
                }
                self.set_clock(time);
            }
            next = next.saturating_add(1);
        }
        // Nothing is known of what comes after the last event.
        if next >= history.len() {
            self.clock = self.clock.min(history.end().unwrap_or(self.clock));
        }
        next
    }
}
