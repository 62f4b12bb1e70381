//! The `WebSocket`s that are open. Their times are kept by one timer for all of them, since a timer for each would cost memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hub::Outbox;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The open `WebSockets`, so that one timer serves them all. It holds their outboxes, not their tasks.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// The moment from which times in outboxes are counted.
    began: Instant,
    /// The number of the newest socket, and the sockets by number.
    open: Mutex<(u64, BTreeMap<u64, Arc<Outbox>>)>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { began: Instant::now(), open: Mutex::default() }
    }
}

impl Sockets {
    /// Adds a socket; returns the number under which to remove it. Numbers rise and are never used again.
    pub(crate) fn add(&self, outbox: &Arc<Outbox>) -> u64 {
        let mut open = self.open.lock();
        open.0 += 1;
        let number = open.0;
        open.1.insert(number, Arc::clone(outbox));
        number
    }

    /// The number of sockets that are open.
    pub(crate) fn count(&self) -> u64 {
        self.open.lock().1.len() as u64
    }

    /// Removes the socket `number`.
    pub(crate) fn remove(&self, number: u64) {
        self.open.lock().1.remove(&number);
    }

    /// Converts a time for [`Outbox::attention_at`].
    pub(crate) fn millis(&self, when: Instant) -> u64 {
        u64::try_from(when.duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Wakes the sockets whose time of attention has come, or all sockets.
    pub(crate) fn wake_due(&self, all: bool) {
        let now = self.millis(Instant::now());
        for outbox in self.open.lock().1.values() {
            if all || outbox.attention_at.load(Ordering::Relaxed) <= now {
                outbox.attention_at.store(u64::MAX, Ordering::Relaxed);
                outbox.wake.notify_one();
            }
        }
    }

    /// The one timer of all sockets. Never returns. Its step is small compared with `shortest`, the shortest of the deadlines in
    /// the settings; it may notice up to a second late that a viewer is behind.
    pub(crate) async fn watch(&self, shortest: Duration) {
        let step = (shortest / 10).clamp(Duration::from_millis(5), Duration::from_secs(1));
        loop {
            tokio::time::sleep(step).await;
            self.wake_due(false);
        }
    }
}
