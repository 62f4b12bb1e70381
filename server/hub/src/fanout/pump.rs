//! A pump: the task that writes to one group of a conversation's viewers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use model::Seq;
use model::frame::{ServerFrame, SubscriptionId, SubscriptionOptions};
use model::limits::BATCH_BYTES_TARGET;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Sent, Stage, Subscription};
use crate::hub::{Cursor, Ready, Sight, Slice};
use crate::tally::TALLY;
use crate::wire;

/// A group of viewers, seen from outside its pump.
#[derive(Debug)]
pub struct Shard {
    /// What all of them wish for.
    pub wish: SubscriptionOptions,
    /// What they share with others who see the same.
    pub sight: Arc<Sight>,
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
    /// How often it was said how many viewers the conversation has.
    presence: AtomicUsize,
}

impl Shard {
    pub(super) fn new(wish: SubscriptionOptions, sight: Arc<Sight>) -> Self {
        Self {
            wish,
            sight,
            wake: Arc::default(),
            groups: Mutex::default(),
            inbox: Mutex::default(),
            viewers: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            stale: AtomicBool::new(false),
            presence: AtomicUsize::new(0),
        }
    }

    /// Whether its viewers get everything at once.
    pub(super) fn is_plain(&self) -> bool {
        self.wish.min_interval_ms == 0 && self.sight.is_clear()
    }

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
    pub fn hand_over(&self, subscription: Arc<Subscription>, cursor: Cursor) {
        self.inbox.lock().push((subscription, cursor));
        self.wake.notify_one();
    }

    /// Whether the pump has ended, or is about to. Then the members are over, and are let go: they hold this shard and their
    /// sockets, and nobody would look at them again.
    fn let_go_if_closed(&self, groups: &mut Vec<Group>) -> bool {
        let closed = self.closed.load(Ordering::Acquire);
        if closed {
            groups.clear();
            self.inbox.lock().clear();
        }
        closed
    }
}

/// Viewers that stand at the same place.
#[derive(Debug)]
struct Group {
    /// What was looked at for them.
    cursor: Cursor,
    /// What they know of. Behind the cursor where nothing that they see came since.
    told: Seq,
    members: Vec<Arc<Subscription>>,
}

impl Group {
    /// Where they stand, as far as they know.
    fn place(&self) -> Cursor {
        Cursor { seq: self.told, tick: self.cursor.tick }
    }
}

/// What one round came to.
#[derive(Debug, Default, Clone, Copy)]
struct Round {
    /// There is more.
    more: bool,
    /// Some do not know yet how far the conversation is.
    owing: bool,
}

/// Pumps until the shard is closed. Who sees nothing of what happens hears that something did within `coverage`.
pub(super) async fn run(stage: Arc<Stage>, shard: Arc<Shard>, coverage: Duration) {
    let interval = Duration::from_millis(shard.wish.min_interval_ms.into());
    let mut cover_at: Option<Instant> = None;
    loop {
        let woken = shard.wake.notified();
        let due = match cover_at {
            None => {
                woken.await;
                false
            }
            Some(at) => tokio::select! {
                () = woken => Instant::now() >= at,
                () = tokio::time::sleep_until(at) => true,
            },
        };
        if shard.let_go_if_closed(&mut shard.groups.lock()) {
            return;
        }
        let mut round = shard.pump(&stage, &mut shard.groups.lock());
        while round.more {
            // A burst that does not fit into one frame must not keep others from this thread.
            tokio::task::yield_now().await;
            round = shard.pump(&stage, &mut shard.groups.lock());
        }
        if due && round.owing {
            cover(&shard.sight, &mut shard.groups.lock());
            round.owing = false;
        }
        cover_at =
            round.owing.then(|| cover_at.filter(|_| !due).unwrap_or_else(|| Instant::now() + coverage));
        if !interval.is_zero() {
            tokio::time::sleep(interval).await;
        }
    }
}

impl Shard {
    /// Writes what there is now, in the task that calls; where the pump is at it or more is left, the pump does it.
    pub(super) fn pump_now(&self, stage: &Stage) {
        let more = self.groups.try_lock().is_none_or(|mut groups| self.pump(stage, &mut groups).more);
        if more {
            self.wake.notify_one();
        }
    }

