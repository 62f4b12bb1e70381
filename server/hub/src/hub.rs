//! The hub: finds and makes conversations, appends to them, and knows which rows of the list changed. It
//! moves envelopes; it neither parses dialects nor serves sockets.
//!
//! Reading order: `conversation` (one of them), `publication` and `publishers` (what is appended, and exactly
//! once), `frame_cache` and `encoded_slice` (what viewers share), `list`, `row`, `recency` and `seen` (the list), `upkeep`
//! (what leaves memory), `orphans` (runs whose publishers are gone), then the smaller files.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use event_log::{EventLog, EventPage, LogError, Owner, Purpose, Retention, Ticket, blocking};
use model::limits::{CONVERSATIONS_MAX, MEMORY_BYTES_TARGET};
use model::{ConversationId, Epoch, Seq};
use parking_lot::Mutex;
use redact::Redactor;
use tokio::sync::Notify;

use crate::clock;
use crate::tally::TALLY;

pub mod beginning;
#[cfg(any(test, feature = "testkit"))]
pub mod blocking_log;
mod change_feeds;
mod conversation;
mod copied;
mod delete;
mod encoded_slice;
mod ephemera;
mod frame_cache;
mod import;
mod index;
mod list;
mod measure;
mod orphans;
mod other_hubs;
mod outsize;
mod prices;
mod publication;
mod publishers;
mod recency;
mod redacted;
mod ring_effects;
mod row;
mod seen;
mod upkeep;
mod viewer_changes;
mod viewer_roster;
mod watching;

pub use crate::slice::{Cursor, Delivery, Slice};
pub use change_feeds::ChangeFeed;
pub use conversation::{Conversation, CopyMark, Discontinuity, NotGivenUp, WITHHELD_MS};
pub use copied::{CopyError, CopySummary, copy};
pub use delete::PendingDeletion;
pub(crate) use encoded_slice::{EncodedSlice, VIEWERS_PER_PUMP};
pub use frame_cache::{FrameCache, FrameCaches, Snapshot, SnapshotNeed};
pub use import::{History, ImportError};
pub use index::shows_document;
pub use list::ListPage;
pub use orphans::{Attendant, OrphanTimeouts, Orphans, PublisherConnection};
pub use prices::Prices;
pub use publication::{
    AppendError, Appended, EventOrigin, OpenError, Publication, PublishError, WithheldTicket,
};
pub use publishers::{FrameNumbering, Numbers};
pub use seen::SeenRows;
pub use upkeep::MemoryBounds;
pub use viewer_changes::ViewerCountChanges;
pub use viewer_roster::AnnouncedViewers;

/// How many conversations may be read back from the log at the same time.
const READING_BACK: usize = 16;

/// All conversations in memory, and the log behind them. One for each process, shared by all doors.
/// [`Hub::keep_up`] lets conversations go that nobody uses; empty, deleted and unfollowed ones leave memory at once.
#[derive(Debug)]
pub struct Hub {
    /// The conversations in memory, by name.
    conversations: DashMap<ConversationId, Arc<Conversation>>,
    /// The length of `conversations`, which the map could tell only by locking each of its shards.
    count: AtomicUsize,
    /// The log that stores the events.
    log: Arc<dyn EventLog>,
    /// Conversations whose row changed since [`Hub::take_changed`]. Filled only while there are watchers.
    changed: Mutex<Vec<Arc<Conversation>>>,
    /// Conversations whose row is newer than the log's.
    noted: Mutex<Vec<Arc<Conversation>>>,
    /// Locks of the reading back from the log, so that no conversation is read twice at once. Each lock
    /// stands for the names of one hash stripe.
    reading_back: [Mutex<()>; READING_BACK],
    /// How many viewers of the list there are.
    watchers: AtomicUsize,
    /// Notified when `changed` is no longer empty.
    watched: Notify,
    /// About the memory that all conversations hold, in bytes: counted in each round of upkeep, estimated in
    /// between.
    held: AtomicU64,
    /// The count of the newest round of upkeep, in bytes, without the estimate of what came since.
    counted: AtomicU64,
    /// How much memory the conversations should hold at most, in bytes.
    memory_target: u64,
    /// Notified when `held` is above the target.
    crowded: Notify,
    /// The timer for runs whose publishers are gone.
    orphans: Orphans,
    /// The prices of models.
    prices: Prices,
    /// Who is told of every conversation that moves.
    change_feeds: change_feeds::ChangeFeeds,
    /// The order of the list.
    recency: recency::RecencyOrder,
    /// The conversations whose number of viewers changed.
    presence: ViewerCountChanges,
    /// Marks the secrets in what comes in; nothing where that is not wanted.
    redactor: Option<Arc<Redactor>>,
    /// Rows of the list that other hubs have changed.
    remote_rows: other_hubs::RemoteRows,
}

