//! Delivery: from conversations to sockets. The viewers of a conversation are grouped by what they asked for.
//! Each group has one task, a pump. It is woken once for a burst of appends and writes one shared frame to
//! every socket of its group without waiting. Waking a task for each viewer would cost more than the writing.
//!
//! When a socket takes no more bytes, the pump hands its viewer over to the task of that socket
//! ([`Outbox::park`]). That task waits until the socket takes bytes again, catches up (with what
//! came meanwhile in as few frames as possible, or with the snapshot) and hands the viewer back. So a slow viewer costs the
//! others nothing.
//!
//! Reading order: [`Fanout`] and [`ViewedConversation`] here, then `outbox` with `task_wake` (one socket), `pump` (one group of viewers),
//! `ladder` (how well viewers keep up), `fleet` (the list of conversations), `presence` and `orphans` (two
//! tasks of the hub that wake pumps).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use compact_str::CompactString;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use event_log::Ticket;
use model::frame::{SubscriptionId, SubscriptionOptions};
use model::{ConversationId, Epoch, Lens, Mask, Position};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::hub::{
    Appended, Conversation, Delivery, Hub, OpenError, Publication, PublishError, SeenRows, VIEWERS_PER_PUMP,
};

mod fleet;
mod ladder;
mod orphans;
mod outbox;
mod presence;
mod pump;
mod task_wake;

pub use ladder::{BEHIND_AFTER, CurrentRung, Ladder};
pub use outbox::{Flushed, Outbox, SendResult, Transport, bounded_slices};
pub use pump::Pump;
pub use task_wake::TaskWake;

/// Most viewers to which the task of a publisher writes itself instead of waking a pump. Writing to so many
/// takes some tens of microseconds and never waits.
const VIEWERS_AT_ONCE: usize = 16;

/// The longest that [`Fanout::coverage`] may be, whatever the heartbeat is.
const COVERAGE_MAX: Duration = Duration::from_secs(1);

/// One subscription of one socket: to a conversation or to the list of conversations. Shared by the pump or
/// the list that writes to it and by the task of its socket. End it with [`Fanout::leave`]; dropping it does
/// not.
#[derive(Debug)]
pub struct Subscription {
    /// The socket that its frames are written to.
    pub outbox: Arc<Outbox>,
    /// The number that the client gave it. It is unique on its socket, and every frame of the subscription
    /// carries it.
    pub sub: SubscriptionId,
    /// False once the subscription has ended; set by [`Outbox::deactivate`], under the lock of the outbox.
    pub(crate) active: AtomicBool,
    /// How well its viewer keeps up, as the hub's ladder counts it.
    pub standing: CurrentRung,
    /// The name by which the other viewers of its conversation know its viewer, if there is one.
    pub(crate) who: Option<CompactString>,
    /// The key of the last presence frame that it got ([`AnnouncedViewers::for_role`]); 0 before the first.
    ///
    /// [`AnnouncedViewers::for_role`]: crate::hub::AnnouncedViewers::for_role
    pub(crate) presence: AtomicUsize,
    /// Whether its client may go on with what it says that it has.
    pub(crate) keeps: bool,
    /// What it subscribes to.
    pub place: SubscriptionTarget,
}

/// What a subscription is to.
#[derive(Debug)]
pub enum SubscriptionTarget {
    /// A conversation, and the pump of the group of viewers to which the subscription belongs.
    Conversation(Arc<ViewedConversation>, Arc<Pump>),
    /// The list of conversations.
    Fleet {
        /// Most rows in its first frame.
        rows: usize,
        /// The rows that the viewer may see; `None` for all rows.
        seen: Option<SeenRows>,
    },
}

impl Subscription {
    /// Writes a frame of this subscription if the socket takes its beginning now. Nothing is queued
    /// otherwise.
    pub(crate) fn send(&self, frame: &Bytes) -> SendResult {
        self.outbox.send(&self.active, frame)
    }

    /// The epoch of the conversation that it is to; `None` for the list.
    pub fn epoch(&self) -> Option<&Epoch> {
        match &self.place {
            SubscriptionTarget::Conversation(viewed, _) => Some(viewed.conversation.epoch()),
            SubscriptionTarget::Fleet { .. } => None,
        }
    }

    /// The name by which the other viewers know its viewer, if there is one.
    pub fn who(&self) -> Option<&str> {
        self.who.as_deref()
    }

    /// Whether its client may go on with what it says that it has: that is what the subscription sees of the conversation.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether the subscription has not ended.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }
}

