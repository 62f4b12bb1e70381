//! When a client that lost its hub comes back: at once at first, later and later while it fails, or when the hub asked.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use model::backoff;
use tokio::time::Instant;

/// Decides when to connect again. One for each client; a success resets it.
#[derive(Debug)]
pub(super) struct Reconnection {
    /// Failed attempts since the last success.
    attempt: u32,
    /// What the hub asked for, in milliseconds.
    asked_ms: Option<u64>,
    at: Instant,
}

impl Default for Reconnection {
    fn default() -> Self {
        Self { attempt: 0, asked_ms: None, at: Instant::now() }
    }
}

impl Reconnection {
    /// When the next attempt is due.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// The hub asks to wait so many milliseconds after this connection.
    pub(super) fn asked(&mut self, retry_ms: u64) {
        self.asked_ms = Some(retry_ms);
    }

    /// The connection was good for something.
    pub(super) fn succeeded(&mut self) {
        self.attempt = 0;
    }

    /// The next attempt is due at once.
    pub(super) fn hurry(&mut self) {
        self.at = Instant::now();
    }

    /// It is gone, or did not come about. Returns in how many milliseconds the next attempt is due.
    pub(super) fn lost(&mut self) -> u64 {
        let random = random();
        self.attempt = self.attempt.saturating_add(1);
        let retry_ms = match self.asked_ms.take() {
            Some(asked) => backoff::asked_ms(asked, random),
            None => backoff::wait_ms(self.attempt, random),
        };
        self.at = Instant::now() + Duration::from_millis(retry_ms);
        retry_ms
    }
}

/// Any number, so that clients of a hub that comes back do not all come at the same moment.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
