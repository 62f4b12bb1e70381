//! From conversations to sockets. The viewers of a conversation are grouped; each group has one task, a pump, that is
//! woken once for whatever was appended and writes one shared frame to every socket of its group without waiting.
//! Waking a task for each viewer would cost more than the writing.
//!
//! A socket that takes no more is given up by the pump ([`Outbox::park`]); its own task catches up, with everything
//! that came meanwhile in one frame or by the snapshot, and hands it back. So a slow viewer costs the others nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use parking_lot::Mutex;
use shared::frame::Sub;
use shared::limits::SNAPSHOT_WHEN_BEHIND_BYTES;
use shared::{ConversationId, Seq, snapshot};
use tokio_util::task::TaskTracker;

use crate::hub::{Appended, Conversation, Cursor, Hub, OpenError, Publication, PublishError, Slice};
use crate::wire;

pub(crate) mod fleet;
mod orphans;
pub(crate) mod outbox;
mod pump;

pub(crate) use outbox::{Line, Outbox, Sent};
use pump::Shard;

/// Most viewers that one pump serves. A round over all of them is some hundred microseconds of work.
const VIEWERS_PER_PUMP: usize = 256;

/// Most viewers that the task of a publisher writes to by itself: some tens of microseconds, none of them waiting.
const VIEWERS_AT_ONCE: usize = 16;

/// A cached snapshot may be older than the newest event by this many bytes of events, which then follow it.
const SNAPSHOT_AGE_BYTES: u64 = (SNAPSHOT_WHEN_BEHIND_BYTES / 4) as u64;

/// How many shared frames a stage remembers. Pumps of one conversation go the same steps, about at the same time.
const FRAMES_KEPT: usize = 4;

/// One subscription of one socket.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// The socket.
    pub(crate) outbox: Arc<Outbox>,
    /// Its number on the socket.
    pub(crate) sub: Sub,
    /// Whether it goes on; see [`Outbox::deactivate`].
    pub(crate) active: AtomicBool,
    /// What it is of.
    pub(crate) place: Place,
}

/// What a subscription is of.
#[derive(Debug)]
pub(crate) enum Place {
    /// A conversation, in this group of its viewers.
    Conversation(Arc<Stage>, Arc<Shard>),
    /// The list of conversations.
    Fleet,
}

impl Subscription {
    /// Sends a frame of this subscription now or not at all.
    pub(crate) fn send(&self, frame: &Bytes) -> Sent {
        self.outbox.send(&self.active, frame)
    }

    /// Whether it goes on.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }
}

/// All conversations that are being viewed.
#[derive(Debug)]
pub(crate) struct Fanout {
    hub: Arc<Hub>,
    stages: DashMap<ConversationId, Arc<Stage>>,
    tasks: TaskTracker,
    /// The viewers of the list of conversations.
    pub(crate) fleet: fleet::Fleet,
}

impl Fanout {
    /// Over `hub`; pumps run in `tasks`.
    pub(crate) fn new(hub: Arc<Hub>, tasks: TaskTracker) -> Self {
        let fleet = fleet::Fleet::new(Arc::clone(&hub));
        Self { hub, stages: DashMap::new(), tasks, fleet }
    }

    /// Makes a subscription of the conversation `id`. It gets nothing before it is handed to its pump.
    pub(crate) fn enter(
        &self,
        id: &ConversationId,
        outbox: &Arc<Outbox>,
        sub: Sub,
    ) -> Result<Arc<Subscription>, OpenError> {
        let conversation = self.hub.enter(id)?;
        let (stage, shard) = match self.stages.entry(id.clone()) {
            Entry::Occupied(mut found) => {
                // A conversation that was dropped and made again is another one.
                if !Arc::ptr_eq(&found.get().conversation, &conversation) {
                    found.insert(Arc::new(Stage::new(conversation)));
                }
                let stage = Arc::clone(found.get());
                let shard = stage.join(&self.tasks);
                (stage, shard)
            }
            Entry::Vacant(place) => {
                let stage = Arc::clone(&place.insert(Arc::new(Stage::new(conversation))));
                let shard = stage.join(&self.tasks);
                (stage, shard)
            }
        };
        Ok(Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            place: Place::Conversation(stage, shard),
        }))
    }

    /// Appends to the conversation `id`, and shows it.
    pub(crate) fn publish(
        &self,
        id: &ConversationId,
        publication: Publication,
    ) -> Result<Appended, PublishError> {
        let appended = self.hub.publish(id, publication)?;
        self.stir(id);
        Ok(appended)
    }

    /// Sees to it that the viewers of `id` get what was appended. A few are written to at once, since that costs less
    /// than to wake a task; more than a few have their pumps woken. Call it once for a burst of appends.
    pub(crate) fn stir(&self, id: &ConversationId) {
        let stage = self.stages.get(id).map(|found| Arc::clone(&found));
        if let Some(stage) = stage {
            stage.stir();
        }
    }

    /// Ends a subscription, of whatever it is.
    pub(crate) fn leave(&self, subscription: &Arc<Subscription>) {
        subscription.outbox.deactivate(&subscription.active);
        match &subscription.place {
            Place::Fleet => self.fleet.leave(subscription),
            Place::Conversation(stage, shard) => {
                match self.stages.entry(stage.conversation.id().clone()) {
                    Entry::Occupied(found) if Arc::ptr_eq(found.get(), stage) => {
                        if stage.quit(shard) {
                            found.remove();
                        }
                    }
                    // Another life of the conversation has the place.
                    _ => drop(stage.quit(shard)),
                }
                self.hub.leave(&stage.conversation);
            }
        }
    }
}

