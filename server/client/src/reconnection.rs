//! When a client that lost its hub connects again: at once at first, then after longer and longer waits, or
//! when the hub asked it to.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use model::backoff;
use tokio::time::Instant;

/// Decides when to connect again; one for each client.
#[derive(Debug)]
pub(super) struct Reconnection {
    /// How many attempts have failed since the last success.
    attempt: u32,
    /// The wait that the hub asked for, in milliseconds.
    asked_ms: Option<u64>,
    /// When the next attempt is due.
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

    /// Notes that the hub asked to wait `retry_ms` milliseconds after this connection.
    pub(super) fn asked(&mut self, retry_ms: u64) {
        self.asked_ms = Some(retry_ms);
    }

    /// Notes that the connection was useful.
    pub(super) fn succeeded(&mut self) {
        self.attempt = 0;
    }

    /// Makes the next attempt due at once.
    pub(super) fn hurry(&mut self) {
        self.at = Instant::now();
    }

    /// Notes a lost or failed connection. Returns in how many milliseconds the next attempt is due.
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

/// A random number, so that clients do not all reconnect at the same moment.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
