//! Catching up: a subscription that is behind, at its start and whenever its socket took less than there was.
//! It gets the snapshot or everything after its cursor, one frame each time the socket has taken the last
//! one. When nothing is left, its pump takes over.
//!
//! ```text
//! sub ─▶ subbed(snapshot) ─▶ snap … ─▶ batch … ─▶ live ─▶ pump
//! sub ─▶ subbed(tail)     ─▶           batch … ─▶ live ─▶ pump
//! pump parks it at a cursor ─▶ batch … ─▶ pump                    `lag` besides, if it is behind for long
//!                           └─▶ subbed(snapshot, lagging) ─▶ snap … ─▶ live ─▶ pump
//! ```
//!
//! Either way a client that follows the frames has no hole (I2). While it is behind its outbox has one frame
//! or one snapshot, not a queue; the rest waits in the ring that all viewers share (I8).

use std::sync::Arc;

use model::Position;
use model::frame::{Rung, ServerFrame, SnapshotReason, SubMode};
use model::limits::BATCH_BYTES_TARGET;
use tokio::time::Instant;

use hub::BEHIND_AFTER;
use hub::wire;
use hub::{Cursor, Slice};
use hub::{
    Fanout, FrameCache, Ladder, Snapshot, SnapshotNeed, Subscription, SubscriptionTarget, ViewedConversation,
};

/// A subscription that is behind, and what it is sent next. Owned by the socket's [`super::feed::Feed`];
/// dropping it leaves the subscription without anybody who serves it.
#[derive(Debug)]
pub(super) struct CatchUp {
    /// The subscription that is served.
    pub(super) subscription: Arc<Subscription>,
    /// Up to where the client was sent events.
    cursor: Cursor,
    /// Whether the snapshot comes next.
    snapshot: bool,
    /// Why the snapshot comes although the client has a position.
    why: Option<SnapshotReason>,
    /// Whether `subbed` is still to be sent.
    greet: bool,
    /// Whether `live` is still to be sent.
    live: bool,
    /// When its pump parked it; `None` for a new subscription.
    parked_at: Option<Instant>,
    /// The rung that the client was last told.
    told: Rung,
}

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A frame is queued, and there may be more.
    More,
    /// Nothing is left, and the pump serves the subscription.
    Done,
    /// The subscription must begin anew, with another window.
    Anew,
}

impl CatchUp {
    /// Begins a new subscription. `have` is the position of the client, if it has one.
    pub(super) fn start(subscription: Arc<Subscription>, have: Option<&Position>) -> Self {
        let (why, tail) = match (&subscription.place, have) {
            (SubscriptionTarget::Conversation(..), Some(_)) if !subscription.keeps() => {
                (Some(SnapshotReason::TooOld), None)
            }
            (SubscriptionTarget::Conversation(viewed, pump), Some(have)) => {
                match unfit(viewed, &pump.frame_cache, have) {
                    Some(why) => (Some(why), None),
                    None => (None, Some(have.seq)),
                }
            }
            _ => (None, None),
        };
        let cursor = Cursor { seq: tail.unwrap_or(0), tick: 0 };
        Self {
            subscription,
            cursor,
            snapshot: tail.is_none(),
            why,
            greet: true,
            live: true,
            parked_at: None,
            told: Rung::Immediate,
        }
    }

    /// Begins a subscription whose client asked for the snapshot.
    pub(super) fn resync(subscription: Arc<Subscription>) -> Self {
        Self { why: Some(SnapshotReason::Requested), ..Self::start(subscription, None) }
    }

    /// Begins a subscription whose conversation was replaced by one in another epoch.
    pub(super) fn replaced(subscription: Arc<Subscription>) -> Self {
        Self { why: Some(SnapshotReason::EpochChanged), ..Self::start(subscription, None) }
    }

    /// Begins a subscription whose client gets another window, since a run before the one that it had goes on.
    pub(super) fn other_window(subscription: Arc<Subscription>) -> Self {
        Self { why: Some(SnapshotReason::Lagging), ..Self::start(subscription, None) }
    }

    /// Takes over a subscription that its pump parked at `cursor`.
    pub(super) fn parked(subscription: Arc<Subscription>, cursor: Cursor) -> Self {
        let parked_at = Some(Instant::now());
        let told = Rung::Immediate;
        Self { subscription, cursor, snapshot: false, why: None, greet: false, live: false, parked_at, told }
    }

    /// Counts the viewer as behind if it has been catching up for long enough, although that cannot be
    /// told yet. Returns when to check again.
    pub(super) fn look(&self, now: Instant, ladder: &Ladder) -> Option<Instant> {
        let behind_at = self.parked_at.filter(|_| self.told == Rung::Immediate)? + BEHIND_AFTER;
        if now < behind_at {
            return Some(behind_at);
        }
        ladder.step(&self.subscription.standing, Rung::Merged);
        None
    }

    /// Tells the client its rung if that has changed.
    fn stands(&mut self, viewed: &ViewedConversation, ladder: &Ladder, rung: Rung) {
        if self.told == rung {
            return;
        }
        self.told = rung;
        ladder.step(&self.subscription.standing, rung);
        let behind = self.parked_at.filter(|_| rung != Rung::Immediate).map(|at| at.elapsed().as_millis());
        let head = viewed.conversation.head();
        self.queue(&ServerFrame::Lag {
            sub: self.subscription.sub,
            state: rung,
            behind_events: head.saturating_sub(self.cursor.seq),
            behind_ms: behind.map_or(0, |ms| u64::try_from(ms).unwrap_or(u64::MAX)),
        });
    }

