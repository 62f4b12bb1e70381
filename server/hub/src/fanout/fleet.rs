//! Pushes the list of conversations: first all rows, then the rows that changed, joined, twice a second at
//! most.
//!
//! ```text
//! enter ──start──▶ beginner ──rows read, first frame──▶ member ──changed rows──▶ member
//!                                                         │ socket full, or rows are gone
//!                                                         └──▶ parked at its outbox ──▶ start again, with all rows
//! ```

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

use super::{Ladder, Outbox, SendResult, Subscription, SubscriptionTarget};
use crate::hub::{Cursor, Hub, ListPage, SeenRows};
use crate::wire;

/// The viewers of the list of conversations. Owned by [`Fanout`](super::Fanout).
#[derive(Debug)]
pub struct ListViewers {
    /// The hub that the rows come from.
    hub: Arc<Hub>,
    /// Counts how well the viewers keep up.
    ladder: Arc<Ladder>,
    viewers: Mutex<ViewersByProgress>,
}

/// The viewers by how far they are. Guarded by one lock, so that no change is sent between a viewer's first
/// rows and its place among the members.
#[derive(Debug, Default)]
struct ViewersByProgress {
    /// Viewers that have got all rows and are sent changes.
    members: Vec<Arc<Subscription>>,
    /// Viewers that wait until all rows have been read for them.
    beginners: Vec<JoiningViewer>,
}

/// A viewer for whom the rows are being read from the disk.
#[derive(Debug)]
struct JoiningViewer {
    /// The subscription that has begun.
    subscription: Arc<Subscription>,
    /// The rows that changed since the reading began. They are sent after the first frame.
    missed: IndexMap<ConversationId, ConversationRow>,
    /// Whether conversations were removed meanwhile, so that rows which were read may be gone.
    again: bool,
}

impl ListViewers {
    /// Makes an empty set of viewers for the list of `hub`; `ladder` counts them.
    pub(super) fn new(hub: Arc<Hub>, ladder: Arc<Ladder>) -> Self {
        Self { hub, ladder, viewers: Mutex::default() }
    }