/// All conversations that have viewers, and the viewers of the list. One for each hub.
/// A pump ends when the last viewer of its group leaves.
#[derive(Debug)]
pub struct Fanout {
    /// The hub that has the conversations.
    hub: Arc<Hub>,
    /// Conversations with at least one viewer.
    viewed_conversations: DashMap<ConversationId, Arc<ViewedConversation>>,
    /// Where pumps run, so that whoever stops the hub can wait for them.
    tasks: TaskTracker,
    /// How long a viewer whose lens hides what happens may go without hearing that the head has moved.
    coverage: Duration,
    /// Counts how well viewers keep up.
    pub ladder: Arc<Ladder>,
    /// The viewers of the list of conversations.
    pub fleet: fleet::ListViewers,
}

impl Fanout {
    /// Makes the fan-out of `hub`. Pumps run as tasks of `tasks`. `heartbeat` is the time between two heartbeats
    /// on a socket: the coverage is a quarter of it, at most one second.
    pub fn new(hub: Arc<Hub>, tasks: TaskTracker, heartbeat: Duration) -> Self {
        let ladder = Arc::<Ladder>::default();
        let fleet = fleet::ListViewers::new(Arc::clone(&hub), Arc::clone(&ladder));
        // Well within a heartbeat: at each heartbeat viewers compare their position with the hub's.
        let coverage = (heartbeat / 4).min(COVERAGE_MAX);
        Self { hub, viewed_conversations: DashMap::new(), tasks, coverage, ladder, fleet }
    }

    /// Makes a subscription to the conversation `id`, which is made if there is none, without what the mask of `terms` hides. The
    /// subscription gets no frames before it is handed to its pump with [`Pump::hand_over`]. Fails if the conversation
    /// cannot be read from the log, or if too many are in memory.
    pub fn enter(
        &self,
        id: &ConversationId,
        outbox: &Arc<Outbox>,
        sub: SubscriptionId,
        terms: SubscriptionTerms<'_>,
    ) -> Result<Arc<Subscription>, OpenError> {
        let conversation = self.hub.enter_as(id, terms.who)?;
        let chosen = conversation.lens_for(terms.wish, terms.have, terms.mask);
        let (viewed, pump) = match self.viewed_conversations.entry(id.clone()) {
            Entry::Occupied(mut found) => {
                // The conversation left memory and was read back: its viewers belong to the new object.
                if !Arc::ptr_eq(&found.get().conversation, &conversation) {
                    found.insert(Arc::new(ViewedConversation::new(conversation, self.coverage)));
                }
                let viewed = Arc::clone(found.get());
                let pump = viewed.join(terms, &chosen.lens, &self.tasks);
                (viewed, pump)
            }
            Entry::Vacant(place) => {
                let viewed =
                    Arc::clone(&place.insert(Arc::new(ViewedConversation::new(conversation, self.coverage))));
                let pump = viewed.join(terms, &chosen.lens, &self.tasks);
                (viewed, pump)
            }
        };
        Ok(Arc::new(Subscription {
            outbox: Arc::clone(outbox),
            sub,
            active: AtomicBool::new(true),
            standing: self.ladder.enter(),
            who: terms.who.map(CompactString::new),
            presence: AtomicUsize::new(0),
            keeps: chosen.keeps,
            place: SubscriptionTarget::Conversation(viewed, pump),
        }))
    }

    /// Appends to the conversation `id` and delivers the events to its viewers.
    pub fn publish(&self, id: &ConversationId, publication: Publication) -> Result<Appended, PublishError> {
        let appended = self.hub.publish(id, publication)?;
        self.deliver(id);
        Ok(appended)
    }

    /// Lets what the conversation `id` withholds go on at once, and shows it. The ticket is that of all that was appended to it.
    pub fn release_withheld(&self, id: &ConversationId) -> Ticket {
        let ticket = self.hub.release_withheld(id);
        self.deliver(id);
        ticket
    }

    /// The conversations whose viewers it serves.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// How many subscriptions to conversations there are, over all sockets.
    pub fn viewers(&self) -> u64 {
        self.viewed_conversations.iter().map(|viewed| viewed.viewers()).sum()
    }

    /// Delivers what was appended to `id`. A few viewers are written to in the calling task, since that costs
    /// less than waking another one; for more, their pumps are woken. Never waits. Call it once for a burst
    /// of appends.
    pub fn deliver(&self, id: &ConversationId) {
        self.deliver_all(std::slice::from_ref(id));
    }

    /// Does the same for several conversations. The frames for the small groups among them are all made before the first of them
    /// is written: peers on the same machine are woken once for writes that follow one another closely, and else for each.
    pub fn deliver_all(&self, ids: &[ConversationId]) {
        let small = ids.iter().filter_map(|id| {
            let viewed = self.viewed_conversations.get(id).map(|found| Arc::clone(&found))?;
            let pump = viewed.small_group_or_wake()?;
            Some((viewed, pump))
        });
        pump::write_at_once(&small.collect::<Vec<_>>());
    }