    /// Queues the next frame, or hands over to the pump. Call it only when the socket has taken everything
    /// before.
    pub(super) fn step(&mut self, fanout: &Fanout) -> Step {
        let subscription = Arc::clone(&self.subscription);
        let SubscriptionTarget::Conversation(viewed, pump) = &subscription.place else {
            fanout.fleet.start(&subscription);
            return Step::Done;
        };
        let (conversation, frame_cache) = (&viewed.conversation, &pump.frame_cache);
        let ladder = &fanout.ladder;
        if self.snapshot && frame_cache.hides_running(conversation) {
            return self.anew(viewed, ladder);
        }
        if self.greet {
            self.greet = false;
            let mode = if self.snapshot { SubMode::Snapshot } else { SubMode::Tail };
            self.subbed(viewed, mode, self.why);
        }
        if self.told == Rung::Immediate && self.parked_at.is_some_and(|at| at.elapsed() >= BEHIND_AFTER) {
            self.stands(viewed, ladder, Rung::Merged);
        }
        if self.snapshot {
            self.snapshot(viewed, frame_cache);
            return Step::More;
        }
        let near = frame_cache.snapshot_need(conversation, self.cursor.seq) == SnapshotNeed::No;
        let slice = if near { conversation.next(self.cursor, BATCH_BYTES_TARGET) } else { None };
        let is_last = slice.as_ref().is_some_and(Slice::is_empty);
        let Some(slice) = slice.and_then(|slice| frame_cache.visible(conversation, slice)) else {
            if frame_cache.hides_running(conversation) {
                return self.anew(viewed, ladder);
            }
            self.stands(viewed, ladder, Rung::Snapshot);
            self.subbed(viewed, SubMode::Snapshot, Some(SnapshotReason::Lagging));
            self.snapshot(viewed, frame_cache);
            return Step::More;
        };
        if is_last {
            self.stands(viewed, ladder, Rung::Immediate);
            ladder.step(&subscription.standing, Rung::Immediate);
            if self.live {
                self.queue(&ServerFrame::Live { sub: subscription.sub, seq: self.cursor.seq });
            }
            pump.hand_over(Arc::clone(&subscription), self.cursor);
            return Step::Done;
        }
        if !slice.is_empty() {
            subscription.outbox.queue([frame_cache.ready(&slice, subscription.sub).frame(subscription.sub)]);
        }
        self.cursor = slice.cursor;
        Step::More
    }

    /// Leaves the subscription to whoever begins it anew. The client is told that it is not behind any more: what it
    /// gets next is the newest state.
    fn anew(&mut self, viewed: &ViewedConversation, ladder: &Ladder) -> Step {
        self.stands(viewed, ladder, Rung::Immediate);
        Step::Anew
    }

    /// Queues a frame for the client.
    fn queue(&self, frame: &ServerFrame) {
        self.subscription.outbox.queue([wire::text(frame)]);
    }

    /// Queues `subbed`, which says how the subscription goes on.
    fn subbed(&self, viewed: &ViewedConversation, mode: SubMode, why: Option<SnapshotReason>) {
        let epoch = viewed.conversation.epoch().clone();
        let head = viewed.conversation.head();
        self.queue(&ServerFrame::Subbed { sub: self.subscription.sub, epoch, mode, why, head });
    }

    /// Queues the snapshot for the client.
    fn snapshot(&mut self, viewed: &ViewedConversation, frame_cache: &FrameCache) {
        let conversation = &viewed.conversation;
        let is_wrong = self.why == Some(SnapshotReason::Requested);
        let snapshot =
            if is_wrong { frame_cache.newest(conversation) } else { frame_cache.snapshot(conversation) };
        let Snapshot { seq, pieces } = snapshot;
        let epoch = conversation.epoch();
        for (number, piece) in pieces.iter().enumerate() {
            let more = number + 1 < pieces.len();
            self.subscription.outbox.queue(wire::snapshot(self.subscription.sub, epoch, seq, piece, more));
        }
        // Snapshots contain no ephemeral events, so all current ones are sent again.
        self.cursor = Cursor { seq, tick: 0 };
        self.snapshot = false;
        self.live = true;
    }
}

/// Why the client cannot go on with the events after `have`; `None` if it can.
fn unfit(viewed: &ViewedConversation, frame_cache: &FrameCache, have: &Position) -> Option<SnapshotReason> {
    if have.epoch != *viewed.conversation.epoch() {
        return Some(SnapshotReason::EpochChanged);
    }
    if have.seq > viewed.conversation.head() {
        return Some(SnapshotReason::AheadOfHead);
    }
    match frame_cache.snapshot_need(&viewed.conversation, have.seq) {
        SnapshotNeed::No => None,
        SnapshotNeed::OutOfReach => Some(SnapshotReason::TooOld),
        SnapshotNeed::Cheaper => Some(SnapshotReason::Cheaper),
    }
}
