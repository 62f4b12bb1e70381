//! The list of conversations, pushed: all rows first, then those that changed, joined, at most twice a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use bytes::Bytes;
use event_log::{ListQuery, blocking};
use indexmap::IndexMap;
use model::ConversationId;
use model::frame::{ConversationRow, SubscriptionId};
use model::limits::FLEET_ROWS_MAX;
use parking_lot::Mutex;

use super::{Ladder, Outbox, Sent, Subscription, SubscriptionTarget};
use crate::hub::{Cursor, Hub, Listed};
use crate::wire;

/// Who views the list.
#[derive(Debug)]
pub struct Fleet {
    hub: Arc<Hub>,
    ladder: Arc<Ladder>,
    viewers: Mutex<Viewers>,
}

#[derive(Debug, Default)]
struct Viewers {
    /// They have all rows, and are sent what changes.
    members: Vec<Arc<Subscription>>,
    /// All rows are being read for them.
    beginners: Vec<Beginner>,
}

/// Who begins to view the list.
#[derive(Debug)]
struct Beginner {
    subscription: Arc<Subscription>,
    /// What changed since its reading began.
    missed: IndexMap<ConversationId, ConversationRow>,
    /// Rows may be gone that were read.
    again: bool,
}

impl Fleet {
    pub(super) fn new(hub: Arc<Hub>, ladder: Arc<Ladder>) -> Self {
        Self { hub, ladder, viewers: Mutex::default() }
    }

    /// Makes a subscription of the list, which begins with up to `rows` rows. It gets nothing before [`Fleet::start`].
    pub fn enter(&self, outbox: &Arc<Outbox>, sub: SubscriptionId, rows: usize) -> Arc<Subscription> {
        self.hub.watch(true);
        Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            standing: self.ladder.enter(),
            presence: AtomicUsize::new(0),
            place: SubscriptionTarget::Fleet { rows: rows.min(FLEET_ROWS_MAX) },
        })
    }

    /// Queues all rows for `subscription`, and sends it what changes from here on. Waits for the disk; nobody else does so
    /// meanwhile, and what changes until then follows the rows.
    pub fn start(&self, subscription: &Arc<Subscription>) {
        let SubscriptionTarget::Fleet { rows } = subscription.place else { return };
        if !self.begins(subscription) {
            return;
        }
        let query = ListQuery { limit: rows, ..ListQuery::default() };
        let listed = blocking(|| self.hub.list(&query)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list cannot be read");
            Listed::default()
        });
        // Under this lock no change goes out, so all rows come first and nothing falls between.
        let mut viewers = self.viewers.lock();
        let Some(Beginner { subscription, missed, again }) = viewers.take_beginner(subscription) else {
            return;
        };
        if !subscription.is_active() {
            return;
        }
        let (outbox, total) = (&subscription.outbox, self.hub.total());
        outbox.queue([wire::fleet(subscription.sub, true, &listed.rows, total)]);
        if again {
            return outbox.park(Arc::clone(&subscription), Cursor::default());
        }
        if !missed.is_empty() {
            // As they stand now: what was listed may be newer than what was missed.
            let missed = missed.into_values();
            let now: Vec<_> = missed.map(|row| self.hub.row(&row.conversation).unwrap_or(row)).collect();
            outbox.queue([wire::fleet(subscription.sub, false, &now, total)]);
        }
        viewers.members.push(subscription);
    }

    /// Collects from here on what changes for `subscription`; false where that is over.
    fn begins(&self, subscription: &Arc<Subscription>) -> bool {
        let mut viewers = self.viewers.lock();
        let is_active = subscription.is_active();
        if is_active {
            let subscription = Arc::clone(subscription);
            viewers.beginners.push(Beginner { subscription, missed: IndexMap::new(), again: false });
        }
        is_active
    }

    pub(super) fn leave(&self, subscription: &Arc<Subscription>) {
        let mut viewers = self.viewers.lock();
        viewers.members.retain(|member| !Arc::ptr_eq(member, subscription));
        drop(viewers.take_beginner(subscription));
        drop(viewers);
        self.hub.watch(false);
    }

    /// Lets everybody begin again with all rows, since some are gone.
    pub fn renew(&self) {
        let mut viewers = self.viewers.lock();
        for beginner in &mut viewers.beginners {
            beginner.again = true;
        }
        for member in viewers.members.drain(..) {
            member.outbox.park(Arc::clone(&member), Cursor::default());
        }
    }

    /// Sends changed rows to all, not more often than every `interval`.
    pub async fn run(&self, interval: Duration) {
        loop {
            self.hub.changed().await;
            self.round();
            tokio::time::sleep(interval).await;
        }
    }

    fn round(&self) {
        let mut viewers = self.viewers.lock();
        let rows = self.hub.take_changed();
        if rows.is_empty() {
            return;
        }
        for beginner in &mut viewers.beginners {
            beginner.missed.extend(rows.iter().map(|row| (row.conversation.clone(), row.clone())));
        }
        let total = self.hub.total();
        let mut last: Option<(SubscriptionId, Bytes)> = None;
        viewers.members.retain(|member| {
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

impl Viewers {
    /// Takes out who begins with `subscription`; nothing where it has left.
    fn take_beginner(&mut self, subscription: &Arc<Subscription>) -> Option<Beginner> {
        let is_it = |beginner: &Beginner| Arc::ptr_eq(&beginner.subscription, subscription);
        let at = self.beginners.iter().position(is_it)?;
        Some(self.beginners.swap_remove(at))
    }
}

#[cfg(test)]
mod tests;
