//! The list of conversations, pushed: all rows first, then those that changed, joined, at most twice a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use bytes::Bytes;
use event_log::{ListQuery, blocking};
use model::frame::Sub;
use model::limits::FLEET_ROWS_MAX;
use parking_lot::Mutex;

use super::{Ladder, Outbox, Place, Sent, Subscription};
use crate::hub::{Cursor, Hub, Listed};
use crate::wire;

/// Who views the list.
#[derive(Debug)]
pub(crate) struct Fleet {
    hub: Arc<Hub>,
    ladder: Arc<Ladder>,
    members: Mutex<Vec<Arc<Subscription>>>,
}

impl Fleet {
    pub(super) fn new(hub: Arc<Hub>, ladder: Arc<Ladder>) -> Self {
        Self { hub, ladder, members: Mutex::default() }
    }

    /// Makes a subscription of the list, which begins with up to `rows` rows. It gets nothing before [`Fleet::start`].
    pub(crate) fn enter(&self, outbox: &Arc<Outbox>, sub: Sub, rows: usize) -> Arc<Subscription> {
        self.hub.watch(true);
        Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            standing: self.ladder.enter(),
            presence: AtomicUsize::new(0),
            place: Place::Fleet { rows: rows.min(FLEET_ROWS_MAX) },
        })
    }

    /// Queues all rows for `subscription`, and sends it what changes from here on.
    pub(crate) fn start(&self, subscription: &Arc<Subscription>) {
        // Under this lock no change goes out, so all rows come first and nothing falls between.
        let mut members = self.members.lock();
        if let Place::Fleet { rows } = subscription.place
            && subscription.is_active()
        {
            let query = ListQuery { limit: rows, ..ListQuery::default() };
            let listed = blocking(|| self.hub.list(&query)).unwrap_or_else(|error| {
                tracing::warn!(%error, "the list cannot be read");
                Listed::default()
            });
            subscription.outbox.queue([wire::fleet(subscription.sub, true, &listed.rows, self.hub.total())]);
            members.push(Arc::clone(subscription));
        }
    }

    pub(super) fn leave(&self, subscription: &Arc<Subscription>) {
        self.members.lock().retain(|member| !Arc::ptr_eq(member, subscription));
        self.hub.watch(false);
    }

    /// Lets everybody begin again with all rows, since some are gone.
    pub(crate) fn renew(&self) {
        for member in self.members.lock().drain(..) {
            member.outbox.park(Arc::clone(&member), Cursor::default());
        }
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
        let total = self.hub.total();
        let mut last: Option<(Sub, Bytes)> = None;
        members.retain(|member| {
            let frame = match &last {
                Some((sub, frame)) if *sub == member.sub => frame,
                _ => &last.insert((member.sub, wire::fleet(member.sub, false, &rows, total))).1,
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
