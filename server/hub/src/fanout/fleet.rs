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
use crate::hub::{Cursor, Hub, Listed, SeenRows};
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

    /// Makes a subscription of the list, or of those rows of it that `seen` shows, which begins with up to `rows` rows. It gets nothing before [`Fleet::start`].
    pub fn enter(
        &self,
        outbox: &Arc<Outbox>,
        sub: SubscriptionId,
        rows: usize,
        seen: Option<SeenRows>,
    ) -> Arc<Subscription> {
        self.hub.watch(true);
        Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            standing: self.ladder.enter(),
            presence: AtomicUsize::new(0),
            place: SubscriptionTarget::Fleet { rows: rows.min(FLEET_ROWS_MAX), seen },
        })
    }

    /// Queues all rows for `subscription`, and sends it what changes from here on. Waits for the disk; nobody else does so
    /// meanwhile, and what changes until then follows the rows.
    pub fn start(&self, subscription: &Arc<Subscription>) {
        let SubscriptionTarget::Fleet { rows, seen } = &subscription.place else { return };
        if !self.begins(subscription) {
            return;
        }
        let query = ListQuery { limit: *rows, ..ListQuery::default() };
        let list = || match seen {
            None => self.hub.list(&query),
            Some(seen) => self.hub.list_seen(&query, seen),
        };
        let listed = blocking(list).unwrap_or_else(|error| {
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
        let (outbox, total) = (&subscription.outbox, self.total(seen.as_ref(), listed.rows.len()));
        outbox.queue([wire::fleet(subscription.sub, true, &listed.rows, total)]);
        if again {
            return outbox.park(Arc::clone(&subscription), Cursor::default());
        }
        if !missed.is_empty() {
            // As they stand now: what was listed may be newer than what was missed.
            let now = missed.into_values().map(|row| self.hub.row(&row.conversation).unwrap_or(row));
            let now: Vec<_> = now.filter_map(|row| shown(seen.as_ref(), row)).collect();
            // Whose rows are all of others' conversations hears nothing.
            if !now.is_empty() {
                outbox.queue([wire::fleet(subscription.sub, false, &now, total)]);
            }
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

    /// How many conversations a viewer is told that there are: all, or as many of those that it is shown as were found.
    fn total(&self, seen: Option<&SeenRows>, found: usize) -> u64 {
        let Some(seen) = seen else { return self.hub.total() };
        seen.are(found);
        seen.count()
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
            let seen = seen_by(member);
            let own =
                seen.map(|_| rows.iter().cloned().filter_map(|row| shown(seen, row)).collect::<Vec<_>>());
            if own.as_ref().is_some_and(Vec::is_empty) {
                return true;
            }
            let own = own.map(|rows| wire::fleet(member.sub, false, &rows, self.total(seen, rows.len())));
            let frame = match (&own, &last) {
                (Some(own), _) => own,
                (None, Some((sub, frame))) if *sub == member.sub => frame,
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

/// Which rows a viewer of the list is shown; nothing for all.
fn seen_by(member: &Subscription) -> Option<&SeenRows> {
    match &member.place {
        SubscriptionTarget::Fleet { seen, .. } => seen.as_ref(),
        SubscriptionTarget::Conversation(..) => None,
    }
}

/// `row` as a viewer of the list is shown it.
fn shown(seen: Option<&SeenRows>, row: ConversationRow) -> Option<ConversationRow> {
    match seen {
        None => Some(row),
        Some(seen) => seen.shown(row),
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