/// A conversation that is being viewed: its groups of viewers, and the bytes that they share.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The conversation.
    pub(crate) conversation: Arc<Conversation>,
    shards: Mutex<Vec<Arc<Shard>>>,
    snapshot: Mutex<Option<(Seq, Bytes)>>,
    frames: Mutex<Vec<Arc<Ready>>>,
}

impl Stage {
    fn new(conversation: Arc<Conversation>) -> Self {
        Self { conversation, shards: Mutex::default(), snapshot: Mutex::default(), frames: Mutex::default() }
    }

    /// The group for one more viewer.
    fn join(self: &Arc<Self>, tasks: &TaskTracker) -> Arc<Shard> {
        let mut shards = self.shards.lock();
        let roomy = shards.iter().find(|shard| shard.viewers() < VIEWERS_PER_PUMP).map(Arc::clone);
        let shard = if let Some(shard) = roomy {
            shard
        } else {
            let shard = Arc::new(Shard::default());
            tasks.spawn(pump::run(Arc::clone(self), Arc::clone(&shard)));
            shards.push(Arc::clone(&shard));
            shard
        };
        shard.enter();
        shard
    }

    fn stir(&self) {
        let shards = self.shards.lock();
        match shards.as_slice() {
            [only] if only.viewers() <= VIEWERS_AT_ONCE => {
                let only = Arc::clone(only);
                drop(shards);
                only.pump_now(self);
            }
            all => all.iter().for_each(|shard| shard.wake.notify_one()),
        }
    }

    /// One viewer less in `shard`. True when no group is left.
    fn quit(&self, shard: &Arc<Shard>) -> bool {
        let mut shards = self.shards.lock();
        if shard.leave() == 0 {
            shards.retain(|known| !Arc::ptr_eq(known, shard));
            shard.close();
        } else {
            shard.sweep();
        }
        shards.is_empty()
    }

    /// The state at a position that the ring still reaches, encoded once for all who need it.
    pub(crate) fn snapshot(&self) -> (Seq, Bytes) {
        let mut cached = self.snapshot.lock();
        if let Some((seq, state)) = &*cached {
            let behind = self.conversation.bytes_after(*seq);
            if behind.is_some_and(|bytes| bytes <= SNAPSHOT_AGE_BYTES) {
                return (*seq, state.clone());
            }
        }
        // A copy is several times faster than the encoding, and nobody can append while the view is borrowed.
        let view = self.conversation.view();
        let state = Bytes::from(snapshot::encode(&view));
        *cached = Some((view.seq, state.clone()));
        (view.seq, state)
    }

    /// Whether a viewer at `seq` is better served with the snapshot, since the ring is too short or what it lacks is
    /// more than the state itself.
    pub(crate) fn is_far(&self, seq: Seq) -> Far {
        let Some(behind) = self.conversation.bytes_after(seq) else { return Far::OutOfReach };
        if behind <= SNAPSHOT_WHEN_BEHIND_BYTES as u64 || behind <= self.snapshot().1.len() as u64 {
            return Far::No;
        }
        Far::Cheaper
    }

    /// The bytes of `slice`, encoded once for all pumps; `sub` is the number that is asked for first.
    pub(crate) fn ready(&self, slice: &Slice, sub: Sub) -> Arc<Ready> {
        let mut frames = self.frames.lock();
        if let Some(found) = frames.iter().find(|ready| ready.is(slice)) {
            return Arc::clone(found);
        }
        // Encoded under the lock of these frames: whoever wants the same waits for it instead of doing it again.
        let ready = Arc::new(Ready::new(slice, sub));
        if frames.len() >= FRAMES_KEPT {
            frames.remove(0);
        }
        frames.push(Arc::clone(&ready));
        ready
    }
}

/// See [`Stage::is_far`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Far {
    /// Events will do.
    No,
    /// The ring does not reach back.
    OutOfReach,
    /// The snapshot is smaller.
    Cheaper,
}

/// A slice as bytes.
#[derive(Debug)]
pub(crate) struct Ready {
    from: Seq,
    cursor: Cursor,
    ephemera: usize,
    /// The frame for one number of subscription; most clients use the same.
    first: (Sub, Bytes),
    /// What of it is the same for every number.
    rest: Bytes,
    others: Mutex<Vec<(Sub, Bytes)>>,
}

impl Ready {
    fn new(slice: &Slice, sub: Sub) -> Self {
        let (frame, rest) = wire::batch(sub, slice);
        Self {
            from: slice.from,
            cursor: slice.cursor,
            ephemera: slice.ephemera.len(),
            first: (sub, frame),
            rest,
            others: Mutex::default(),
        }
    }

    /// Ephemera after the same two ticks are the same.
    fn is(&self, slice: &Slice) -> bool {
        self.from == slice.from && self.cursor == slice.cursor && self.ephemera == slice.ephemera.len()
    }

    /// The WebSocket frame for the subscription number `sub`.
    pub(crate) fn frame(&self, sub: Sub) -> Bytes {
        if self.first.0 == sub {
            return self.first.1.clone();
        }
        let mut others = self.others.lock();
        if let Some((_, frame)) = others.iter().find(|(known, _)| *known == sub) {
            return frame.clone();
        }
        let frame = wire::batch_again(sub, &self.rest);
        if others.len() < VIEWERS_PER_PUMP {
            others.push((sub, frame.clone()));
        }
        frame
    }
}
