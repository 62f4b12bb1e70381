//! The one clock of a run: microseconds since the bench began, the same for publisher and viewers.

use std::time::{Duration, Instant};

/// Where time starts.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Time starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start.
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Waits until `micros` after the start.
    pub fn wait_until(self, micros: u64) {
        loop {
            let now = self.micros();
            if now >= micros {
                return;
            }
            std::thread::park_timeout(Duration::from_micros(micros - now));
        }
    }

    /// Waits for a state: asks every 5 ms, for at most `seconds`; says whether it came.
    pub fn wait_for(self, seconds: u64, mut is_there: impl FnMut() -> bool) -> bool {
        let deadline = self.micros() + seconds * 1_000_000;
        loop {
            if is_there() {
                return true;
            }
            let now = self.micros();
            if now >= deadline {
                return false;
            }
            self.wait_until(now + 5_000);
        }
    }
}
