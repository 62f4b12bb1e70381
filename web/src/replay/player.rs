//! The clock of a replay: its speed, and the pauses that it skips.

use super::history::History;

/// The speeds, in quarters of real time.
pub const SPEEDS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 256];

/// The longest pause that is played, in milliseconds of the past; the rest of it is skipped.
const IDLE_MS: u64 = 2_000;

/// The clock of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Player {
    /// Whether the replay plays, so that its time advances.
    pub is_playing: bool,
    /// Whether pauses are skipped.
    pub skips_idle: bool,
    /// The speed, in quarters of real time.
    quarters: u32,
    /// The time of the past, in milliseconds.
    clock: u64,
    /// Quarters of a millisecond that are not in `clock` yet.
    rest: u64,
}

impl Default for Player {
    fn default() -> Self {
        Self { is_playing: false, skips_idle: true, quarters: 4, clock: 0, rest: 0 }
    }
}

impl Player {
    /// The time of the past, in milliseconds.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Sets the time of the past.
    pub(super) fn set_clock(&mut self, clock: u64) {
        (self.clock, self.rest) = (clock, 0);
    }

    /// The speed in quarters of real time.
    pub fn quarters(&self) -> u32 {
        self.quarters
    }

    /// The speed as it is shown: `0.25×`, `4×`.
    pub fn speed(&self) -> String {
        match self.quarters {
            1 => "0.25×".to_owned(),
            2 => "0.5×".to_owned(),
            more => format!("{}×", more / 4),
        }
    }

    /// Changes the speed by `by` steps of [`SPEEDS`].
    pub fn change_speed(&mut self, by: isize) {
        let now = SPEEDS.iter().position(|speed| *speed == self.quarters).unwrap_or(2);
        let next = now.saturating_add_signed(by).min(SPEEDS.len().saturating_sub(1));
        self.quarters = SPEEDS.get(next).copied().unwrap_or(4);
    }

    /// Advances by `elapsed_ms` of the reader's time after `at` events of `history`. Returns how many have
    /// happened then.
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
        // Time ends with the last known event.
        if next >= history.len() {
            self.clock = self.clock.min(history.end().unwrap_or(self.clock));
        }
        next
    }
}
