//! A pump: one group of a conversation's viewers, with the task that writes to them.
//!
//! Within a pump, viewers at the same position form a [`ViewerGroup`], and each round reads one slice of the ring
//! per group. A viewer enters by [`Pump::hand_over`] and leaves when its subscription ends, or when its
//! socket takes no more bytes, the ring has moved on or its lens needs a snapshot; then the pump parks it at its outbox.
//!
//! ```text
//! hand_over ──▶ inbox ──next round──▶ group ──socket full──▶ parked at the outbox ──caught up──▶ hand_over
//!                                       │ subscription ended
//!                                       └──▶ dropped, by a sweep
//! ```

use std::cell::LazyCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use model::frame::{ServerFrame, SubscriptionId, SubscriptionOptions};
use model::limits::BATCH_BYTES_TARGET;
use model::{Mask, Seq};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{SendResult, Subscription, ViewedConversation};
use crate::hub::{AnnouncedViewers, Cursor, EncodedSlice, FrameCache, Slice};
use crate::tally::TALLY;
use crate::wire;

/// Viewers of one conversation with the same options, at most `VIEWERS_PER_PUMP`, and the handle of the task
/// that writes to them. Shared by that task, the `ViewedConversation` and the subscriptions; the task
/// ends at `Pump::close`.
#[derive(Debug)]
pub struct Pump {
    /// The options that all of them asked for.
    pub wish: SubscriptionOptions,
    /// The frames and the snapshot that they share with all who look through the same lens.
    pub frame_cache: Arc<FrameCache>,
    /// Wakes the task of the pump.
    pub(super) wake: Arc<Notify>,
    /// The viewers by position. Locked by the pump or by a publisher while it writes to them, never across an
    /// await.
    groups: Mutex<Vec<ViewerGroup>>,
    /// Viewers that were handed over and are not yet in a group, each with its position.
    inbox: Mutex<Vec<(Arc<Subscription>, Cursor)>>,
    /// How many viewers belong here, parked ones included.
    viewers: AtomicUsize,
    /// Whether the last viewer has left, so that the pump must end.
    closed: AtomicBool,
    /// Whether groups may hold subscriptions that have ended, and with them their sockets.
    stale: AtomicBool,
    /// How often presence had been taken when the members were last told.
    presence: AtomicUsize,
}

impl Pump {
    /// Makes a pump without viewers; `ViewedConversation::join` spawns its task.
    pub(super) fn new(wish: SubscriptionOptions, frame_cache: Arc<FrameCache>) -> Self {
        Self {
            wish,
            frame_cache,
            wake: Arc::default(),
            groups: Mutex::default(),
            inbox: Mutex::default(),
            viewers: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            stale: AtomicBool::new(false),
            presence: AtomicUsize::new(0),
        }
    }

    /// Whether its viewers get every event at once: no lens hides any, and no interval delays them.
    pub(super) fn is_plain(&self) -> bool {
        self.wish.min_interval_ms == 0 && self.frame_cache.is_clear()
    }

