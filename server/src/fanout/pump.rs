//! A pump: the task that writes to one group of a conversation's viewers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use shared::frame::Sub;
use shared::limits::BATCH_BYTES_TARGET;
use tokio::sync::Notify;

use super::{Ready, Sent, Stage, Subscription};
use crate::hub::Cursor;

/// A group of viewers, seen from outside its pump.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    /// Wakes the pump.
    pub(super) wake: Arc<Notify>,
    /// The viewers. Locked by whoever writes to them, the pump or a publisher, never while waiting.
    groups: Mutex<Vec<Group>>,
    /// Who comes in, and where it stands.
    inbox: Mutex<Vec<(Arc<Subscription>, Cursor)>>,
    viewers: AtomicUsize,
    closed: AtomicBool,
    /// Whether members are over that the pump still holds, and with them their sockets.
    stale: AtomicBool,
}

impl Shard {
    pub(super) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    pub(super) fn enter(&self) {
        self.viewers.fetch_add(1, Ordering::Relaxed);
    }

    /// One viewer less; how many are left.
    pub(super) fn leave(&self) -> usize {
        self.viewers.fetch_sub(1, Ordering::Relaxed).saturating_sub(1)
    }

    /// Lets the pump drop the members that are over.
    pub(super) fn sweep(&self) {
        self.stale.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Ends the pump.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Hands a viewer over to the pump, which goes on from `cursor`.
    pub(crate) fn hand_over(&self, subscription: Arc<Subscription>, cursor: Cursor) {
        self.inbox.lock().push((subscription, cursor));
        self.wake.notify_one();
    }
}

/// Viewers that stand at the same place.
#[derive(Debug)]
struct Group {
    cursor: Cursor,
    members: Vec<Arc<Subscription>>,
}

/// Pumps until the shard is closed.
pub(super) async fn run(stage: Arc<Stage>, shard: Arc<Shard>) {
    loop {
        shard.wake.notified().await;
        if shard.closed.load(Ordering::Acquire) {
            // The members are over by now; their sockets must not be held by whoever holds the shard.
            shard.groups.lock().clear();
            return;
        }
        while shard.pump(&stage, &mut shard.groups.lock()) {
            // A burst that does not fit into one frame must not keep others from this thread.
            tokio::task::yield_now().await;
        }
    }
}

impl Shard {
    /// Writes what there is now, in the task that calls; where the pump is at it or more is left, the pump does it.
    pub(super) fn pump_now(&self, stage: &Stage) {
        let more = self.groups.try_lock().is_none_or(|mut groups| self.pump(stage, &mut groups));
        if more {
            self.wake.notify_one();
        }
    }

    /// One frame for each viewer. True when there is more.
    fn pump(&self, stage: &Stage, groups: &mut Vec<Group>) -> bool {
        if self.stale.swap(false, Ordering::AcqRel) {
            for group in groups.iter_mut() {
                group.members.retain(|member| member.is_active());
            }
            groups.retain(|group| !group.members.is_empty());
        }
        for (subscription, cursor) in std::mem::take(&mut *self.inbox.lock()) {
            seat(groups, cursor, vec![subscription]);
        }
        round(stage, groups)
    }
}

/// Puts `members` with those who stand at the same place.
fn seat(groups: &mut Vec<Group>, cursor: Cursor, mut members: Vec<Arc<Subscription>>) {
    match groups.iter_mut().find(|group| group.cursor == cursor) {
        Some(group) => group.members.append(&mut members),
        None => groups.push(Group { cursor, members }),
    }
}

/// Gives each group what comes next. True when there is more.
fn round(stage: &Stage, groups: &mut Vec<Group>) -> bool {
    let mut more = false;
    for group in std::mem::take(groups) {
        let Group { cursor, mut members } = group;
        let Some(slice) = stage.conversation.next(cursor, BATCH_BYTES_TARGET) else {
            // Out of the ring's reach: each catches up by the snapshot, in its own task.
            for member in members {
                member.outbox.park(Arc::clone(&member), cursor);
            }
            continue;
        };
        if !slice.is_empty() {
            let first = members.first().map_or(0, |member| member.sub);
            let ready = stage.ready(&slice, first);
            write(&ready, cursor, slice.cursor, &mut members);
            more |= slice.to < slice.head;
        }
        if !members.is_empty() {
            seat(groups, slice.cursor, members);
        }
    }
    more
}

/// Writes one frame to all members; keeps those whose sockets took it whole.
fn write(ready: &Ready, before: Cursor, after: Cursor, members: &mut Vec<Arc<Subscription>>) {
    // Most clients number their subscriptions alike: look a frame up only when the number changes.
    let mut last: Option<(Sub, bytes::Bytes)> = None;
    members.retain(|member| {
        let frame = match &last {
            Some((sub, frame)) if *sub == member.sub => frame,
            _ => &last.insert((member.sub, ready.frame(member.sub))).1,
        };
        match member.send(frame) {
            Sent::Whole => return true,
            Sent::Begun => member.outbox.park(Arc::clone(member), after),
            Sent::Blocked => member.outbox.park(Arc::clone(member), before),
            Sent::Over => member.outbox.wake.notify_one(),
        }
        false
    });
}