impl Hub {
    /// Makes a hub over `log`, with nothing in memory yet.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            conversations: DashMap::new(),
            count: AtomicUsize::new(0),
            log,
            changed: Mutex::default(),
            noted: Mutex::default(),
            reading_back: Default::default(),
            watchers: AtomicUsize::new(0),
            watched: Notify::new(),
            held: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            memory_target: MEMORY_BYTES_TARGET,
            crowded: Notify::new(),
            presence: ViewerCountChanges::default(),
            orphans: Orphans::default(),
            prices: Prices::default(),
            change_feeds: change_feeds::ChangeFeeds::default(),
            recency: recency::RecencyOrder::default(),
            redactor: None,
            remote_rows: other_hubs::RemoteRows::default(),
        }
    }

    /// Sets what models cost.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Sets the target for the memory that the conversations hold, in bytes.
    #[must_use]
    pub fn with_memory_target(mut self, bytes: u64) -> Self {
        self.memory_target = bytes;
        self
    }

    /// The conversations whose number of viewers changed.
    pub(crate) fn presence(&self) -> &ViewerCountChanges {
        &self.presence
    }

    /// The log behind the conversations.
    pub fn log(&self) -> &dyn EventLog {
        &*self.log
    }

    /// Finds the conversation `id` in memory or in the log; `None` if there is none. Waits for the disk if it
    /// is not in memory.
    pub fn find(&self, id: &ConversationId) -> Result<Option<Arc<Conversation>>, OpenError> {
        self.look_up(id, false)
    }

    /// Finds the conversation `id` as [`Hub::find`] does, and makes it if there is none. A new one is only in
    /// memory until something is appended. Fails with [`OpenError::TooMany`] at the limit of conversations in
    /// memory.
    pub fn open(&self, id: &ConversationId) -> Result<Arc<Conversation>, OpenError> {
        self.look_up(id, true)?.ok_or(OpenError::TooMany)
    }

    /// Looks in memory, then in the log; then makes the conversation if `make` says so.
    fn look_up(&self, id: &ConversationId, make: bool) -> Result<Option<Arc<Conversation>>, OpenError> {
        let known = || self.conversations.get(id).map(|found| Arc::clone(&found));
        if let Some(found) = known() {
            return Ok(Some(found));
        }
        blocking(|| {
            // Before the lock, which others share.
            self.log.settle(id)?;
            let _one_reads = self.reading_back.get(self.stripe(id)).map(Mutex::lock);
            if let Some(found) = known() {
                return Ok(Some(found));
            }
            let purpose = if make { Purpose::Make } else { Purpose::Find };
            if let Owner::Elsewhere(address) = self.log.claim(id, purpose)? {
                return Err(OpenError::Elsewhere { address });
            }
            let conversation = match self.log.load(id)? {
                Some(stored) => self.orphans.adopt(Conversation::restored(id.clone(), stored)),
                None if make => Conversation::new(id.clone(), Epoch::new(&clock::fresh_name())),
                None => return Ok(None),
            };
            if self.count.load(Ordering::Relaxed) >= CONVERSATIONS_MAX {
                return Err(OpenError::TooMany);
            }
            let made = match self.conversations.entry(id.clone()) {
                Entry::Occupied(found) => return Ok(Some(Arc::clone(found.get()))),
                Entry::Vacant(place) => Arc::clone(&place.insert(Arc::new(conversation))),
            };
            self.count.fetch_add(1, Ordering::Relaxed);
            self.note_place(&made);
            Ok(Some(made))
        })
    }

    /// Removes conversations from the log that `rule` no longer keeps, a bounded number for each call, and
    /// none that is in memory or the copy behind a frozen link, which goes with its link. Returns how many were removed and the ticket to wait for before the next call.
    /// `now` is in milliseconds since 1970. Waits for the disk; nobody else waits for that.
    pub fn retain(&self, rule: &Retention, now: u64) -> Result<(usize, Ticket), LogError> {
        let in_memory = |id: &ConversationId| self.conversations.contains_key(id);
        let expired = self.log.expired(rule, now, &|id| id.is_frozen() || in_memory(id))?;
        let mut last = Ticket::default();
        let mut gone: HashSet<ConversationId> = HashSet::with_capacity(expired.len());
        for id in expired {
            // Nobody may read it back between the look and the removal; whoever asks afterwards is told by
            // the log that it is gone.
            let _nobody_reads = self.reading_back.get(self.stripe(&id)).map(Mutex::lock);
            // One of another hub is that one's to remove.
            if !in_memory(&id) && self.log.claim(&id, Purpose::Find)? == Owner::Here {
                last = last.max(self.log.remove(&id));
                gone.insert(id);
            }
        }
        // Their changed rows are not sent: they would bring the conversations back into lists that begin
        // again without them.
        self.changed.lock().retain(|changed| {
            let stays = !gone.contains(changed.id());
            if !stays {
                changed.listed.store(false, Ordering::Release);
            }
            stays
        });
        Ok((gone.len(), last))
    }

    /// The index of the lock in `reading_back` that stands for `id`.
    fn stripe(&self, id: &ConversationId) -> usize {
        self.conversations.hash_usize(id) % READING_BACK
    }

    /// Appends to the conversation `id`, which is made if there is none. Its viewers see the events once
    /// [`crate::fanout::Fanout::deliver`] is called. All events are taken or none; the errors say why none were.
    pub fn publish(
        &self,
        id: &ConversationId,
        mut publication: Publication,
    ) -> Result<Appended, PublishError> {
        // Before any lock: a result may be large.
        self.redact(&mut publication.events);
        // Before any lock is taken: hashing a large result takes long.
        let large = publication.events.iter_mut().flat_map(|it| {
            outsize::disown(&mut it.event);
            outsize::take_apart(&mut it.event)
        });
        publication.attachments = large.collect();
        loop {
            let conversation = self.open(id)?;
            if conversation.head() == 0
                && let Err(refused) = beginning::begins(id)
            {
                self.forget_if_empty(&conversation);
                return Err(refused.into());
            }
            self.prices.put(&mut publication, &conversation);
            publication.room = self.room();
            let appended =
                conversation.append(&mut publication, clock::now_ms(), self.log(), self.redactor.as_deref());
            if appended == Err(AppendError::Retired) {
                // It left memory after it was found: the next round finds or makes another.
                continue;
            }
            count(&appended);
            self.look_at_withheld(&conversation, &appended);
            self.grew(appended.as_ref().map_or(0, |appended| appended.bytes));
            self.forget_if_empty(&conversation);
            self.touch(&conversation);
            if conversation.unattended.load(Ordering::Relaxed)
                && conversation.unattended.swap(false, Ordering::Relaxed)
            {
                self.orphans.unattended(&conversation, clock::now_ms());
            }
            return Ok(appended?);
        }
    }

    /// Forgets a conversation in which nothing was ever said, if nobody uses it.
    fn forget_if_empty(&self, conversation: &Arc<Conversation>) {
        if conversation.head() > 0 || conversation.is_followed() {
            return;
        }
        let unused = |_: &ConversationId, found: &Arc<Conversation>| {
            Arc::ptr_eq(found, conversation) && found.retire_if_unused()
        };
        self.dropped(self.conversations.remove_if(conversation.id(), unused));
    }

    /// Counts one conversation less if one was removed from the map.
    fn dropped(&self, dropped: Option<(ConversationId, Arc<Conversation>)>) {
        if let Some((id, _)) = dropped {
            self.count.fetch_sub(1, Ordering::Relaxed);
            self.recency.note(id);
        }
    }

    /// Reads up to `limit` events after `after`: from the ring if it reaches back that far, otherwise from
    /// the log, after what waits in its queue has been stored.
    pub async fn read(
        &self,
        conversation: &Conversation,
        after: Seq,
        limit: usize,
    ) -> Result<EventPage, LogError> {
        if let Some(page) = conversation.page(after, limit) {
            return Ok(page);
        }
        // What left the ring may still wait in the log's queue.
        let level = model::frame::Durability::Stored.min(self.log.durability());
        let reached = event_log::reached(self.log(), conversation.ticket(), level).await;
        let page = blocking(|| self.log.read(conversation.id(), after, limit));
        match (reached, page) {
            // A log that can no longer write still has what it wrote before.
            (Err(_cannot_write), Ok(page)) if !page.envelopes.is_empty() => Ok(page),
            (Err(cannot_write), _) => Err(cannot_write),
            (Ok(()), page) => page,
        }
    }

    /// The range of events, first to last, that the log lacks although it has earlier ones; `None` if every
    /// event can be read. Such events are part of the state and cannot be read one by one.
    pub async fn gap(&self, conversation: &Conversation) -> Result<Option<(Seq, Seq)>, LogError> {
        if conversation.page(0, 1).is_some() {
            return Ok(None);
        }
        let level = model::frame::Durability::Stored.min(self.log.durability());
        drop(event_log::reached(self.log(), conversation.ticket(), level).await);
        blocking(|| {
            // Events that a failed log lacks at its end and that have left memory.
            let head = self.log.read(conversation.id(), Seq::MAX, 1)?.head;
            let begins_after = conversation.begins_after();
            if head < begins_after {
                return Ok(Some((head + 1, begins_after)));
            }
            self.log.gap(conversation.id())
        })
    }

    /// Notes that the row of `conversation` changed: for change feeds, for the order of the list, for the log
    /// and for viewers of the list.
    fn touch(&self, conversation: &Arc<Conversation>) {
        if conversation.is_over() {
            return;
        }
        let is_followed = conversation.is_followed();
        if !is_followed {
            self.change_feeds.tell(conversation.id());
        }
        self.note_place(conversation);
        if self.log.indexes() && !is_followed && !conversation.noted.swap(true, Ordering::AcqRel) {
            self.noted.lock().push(Arc::clone(conversation));
        }
        if self.watchers.load(Ordering::Relaxed) == 0 || conversation.listed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.changed.lock().push(Arc::clone(conversation));
        self.watched.notify_one();
    }
}

/// Counts the result of a publication in [`TALLY`].
fn count(appended: &Result<Appended, AppendError>) {
    match appended {
        Ok(taken) if taken.duplicate => TALLY.duplicates.one(),
        Ok(taken) => {
            TALLY.publications.one();
            TALLY.events.add(taken.events);
            TALLY.bytes.add(taken.bytes);
        }
        Err(AppendError::Gap { .. }) => TALLY.gaps.one(),
        Err(AppendError::Fenced) => TALLY.fenced.one(),
        Err(AppendError::Full { .. }) => TALLY.full.one(),
        Err(AppendError::Crowded { .. }) => TALLY.crowded.one(),
        Err(
            AppendError::Retired
            | AppendError::Reserved
            | AppendError::Frozen
            | AppendError::Elsewhere
            | AppendError::Unsure
            | AppendError::RunOfHub { .. }
            | AppendError::Log(_),
        ) => {}
    }
}
