//! A subscription that is behind: at its start, and whenever its socket took less than what was said. It gets the
//! snapshot or everything after its cursor, one frame whenever the socket has taken the last; when nothing is left its
//! pump takes over.

use std::sync::Arc;

use shared::Position;
use shared::frame::{ServerFrame, SnapshotReason, SubMode};
use shared::limits::BATCH_BYTES_TARGET;

use crate::fanout::{Fanout, Far, Place, Sight, Stage, Subscription};
use crate::hub::{Cursor, Slice};
use crate::wire;

/// See the module.
#[derive(Debug)]
pub(super) struct CatchUp {
    pub(super) subscription: Arc<Subscription>,
    cursor: Cursor,
    /// The snapshot comes next.
    snapshot: bool,
    /// Why, although the client has something.
    why: Option<SnapshotReason>,
    /// `subbed` was not sent yet.
    greet: bool,
    /// `live` is owed.
    live: bool,
}

/// How far one step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// One frame is queued; there may be more.
    More,
    /// Nothing is left: the pump has it.
    Done,
}

impl CatchUp {
    /// A new subscription, whose client has `have`.
    pub(super) fn start(subscription: Arc<Subscription>, have: Option<&Position>) -> Self {
        let (why, tail) = match (&subscription.place, have) {
            (Place::Conversation(stage, shard), Some(have)) => match unfit(stage, &shard.sight, have) {
                Some(why) => (Some(why), None),
                None => (None, Some(have.seq)),
            },
            _ => (None, None),
        };
        let cursor = Cursor { seq: tail.unwrap_or(0), tick: 0 };
        Self { subscription, cursor, snapshot: tail.is_none(), why, greet: true, live: true }
    }

    /// A subscription whose client asked for the snapshot.
    pub(super) fn resync(subscription: Arc<Subscription>) -> Self {
        let why = Some(SnapshotReason::Requested);
        Self { subscription, cursor: Cursor::default(), snapshot: true, why, greet: true, live: true }
    }

    /// A subscription that its pump gave up at `cursor`.
    pub(super) fn parked(subscription: Arc<Subscription>, cursor: Cursor) -> Self {
        Self { subscription, cursor, snapshot: false, why: None, greet: false, live: false }
    }

    /// Queues the next frame, or hands over to the pump. Call it only when the socket has taken everything so far.
    pub(super) fn step(&mut self, fanout: &Fanout) -> Step {
        let subscription = Arc::clone(&self.subscription);
        let Place::Conversation(stage, shard) = &subscription.place else {
            fanout.fleet.start(&subscription);
            return Step::Done;
        };
        if self.greet {
            self.greet = false;
            let mode = if self.snapshot { SubMode::Snapshot } else { SubMode::Tail };
            self.subbed(stage, mode, self.why);
        }
        let (conversation, sight) = (&stage.conversation, &shard.sight);
        if self.snapshot {
            self.snapshot(stage, sight);
            return Step::More;
        }
        let near = sight.is_far(conversation, self.cursor.seq) == Far::No;
        let slice = if near { conversation.next(self.cursor, BATCH_BYTES_TARGET) } else { None };
        let is_last = slice.as_ref().is_some_and(Slice::is_empty);
        let Some(slice) = slice.and_then(|slice| sight.see(conversation, slice)) else {
            self.subbed(stage, SubMode::Snapshot, Some(SnapshotReason::Lagging));
            self.snapshot(stage, sight);
            return Step::More;
        };
        if is_last {
            if self.live {
                self.queue(&ServerFrame::Live { sub: subscription.sub, seq: self.cursor.seq });
            }
            shard.hand_over(Arc::clone(&subscription), self.cursor);
            return Step::Done;
        }
        if !slice.is_empty() {
            subscription.outbox.queue([sight.ready(&slice, subscription.sub).frame(subscription.sub)]);
        }
        self.cursor = slice.cursor;
        Step::More
    }

    fn queue(&self, frame: &ServerFrame) {
        self.subscription.outbox.queue([wire::text(frame)]);
    }

    fn subbed(&self, stage: &Stage, mode: SubMode, why: Option<SnapshotReason>) {
        let epoch = stage.conversation.epoch().clone();
        let head = stage.conversation.head();
        self.queue(&ServerFrame::Subbed { sub: self.subscription.sub, epoch, mode, why, head });
    }

    fn snapshot(&mut self, stage: &Stage, sight: &Sight) {
        let (seq, state) = sight.snapshot(&stage.conversation);
        let epoch = stage.conversation.epoch();
        self.subscription.outbox.queue(wire::snapshot(self.subscription.sub, epoch, seq, &state));
        // Ephemeral facts are in no snapshot: all that count come again.
        self.cursor = Cursor { seq, tick: 0 };
        self.snapshot = false;
        self.live = true;
    }
}

/// Why events after `have` will not do.
fn unfit(stage: &Stage, sight: &Sight, have: &Position) -> Option<SnapshotReason> {
    if have.epoch != *stage.conversation.epoch() {
        return Some(SnapshotReason::EpochChanged);
    }
    if have.seq > stage.conversation.head() {
        return Some(SnapshotReason::AheadOfHead);
    }
    match sight.is_far(&stage.conversation, have.seq) {
        Far::No => None,
        Far::OutOfReach => Some(SnapshotReason::TooOld),
        Far::Cheaper => Some(SnapshotReason::Cheaper),
    }
}