    /// One frame for each viewer.
    fn pump(&self, stage: &Stage, groups: &mut Vec<Group>) -> Round {
        // A publisher may come here when the pump has ended already.
        if self.let_go_if_closed(groups) {
            return Round::default();
        }
        if self.stale.swap(false, Ordering::AcqRel) {
            for group in groups.iter_mut() {
                group.members.retain(|member| member.is_active());
            }
            groups.retain(|group| !group.members.is_empty());
        }
        let presence = &stage.conversation.presence;
        let (viewers, times) = presence.told();
        if self.presence.swap(times, Ordering::Relaxed) != times {
            for group in groups.iter_mut() {
                let place = group.place();
                group.members.retain(|member| tell_presence(member, viewers, place));
            }
            groups.retain(|group| !group.members.is_empty());
        }
        // Who left before it was seated was swept already, or is about to be.
        let newcomers = std::mem::take(&mut *self.inbox.lock());
        for (subscription, cursor) in newcomers.into_iter().filter(|(newcomer, _)| newcomer.is_active()) {
            if times == 0 || presence.is_stale() || tell_presence(&subscription, viewers, cursor) {
                seat(groups, Group { cursor, told: cursor.seq, members: vec![subscription] });
            }
        }
        round(stage, &self.sight, groups)
    }
}

/// Tells `member`, who stands at `place`, how many watch. False when its socket takes no more.
fn tell_presence(member: &Arc<Subscription>, viewers: usize, place: Cursor) -> bool {
    let before = member.presence.swap(viewers, Ordering::Relaxed);
    if before == viewers {
        return true;
    }
    let frame = ServerFrame::Presence { sub: member.sub, viewers: viewers as u64 };
    match member.send(&wire::text(&frame)) {
        Sent::Whole => return true,
        Sent::Begun => member.outbox.park(Arc::clone(member), place),
        Sent::Blocked => {
            member.presence.store(before, Ordering::Relaxed);
            member.outbox.park(Arc::clone(member), place);
        }
        Sent::Over => member.outbox.wake.notify_one(),
    }
    false
}

/// Puts the members of `group` with those who stand at the same place.
fn seat(groups: &mut Vec<Group>, mut group: Group) {
    match groups.iter_mut().find(|known| known.cursor == group.cursor && known.told == group.told) {
        Some(known) => known.members.append(&mut group.members),
        None => groups.push(group),
    }
}

/// Gives each group what comes next.
fn round(stage: &Stage, sight: &Sight, groups: &mut Vec<Group>) -> Round {
    let mut round = Round::default();
    for mut group in std::mem::take(groups) {
        let slice = stage.conversation.next(group.cursor, BATCH_BYTES_TARGET);
        let Some(mut slice) = slice.and_then(|slice| sight.see(&stage.conversation, slice)) else {
            // Out of the ring's reach, or nothing that events can tell: each catches up by the snapshot, in its own task.
            let place = group.place();
            for member in group.members {
                member.outbox.park(Arc::clone(&member), place);
            }
            continue;
        };
        round.more |= slice.to < slice.head;
        let before = group.place();
        group.cursor = slice.cursor;
        if !slice.events.is_empty() || !slice.ephemera.is_empty() {
            slice.from = group.told + 1;
            give(sight, &slice, before, &mut group);
        }
        round.owing |= group.told < group.cursor.seq;
        if !group.members.is_empty() {
            seat(groups, group);
        }
    }
    round
}

/// Tells all how far the conversation is.
fn cover(sight: &Sight, groups: &mut Vec<Group>) {
    for mut group in std::mem::take(groups) {
        if group.told < group.cursor.seq {
            let slice = Slice::nothing(group.told, group.cursor);
            give(sight, &slice, group.place(), &mut group);
        }
        if !group.members.is_empty() {
            seat(groups, group);
        }
    }
}

/// Writes `slice` to all of `group`, who stand at `before`.
fn give(sight: &Sight, slice: &Slice, before: Cursor, group: &mut Group) {
    let first = group.members.first().map_or(0, |member| member.sub);
    let ready = sight.ready(slice, first);
    group.told = slice.to;
    write(&ready, before, slice.cursor, &mut group.members);
}

/// Writes one frame to all members; keeps those whose sockets took it whole.
fn write(ready: &Ready, before: Cursor, after: Cursor, members: &mut Vec<Arc<Subscription>>) {
    // Most clients number their subscriptions alike: look a frame up only when the number changes.
    let mut last: Option<(SubscriptionId, bytes::Bytes)> = None;
    let (mut frames, mut bytes) = (0, 0);
    members.retain(|member| {
        let frame = match &last {
            Some((sub, frame)) if *sub == member.sub => frame,
            _ => &last.insert((member.sub, ready.frame(member.sub))).1,
        };
        match member.send(frame) {
            Sent::Whole => {
                (frames, bytes) = (frames + 1, bytes + frame.len() as u64);
                return true;
            }
            Sent::Begun => member.outbox.park(Arc::clone(member), after),
            Sent::Blocked => member.outbox.park(Arc::clone(member), before),
            Sent::Over => member.outbox.wake.notify_one(),
        }
        false
    });
    // Once for all of them.
    TALLY.frames.add(frames);
    TALLY.frame_bytes.add(bytes);
}

#[cfg(test)]
mod tests;