    /// Ends a subscription of either kind: no frame of it is sent after this. A conversation in which nothing
    /// was ever said is forgotten with its last viewer.
    pub fn leave(&self, subscription: &Arc<Subscription>) {
        subscription.outbox.deactivate(&subscription.active);
        self.ladder.leave(&subscription.standing);
        match &subscription.place {
            SubscriptionTarget::Fleet { .. } => self.fleet.leave(subscription),
            SubscriptionTarget::Conversation(viewed, pump) => {
                match self.viewed_conversations.entry(viewed.conversation.id().clone()) {
                    Entry::Occupied(found) if Arc::ptr_eq(found.get(), viewed) => {
                        if viewed.remove_viewer(pump) {
                            found.remove();
                        }
                    }
                    // The conversation was read back meanwhile and is viewed anew, which this one must not
                    // remove.
                    _ => drop(viewed.remove_viewer(pump)),
                }
                self.hub.leave_as(&viewed.conversation, subscription.who.as_deref());
            }
        }
    }
}

/// What a subscription to a conversation is for.
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionTerms<'a> {
    /// What its client asks for.
    pub wish: &'a SubscriptionOptions,
    /// The position of its client, if that has something. What it may go on with depends on it.
    pub have: Option<&'a Position>,
    /// What is hidden from the client, where something is.
    pub mask: Option<&'a Arc<Mask>>,
    /// The name by which the other viewers know it, where they may know one.
    pub who: Option<&'a str>,
    /// The delivery of events: how they are written for it.
    pub delivery: Delivery,
}

/// A conversation that has viewers, and the groups of its viewers. Viewers of one group asked for the same
/// lens and the same interval, and have the same role.
#[derive(Debug)]
pub struct ViewedConversation {
    /// The conversation that is viewed.
    pub conversation: Arc<Conversation>,
    /// The groups. Locked for a moment only, never while frames are written.
    pumps: Mutex<Vec<Arc<Pump>>>,
    /// The coverage of [`Fanout`], for its pumps.
    coverage: Duration,
}

impl ViewedConversation {
    fn new(conversation: Arc<Conversation>, coverage: Duration) -> Self {
        Self { conversation, pumps: Mutex::default(), coverage }
    }

    /// Returns a group for one more viewer, who looks through `lens`, and counts it there. Starts a group with its pump if no group has
    /// these options and this mask, or all of those are full. The group has room for the viewer until it
    /// calls `ViewedConversation::remove_viewer`.
    fn join(self: &Arc<Self>, terms: SubscriptionTerms<'_>, lens: &Lens, tasks: &TaskTracker) -> Arc<Pump> {
        let mut pumps = self.pumps.lock();
        let SubscriptionTerms { wish, mask, delivery, .. } = terms;
        // Whatever each of them had before.
        let wish = SubscriptionOptions { window: None, ..wish.clone() };
        let is_like = |pump: &Pump| {
            let frame_cache = &pump.frame_cache;
            pump.wish == wish
                && frame_cache.asked() == lens
                && frame_cache.mask() == mask
                && frame_cache.delivery() == delivery
        };
        let has_room = |pump: &&Arc<Pump>| is_like(pump) && pump.viewers() < VIEWERS_PER_PUMP;
        let roomy = pumps.iter().find(has_room).map(Arc::clone);
        let pump = if let Some(pump) = roomy {
            pump
        } else {
            let frame_cache = self.conversation.frame_caches.delivered(lens, mask, delivery);
            let pump = Arc::new(Pump::new(wish, frame_cache));
            tasks.spawn(pump::run(Arc::clone(self), Arc::clone(&pump), self.coverage));
            pumps.push(Arc::clone(&pump));
            pump
        };
        pump.enter();
        pump
    }

    /// The number of viewers in all groups.
    fn viewers(&self) -> u64 {
        self.pumps.lock().iter().map(|pump| pump.viewers() as u64).sum()
    }

    /// Returns the single small group of viewers who get every event at once, if there is one; wakes the pumps of all other groups.
    fn small_group_or_wake(&self) -> Option<Arc<Pump>> {
        let pumps = self.pumps.lock();
        let mut plain = pumps.iter().filter(|pump| pump.is_plain());
        let few = plain.next().filter(|first| first.viewers() <= VIEWERS_AT_ONCE && plain.next().is_none());
        let few = few.map(Arc::clone);
        for pump in pumps.iter().filter(|pump| few.is_none() || !pump.is_plain()) {
            pump.wake.notify_one();
        }
        few
    }

    /// Wakes the pumps of all groups.
    fn wake(&self) {
        self.pumps.lock().iter().for_each(|pump| pump.wake.notify_one());
    }

    /// Counts one viewer less in `pump` and ends the pump if that was the last. True when no group is left.
    fn remove_viewer(&self, pump: &Arc<Pump>) -> bool {
        let mut pumps = self.pumps.lock();
        if pump.leave() == 0 {
            pumps.retain(|known| !Arc::ptr_eq(known, pump));
            pump.close();
        } else {
            pump.sweep();
        }
        pumps.is_empty()
    }
}