    /// Makes a subscription to the list, or to those of its rows that `seen` allows. Its first frame has at
    /// most `rows` rows and at most the limit of the protocol. It gets no frames before [`ListViewers::start`].
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
            who: None,
            presence: AtomicUsize::new(0),
            keeps: true,
            place: SubscriptionTarget::Fleet { rows: rows.min(FLEET_ROWS_MAX), seen },
        })
    }

    /// Reads all rows for `subscription`, queues them, and sends it changes from then on. The reading waits
    /// for the disk and delays nobody else: what changes meanwhile follows the first frame. If the list
    /// cannot be read, the viewer begins with an empty list and the cause is logged.
    pub fn start(&self, subscription: &Arc<Subscription>) {
        let SubscriptionTarget::Fleet { rows, seen } = &subscription.place else { return };
        if !self.begins(subscription) {
            return;
        }
        let query = ListQuery { limit: *rows, ..ListQuery::default() };
        let listed = blocking(|| self.hub.list_pinned_first(&query, seen.as_ref())).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list cannot be read");
            ListPage::default()
        });
        // No change goes out while this lock is held, so the first rows come before all changes and no change
        // is lost.
        let mut viewers = self.viewers.lock();
        let Some(JoiningViewer { subscription, missed, again }) = viewers.take_beginner(subscription) else {
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
            // The current rows: what was listed may be newer than what was collected meanwhile.
            let now = missed.into_values().map(|row| self.hub.row(&row.conversation).unwrap_or(row));
            let now: Vec<_> = now.filter_map(|row| shown(seen.as_ref(), row)).collect();
            // A viewer that may see none of the changed rows is sent nothing.
            if !now.is_empty() {
                outbox.queue([wire::fleet(subscription.sub, false, &now, total)]);
            }
        }
        viewers.members.push(subscription);
    }

    /// Begins to collect changes for `subscription`; false if it has ended.
    fn begins(&self, subscription: &Arc<Subscription>) -> bool {
        let mut viewers = self.viewers.lock();
        let is_active = subscription.is_active();
        if is_active {
            let subscription = Arc::clone(subscription);
            viewers.beginners.push(JoiningViewer { subscription, missed: IndexMap::new(), again: false });
        }
        is_active
    }

    /// Removes a viewer of the list. The subscription itself was ended before.
    pub(super) fn leave(&self, subscription: &Arc<Subscription>) {
        let mut viewers = self.viewers.lock();
        viewers.members.retain(|member| !Arc::ptr_eq(member, subscription));
        drop(viewers.take_beginner(subscription));
        drop(viewers);
        self.hub.watch(false);
    }

    /// Makes all viewers begin again with all rows, because some rows are gone.
    pub fn renew(&self) {
        let mut viewers = self.viewers.lock();
        for beginner in &mut viewers.beginners {
            beginner.again = true;
        }
        for member in viewers.members.drain(..) {
            member.outbox.park(Arc::clone(&member), Cursor::default());
        }
    }

    /// Tells all viewers that a conversation was deleted. Viewers for whom the list is being read begin again, since it may be among
    /// what was read. If somebody publishes under its name already, the row of the new conversation follows in the same frame.
    pub fn lose(&self, id: &ConversationId) {
        let mut viewers = self.viewers.lock();
        for beginner in &mut viewers.beginners {
            beginner.missed.shift_remove(id);
            beginner.again = true;
        }
        let anew = self.hub.row(id).filter(|row| row.head > 0);
        self.tell(&mut viewers, std::slice::from_ref(id), anew.as_slice());
    }

    /// Sends changed rows to all viewers, at most once in `interval`. Never returns; cancel it to stop.
    pub async fn run(&self, interval: Duration) {
        loop {
            self.hub.changed().await;
            self.round();
            tokio::time::sleep(interval).await;
        }
    }

    /// The total that a viewer is told: the number of all conversations, or, for a viewer that may see only
    /// some, how many of those were found so far.
    fn total(&self, seen: Option<&SeenRows>, found: usize) -> u64 {
        let Some(seen) = seen else { return self.hub.total() };
        seen.are(found);
        seen.count()
    }

    /// Sends the rows that changed to all viewers.
    fn round(&self) {
        let mut viewers = self.viewers.lock();
        let rows = self.hub.take_changed();
        if rows.is_empty() {
            return;
        }
        for beginner in &mut viewers.beginners {
            beginner.missed.extend(rows.iter().map(|row| (row.conversation.clone(), row.clone())));
        }
        self.tell(&mut viewers, &[], &rows);
    }

    /// Sends conversations that are gone and rows that changed to all viewers that may see them. Viewers that see all rows and use
    /// the same subscription number share one frame.
    fn tell(&self, viewers: &mut ViewersByProgress, gone: &[ConversationId], rows: &[ConversationRow]) {
        let total = self.hub.total();
        let mut last: Option<(SubscriptionId, Bytes)> = None;
        viewers.members.retain(|member| {
            let own = seen_by(member).map(|seen| {
                let gone: Vec<_> = gone.iter().filter(|id| seen.has(id)).cloned().collect();
                let rows: Vec<_> = rows.iter().cloned().filter_map(|row| seen.shown(row)).collect();
                (gone, rows, seen)
            });
            if own.as_ref().is_some_and(|(gone, rows, _)| gone.is_empty() && rows.is_empty()) {
                return true;
            }
            let own = own.map(|(gone, rows, seen)| {
                let total = self.total(Some(seen), rows.len());
                wire::fleet_change(member.sub, &gone, &rows, total)
            });
            let frame = match (&own, &last) {
                (Some(own), _) => own,
                (None, Some((sub, frame))) if *sub == member.sub => frame,
                _ => {
                    let frame = wire::fleet_change(member.sub, gone, rows, total);
                    &last.insert((member.sub, frame)).1
                }
            };
            match member.send(frame) {
                SendResult::Whole => return true,
                // It gets all rows again once its socket takes more bytes.
                SendResult::Begun | SendResult::Blocked => {
                    member.outbox.park(Arc::clone(member), Cursor::default());
                }
                SendResult::Over => member.outbox.wake.notify_one(),
            }
            false
        });
    }
}

/// The rows that a viewer of the list may see; `None` for all.
fn seen_by(member: &Subscription) -> Option<&SeenRows> {
    match &member.place {
        SubscriptionTarget::Fleet { seen, .. } => seen.as_ref(),
        SubscriptionTarget::Conversation(..) => None,
    }
}

/// `row` as a viewer of the list may see it; nothing if it may not.
fn shown(seen: Option<&SeenRows>, row: ConversationRow) -> Option<ConversationRow> {
    match seen {
        None => Some(row),
        Some(seen) => seen.shown(row),
    }
}

impl ViewersByProgress {
    /// Removes and returns the beginner of `subscription`; `None` if it has left.
    fn take_beginner(&mut self, subscription: &Arc<Subscription>) -> Option<JoiningViewer> {
        let is_it = |beginner: &JoiningViewer| Arc::ptr_eq(&beginner.subscription, subscription);
        let at = self.beginners.iter().position(is_it)?;
        Some(self.beginners.swap_remove(at))
    }
}

#[cfg(test)]
mod tests;
