//! The list of conversations, pushed: all rows first, then those that changed, joined, at most twice a second.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use shared::frame::Sub;

use super::{Outbox, Place, Sent, Subscription};
use crate::hub::{Cursor, Hub, Listed};
use crate::log::{ListQuery, blocking};
use crate::wire;

/// Most rows that a viewer of the list is given to begin with.
const ROWS_MAX: usize = 1_000;

/// Who views the list.
#[derive(Debug)]
pub(crate) struct Fleet {
    hub: Arc<Hub>,
    members: Mutex<Vec<Arc<Subscription>>>,
}

impl Fleet {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, members: Mutex::default() }
    }

    /// Makes a subscription of the list. It gets nothing before [`Fleet::start`].
    pub(crate) fn enter(&self, outbox: &Arc<Outbox>, sub: Sub) -> Arc<Subscription> {
        self.hub.watch(true);
        Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            place: Place::Fleet,
        })
    }

    /// Queues all rows for `subscription`, and sends it what changes from here on.
    pub(crate) fn start(&self, subscription: &Arc<Subscription>) {
        // Under this lock no change goes out, so all rows come first and nothing falls between.
        let mut members = self.members.lock();
        if subscription.is_active() {
            let query = ListQuery { limit: ROWS_MAX, ..ListQuery::default() };
            let listed = blocking(|| self.hub.list(&query)).unwrap_or_else(|error| {
                tracing::warn!(%error, "the list cannot be read");
                Listed::default()
            });
            subscription.outbox.queue([wire::fleet(subscription.sub, true, &listed.rows)]);
            members.push(Arc::clone(subscription));
        }
    }

    pub(super) fn leave(&self, subscription: &Arc<Subscription>) {
        self.members.lock().retain(|member| !Arc::ptr_eq(member, subscription));
        self.hub.watch(false);
    }

    /// Sends changed rows to all, not more often than every `interval`.
    pub(crate) async fn run(&self, interval: Duration) {
        loop {
            self.hub.changed().await;
            self.round();
            tokio::time::sleep(interval).await;
        }
    }

    fn round(&self) {
        let mut members = self.members.lock();
        let rows = self.hub.take_changed();
        if rows.is_empty() {
            return;
        }
        let mut last: Option<(Sub, Bytes)> = None;
        members.retain(|member| {
            let frame = match &last {
                Some((sub, frame)) if *sub == member.sub => frame,
                _ => &last.insert((member.sub, wire::fleet(member.sub, false, &rows))).1,
            };
            match member.send(frame) {
                Sent::Whole => return true,
                // It gets all rows once its socket takes more.
                Sent::Begun | Sent::Blocked => member.outbox.park(Arc::clone(member), Cursor::default()),
                Sent::Over => member.outbox.wake.notify_one(),
            }
            false
        });
    }
}
