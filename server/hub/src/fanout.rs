//! From conversations to sockets. The viewers of a conversation are grouped; each group has one task, a pump, that is
//! woken once for whatever was appended and writes one shared frame to every socket of its group without waiting.
//! Waking a task for each viewer would cost more than the writing.
//!
//! A socket that takes no more is given up by the pump ([`Outbox::park`]); its own task catches up, with everything
//! that came meanwhile in one frame or by the snapshot, and hands it back. So a slow viewer costs the others nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use model::frame::{SubscriptionId, SubscriptionOptions};
use model::{ConversationId, Epoch, Mask};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::hub::{
    Appended, Conversation, Hub, OpenError, Publication, PublishError, SeenRows, VIEWERS_PER_PUMP,
};

mod fleet;
mod ladder;
mod orphans;
mod outbox;
mod presence;
mod pump;

pub use ladder::{BEHIND_AFTER, CurrentRung, Ladder};
pub use outbox::{Outbox, Sent, Transport};
pub use pump::Shard;

/// Most viewers that the task of a publisher writes to by itself: some tens of microseconds, none of them waiting.
const VIEWERS_AT_ONCE: usize = 16;

/// See [`Fanout::coverage`].
const COVERAGE_MAX: Duration = Duration::from_secs(1);

/// One subscription of one socket.
#[derive(Debug)]
pub struct Subscription {
    /// The socket.
    pub outbox: Arc<Outbox>,
    /// Its number on the socket.
    pub sub: SubscriptionId,
    /// Whether it goes on; see [`Outbox::deactivate`].
    pub(crate) active: AtomicBool,
    /// How well it keeps up.
    pub standing: CurrentRung,
    /// How many viewers it was told of.
    pub(crate) presence: AtomicUsize,
    /// What it is of.
    pub place: SubscriptionTarget,
}

/// What a subscription is of.
#[derive(Debug)]
pub enum SubscriptionTarget {
    /// A conversation, in this group of its viewers.
    Conversation(Arc<Stage>, Arc<Shard>),
    /// The list of conversations.
    Fleet {
        /// How many rows it begins with.
        rows: usize,
        /// Which rows it is shown; nothing for all.
        seen: Option<SeenRows>,
    },
}

impl Subscription {
    /// Sends a frame of this subscription now or not at all.
    pub(crate) fn send(&self, frame: &Bytes) -> Sent {
        self.outbox.send(&self.active, frame)
    }

    /// The life of the conversation that it is of.
    pub fn epoch(&self) -> Option<&Epoch> {
        match &self.place {
            SubscriptionTarget::Conversation(stage, _) => Some(stage.conversation.epoch()),
            SubscriptionTarget::Fleet { .. } => None,
        }
    }

    /// Whether it goes on.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }
}

/// All conversations that are being viewed.
#[derive(Debug)]
pub struct Fanout {
    hub: Arc<Hub>,
    stages: DashMap<ConversationId, Arc<Stage>>,
    tasks: TaskTracker,
    /// How long a viewer who does not see what happens may go without hearing that something did.
    coverage: Duration,
    /// How well viewers keep up.
    pub ladder: Arc<Ladder>,
    /// The viewers of the list of conversations.
    pub fleet: fleet::Fleet,
}

impl Fanout {
    /// Over `hub`; pumps run in `tasks`. `heartbeat` is what lies between two of a socket.
    pub fn new(hub: Arc<Hub>, tasks: TaskTracker, heartbeat: Duration) -> Self {
        let ladder = Arc::<Ladder>::default();
        let fleet = fleet::Fleet::new(Arc::clone(&hub), Arc::clone(&ladder));
        // Well within a heartbeat, at which viewers look whether they are where the hub is.
        let coverage = (heartbeat / 4).min(COVERAGE_MAX);
        Self { hub, stages: DashMap::new(), tasks, coverage, ladder, fleet }
    }