    /// How many viewers belong here, parked ones included.
    pub(super) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// Counts one viewer more.
    pub(super) fn enter(&self) {
        self.viewers.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one viewer less; returns how many are left.
    pub(super) fn leave(&self) -> usize {
        self.viewers.fetch_sub(1, Ordering::Relaxed).saturating_sub(1)
    }

    /// Makes the pump drop the members whose subscriptions have ended.
    pub(super) fn sweep(&self) {
        self.stale.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Ends the pump. Its members are dropped.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Hands a viewer over to the pump, which goes on from `cursor`.
    pub fn hand_over(&self, subscription: Arc<Subscription>, cursor: Cursor) {
        self.inbox.lock().push((subscription, cursor));
        self.wake.notify_one();
    }

    /// Whether the task has ended or is about to. If so the members are dropped here: they hold this pump and
    /// their sockets, and nobody would drop them later.
    fn let_go_if_closed(&self, groups: &mut Vec<ViewerGroup>) -> bool {
        let closed = self.closed.load(Ordering::Acquire);
        if closed {
            groups.clear();
            self.inbox.lock().clear();
        }
        closed
    }
}

/// Viewers at the same position.
#[derive(Debug)]
struct ViewerGroup {
    /// Up to where the conversation was read for them.
    cursor: Cursor,
    /// The last seq that they were told of. It is behind the cursor while nothing that their lens shows has
    /// come.
    told: Seq,
    /// The subscriptions; never empty between two rounds.
    members: Vec<Arc<Subscription>>,
}

impl ViewerGroup {
    /// The position from which a member goes on that is parked now.
    fn place(&self) -> Cursor {
        Cursor { seq: self.told, tick: self.cursor.tick }
    }

    /// Encodes `slice`, which its members are told of from then on.
    fn encode(&mut self, frame_cache: &FrameCache, slice: &Slice) -> Arc<EncodedSlice> {
        let first = self.members.first().map_or(0, |member| member.sub);
        self.told = slice.to;
        frame_cache.ready(slice, first)
    }
}

/// The result of one round over all groups.
#[derive(Debug, Default, Clone, Copy)]
struct RoundResult {
    /// Whether some slice ended before the head, so that another round is due.
    more: bool,
    /// Whether some members do not know yet how far the head is.
    owing: bool,
}

/// The body of a pump's task, until the pump is closed. A viewer whose lens hides what happens is told of the
/// new head within `coverage`.
pub(super) async fn run(viewed: Arc<ViewedConversation>, pump: Arc<Pump>, coverage: Duration) {
    let interval = Duration::from_millis(pump.wish.min_interval_ms.into());
    let mut cover_at: Option<Instant> = None;
    loop {
        let woken = pump.wake.notified();
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
        if pump.let_go_if_closed(&mut pump.groups.lock()) {
            return;
        }
        let mut round = pump.write_round(&viewed, &mut pump.groups.lock());
        while round.more {
            // A burst that does not fit into one frame must not keep others from this thread.
            tokio::task::yield_now().await;
            round = pump.write_round(&viewed, &mut pump.groups.lock());
        }
        if due && round.owing {
            cover(&pump.frame_cache, &mut pump.groups.lock());
            round.owing = false;
        }
        cover_at =
            round.owing.then(|| cover_at.filter(|_| !due).unwrap_or_else(|| Instant::now() + coverage));
        if !interval.is_zero() {
            tokio::time::sleep(interval).await;
        }
    }
}

/// Writes what there is to the viewers of each of `pumps` in the calling task, without waiting. All frames are made
/// first. A pump is woken if it is at work just now or if more is left. Locks the groups of all of them.
pub(super) fn write_at_once(pumps: &[(Arc<ViewedConversation>, Arc<Pump>)]) {
    let mut rounds = Vec::with_capacity(pumps.len());
    for (viewed, pump) in pumps {
        let mut groups = pump.groups.try_lock();
        let prepared = groups.as_mut().and_then(|groups| pump.prepare(viewed, groups));
        rounds.push((groups, prepared));
    }
    for ((viewed, pump), (groups, prepared)) in pumps.iter().zip(rounds) {
        let more = groups.is_none_or(|mut groups| match prepared {
            Some(prepared) => prepared.write(&mut groups),
            None => pump.write_round(viewed, &mut groups).more,
        });
        if more {
            pump.wake.notify_one();
        }
    }
}

/// What the only group of a pump lacks, with the group's cursor after it already.
struct PreparedRound {
    /// The frame, and the positions before and after it; `None` if there is nothing to write.
    frame: Option<(Arc<EncodedSlice>, Cursor, Cursor)>,
    /// Whether more is left.
    more: bool,
}

impl PreparedRound {
    /// Writes the frame to the members of the group. True if more is left.
    fn write(self, groups: &mut Vec<ViewerGroup>) -> bool {
        if let (Some((ready, before, after)), Some(group)) = (self.frame, groups.first_mut()) {
            write(&ready, before, after, &mut group.members);
            groups.retain(|group| !group.members.is_empty());
        }
        self.more
    }
}

impl Pump {
    /// Makes the frame of a round that has nothing to do but to write one frame to one group. `None` if there is more to do;
    /// nothing has changed then.
    fn prepare(&self, viewed: &ViewedConversation, groups: &mut [ViewerGroup]) -> Option<PreparedRound> {
        let [group] = groups else { return None };
        let is_ordinary = !self.closed.load(Ordering::Acquire)
            && !self.stale.load(Ordering::Acquire)
            && self.presence.load(Ordering::Relaxed) == viewed.conversation.presence.times()
            && self.inbox.lock().is_empty();
        if !is_ordinary || !self.is_plain() {
            return None;
        }
        let mut slice = viewed.conversation.next(group.cursor, BATCH_BYTES_TARGET)?;
        let more = slice.to < slice.head;
        let before = group.place();
        group.cursor = slice.cursor;
        let mut frame = None;
        if !slice.events.is_empty() || !slice.ephemera.is_empty() {
            slice.from = group.told + 1;
            frame = Some((group.encode(&self.frame_cache, &slice), before, slice.cursor));
        }
        Some(PreparedRound { frame, more })
    }

    /// Does one round: drops ended members, tells presence, seats newcomers, and writes at most one frame of
    /// events to each viewer.
    fn write_round(&self, viewed: &ViewedConversation, groups: &mut Vec<ViewerGroup>) -> RoundResult {
        // A publisher may come here when the pump has ended already.
        if self.let_go_if_closed(groups) {
            return RoundResult::default();
        }
        if self.stale.swap(false, Ordering::AcqRel) {
            for group in groups.iter_mut() {
                group.members.retain(|member| member.is_active());
            }
            groups.retain(|group| !group.members.is_empty());
        }
        let presence = &viewed.conversation.presence;
        let times = presence.times();
        // Read once for all members, and only in a round that tells somebody.
        let told = LazyCell::new(|| presence.told());
        let tells = |member: &Arc<Subscription>, place| {
            tell_presence(member, &told, self.frame_cache.mask().map(AsRef::as_ref), place)
        };
        if self.presence.swap(times, Ordering::Relaxed) != times {
            for group in groups.iter_mut() {
                let place = group.place();
                group.members.retain(|member| tells(member, place));
            }
            groups.retain(|group| !group.members.is_empty());
        }
        // A newcomer that has left already was counted out before, and is not seated.
        let newcomers = std::mem::take(&mut *self.inbox.lock());
        for (subscription, cursor) in newcomers.into_iter().filter(|(newcomer, _)| newcomer.is_active()) {
            if times == 0 || presence.is_stale() || tells(&subscription, cursor) {
                join_group(groups, ViewerGroup { cursor, told: cursor.seq, members: vec![subscription] });
            }
        }
        round(viewed, &self.frame_cache, groups)
    }
}

/// Tells `member`, whose position is `place`, who views the conversation, as far as its role may know. False if its
/// socket takes no more; the member is parked then.
fn tell_presence(
    member: &Arc<Subscription>,
    told: &AnnouncedViewers,
    mask: Option<&Mask>,
    place: Cursor,
) -> bool {
    let (key, names) = told.for_role(mask);
    let before = member.presence.swap(key, Ordering::Relaxed);
    if before == key {
        return true;
    }
    let frame =
        ServerFrame::Presence { sub: member.sub, viewers: told.viewers as u64, names: names.to_vec() };
    match member.send(&wire::text(&frame)) {
        SendResult::Whole => return true,
        SendResult::Begun => member.outbox.park(Arc::clone(member), place),
        SendResult::Blocked => {
            member.presence.store(before, Ordering::Relaxed);
            member.outbox.park(Arc::clone(member), place);
        }
        SendResult::Over => member.outbox.wake.notify_one(),
    }
    false
}

/// Adds the members of `group` to the group at the same position, if there is one.
fn join_group(groups: &mut Vec<ViewerGroup>, mut group: ViewerGroup) {
    match groups.iter_mut().find(|known| known.cursor == group.cursor && known.told == group.told) {
        Some(known) => known.members.append(&mut group.members),
        None => groups.push(group),
    }
}

/// Gives each group the slice after its cursor, one frame for each. Groups that come to the same position are
/// joined.
fn round(
    viewed: &ViewedConversation,
    frame_cache: &FrameCache,
    groups: &mut Vec<ViewerGroup>,
) -> RoundResult {
    let mut round = RoundResult::default();
    for mut group in std::mem::take(groups) {
        let slice = viewed.conversation.next(group.cursor, BATCH_BYTES_TARGET);
        let Some(mut slice) = slice.and_then(|slice| frame_cache.visible(&viewed.conversation, slice)) else {
            // The ring does not reach back to the cursor, or no sequence of events shows what the lens would
            // show: each member gets the snapshot, in the task of its socket.
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
            write_slice(frame_cache, &slice, before, &mut group);
        }
        round.owing |= group.told < group.cursor.seq;
        if !group.members.is_empty() {
            join_group(groups, group);
        }
    }
    round
}

/// Tells all members that are behind their cursor how far the head is.
fn cover(frame_cache: &FrameCache, groups: &mut Vec<ViewerGroup>) {
    for mut group in std::mem::take(groups) {
        if group.told < group.cursor.seq {
            let slice = Slice::nothing(group.told, group.cursor);
            write_slice(frame_cache, &slice, group.place(), &mut group);
        }
        if !group.members.is_empty() {
            join_group(groups, group);
        }
    }
}

/// Writes `slice` to all members of `group`; `before` is their position without it.
fn write_slice(frame_cache: &FrameCache, slice: &Slice, before: Cursor, group: &mut ViewerGroup) {
    let ready = group.encode(frame_cache, slice);
    write(&ready, before, slice.cursor, &mut group.members);
}

/// Writes one frame to all members and keeps those whose sockets took it whole. The others are parked: at
/// `after` if the frame was begun, at `before` if it was not taken.
fn write(ready: &EncodedSlice, before: Cursor, after: Cursor, members: &mut Vec<Arc<Subscription>>) {
    // Most clients number their subscriptions alike: look a frame up only when the number changes.
    let mut last: Option<(SubscriptionId, bytes::Bytes)> = None;
    let (mut frames, mut bytes) = (0, 0);
    members.retain(|member| {
        let frame = match &last {
            Some((sub, frame)) if *sub == member.sub => frame,
            _ => &last.insert((member.sub, ready.frame(member.sub))).1,
        };
        match member.send(frame) {
            SendResult::Whole => {
                (frames, bytes) = (frames + 1, bytes + frame.len() as u64);
                return true;
            }
            SendResult::Begun => member.outbox.park(Arc::clone(member), after),
            SendResult::Blocked => member.outbox.park(Arc::clone(member), before),
            SendResult::Over => member.outbox.wake.notify_one(),
        }
        false
    });
    // Counted once for all of them, so that the counters cost nothing per viewer.
    TALLY.frames.add(frames);
    TALLY.frame_bytes.add(bytes);
}

#[cfg(test)]
mod tests;