    /// Makes a subscription of the conversation `id`, from which `mask` hides something. It gets nothing before it is handed to its
    /// pump.
    pub fn enter(
        &self,
        id: &ConversationId,
        outbox: &Arc<Outbox>,
        sub: SubscriptionId,
        wish: &SubscriptionOptions,
        mask: Option<&Arc<Mask>>,
    ) -> Result<Arc<Subscription>, OpenError> {
        let conversation = self.hub.enter(id)?;
        let (stage, shard) = match self.stages.entry(id.clone()) {
            Entry::Occupied(mut found) => {
                // A conversation that was dropped and made again is another one.
                if !Arc::ptr_eq(&found.get().conversation, &conversation) {
                    found.insert(Arc::new(Stage::new(conversation, self.coverage)));
                }
                let stage = Arc::clone(found.get());
                let shard = stage.join(wish, mask, &self.tasks);
                (stage, shard)
            }
            Entry::Vacant(place) => {
                let stage = Arc::clone(&place.insert(Arc::new(Stage::new(conversation, self.coverage))));
                let shard = stage.join(wish, mask, &self.tasks);
                (stage, shard)
            }
        };
        Ok(Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            standing: self.ladder.enter(),
            presence: AtomicUsize::new(0),
            place: SubscriptionTarget::Conversation(stage, shard),
        }))
    }

    /// Appends to the conversation `id`, and shows it.
    pub fn publish(&self, id: &ConversationId, publication: Publication) -> Result<Appended, PublishError> {
        let appended = self.hub.publish(id, publication)?;
        self.stir(id);
        Ok(appended)
    }

    /// How many view conversations over sockets.
    pub fn viewers(&self) -> u64 {
        self.stages.iter().map(|stage| stage.viewers()).sum()
    }

    /// Sees to it that the viewers of `id` get what was appended. A few are written to at once, since that costs less
    /// than to wake a task; more than a few have their pumps woken. Call it once for a burst of appends.
    pub fn stir(&self, id: &ConversationId) {
        let stage = self.stages.get(id).map(|found| Arc::clone(&found));
        if let Some(stage) = stage {
            stage.stir();
        }
    }

    /// Ends a subscription, of whatever it is.
    pub fn leave(&self, subscription: &Arc<Subscription>) {
        subscription.outbox.deactivate(&subscription.active);
        self.ladder.leave(&subscription.standing);
        match &subscription.place {
            SubscriptionTarget::Fleet { .. } => self.fleet.leave(subscription),
            SubscriptionTarget::Conversation(stage, shard) => {
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

/// A conversation that is being viewed: its groups of viewers. Those of one group wish for the same and have the same role.
#[derive(Debug)]
pub struct Stage {
    /// The conversation.
    pub conversation: Arc<Conversation>,
    shards: Mutex<Vec<Arc<Shard>>>,
    /// See [`Fanout::coverage`].
    coverage: Duration,
}

impl Stage {
    fn new(conversation: Arc<Conversation>, coverage: Duration) -> Self {
        Self { conversation, shards: Mutex::default(), coverage }
    }

    /// The group for one more viewer.
    fn join(
        self: &Arc<Self>,
        wish: &SubscriptionOptions,
        mask: Option<&Arc<Mask>>,
        tasks: &TaskTracker,
    ) -> Arc<Shard> {
        let mut shards = self.shards.lock();
        let is_like = |shard: &Shard| shard.wish == *wish && shard.sight.mask() == mask;
        let has_room = |shard: &&Arc<Shard>| is_like(shard) && shard.viewers() < VIEWERS_PER_PUMP;
        let roomy = shards.iter().find(has_room).map(Arc::clone);
        let shard = if let Some(shard) = roomy {
            shard
        } else {
            let sight = self.conversation.sights.of(&wish.lens, mask);
            let shard = Arc::new(Shard::new(wish.clone(), sight));
            tasks.spawn(pump::run(Arc::clone(self), Arc::clone(&shard), self.coverage));
            shards.push(Arc::clone(&shard));
            shard
        };
        shard.enter();
        shard
    }

    fn viewers(&self) -> u64 {
        self.shards.lock().iter().map(|shard| shard.viewers() as u64).sum()
    }

    fn stir(&self) {
        let shards = self.shards.lock();
        let mut plain = shards.iter().filter(|shard| shard.is_plain());
        let few = plain.next().filter(|first| first.viewers() <= VIEWERS_AT_ONCE && plain.next().is_none());
        let few = few.map(Arc::clone);
        for shard in shards.iter().filter(|shard| few.is_none() || !shard.is_plain()) {
            shard.wake.notify_one();
        }
        drop(shards);
        if let Some(few) = few {
            few.pump_now(self);
        }
    }

    /// Wakes all pumps.
    fn wake(&self) {
        self.shards.lock().iter().for_each(|shard| shard.wake.notify_one());
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
}
