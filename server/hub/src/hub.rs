//! The hub: finds and makes conversations, appends to them, and knows which rows of the list changed. It moves
//! envelopes; it neither parses nor serves.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use event_log::{EventLog, LogError, Page, Retention, Ticket, blocking};
use model::frame::ConversationRow;
use model::limits::{CONVERSATIONS_MAX, MEMORY_BYTES_TARGET};
use model::{ConversationId, Epoch, Seq};
use parking_lot::Mutex;
use redact::Redactor;
use tokio::sync::Notify;

use crate::clock;
use crate::tally::TALLY;

mod conversation;
mod counted;
mod ephemera;
mod followers;
mod glean;
#[cfg(any(test, feature = "testkit"))]
pub mod halting;
mod import;
mod list;
mod marks;
mod orphans;
mod outsize;
mod presence;
mod prices;
mod publication;
mod publishers;
mod ready;
mod recent;
mod redacted;
mod row;
mod seen;
mod sight;
mod upkeep;

pub use conversation::{Conversation, Cursor, Slice, WITHHELD_MS};
pub use followers::Follower;
pub use import::{History, ImportError};
pub use list::Listed;
pub use orphans::{Attendant, Orphans, Patience, Speaker};
pub use presence::Presence;
pub use prices::Prices;
pub use publication::{AppendError, Appended, By, OpenError, Publication, PublishError, TicketToCome};
pub use publishers::{Claim, Numbers};
pub(crate) use ready::{Ready, VIEWERS_PER_PUMP};
pub use seen::SeenRows;
pub use sight::{Far, Sight, Sights, Snapshot};
pub use upkeep::Bounds;

/// How many conversations may be read back at the same time.
const READING_BACK: usize = 16;

/// All conversations in memory, and the log behind them. One for each process, shared by all doors.
#[derive(Debug)]
pub struct Hub {
    conversations: DashMap<ConversationId, Arc<Conversation>>,
    /// As many as the map has, without asking each of its shards.
    count: AtomicUsize,
    log: Arc<dyn EventLog>,
    changed: Mutex<Vec<Arc<Conversation>>>,
    /// Those whose row the log does not have yet.
    noted: Mutex<Vec<Arc<Conversation>>>,
    /// Held while a conversation is read back, so that nobody reads it twice. Each stands for some of the names.
    reading_back: [Mutex<()>; READING_BACK],
    /// How many want to know which rows changed.
    watchers: AtomicUsize,
    watched: Notify,
    /// About the memory that the conversations hold, in bytes: counted in each round of upkeep, estimated in between.
    held: AtomicU64,
    /// That, counted in the newest round.
    counted: AtomicU64,
    /// What it should not be more than, in bytes.
    memory_target: u64,
    /// Told when it is more.
    crowded: Notify,
    orphans: Orphans,
    prices: Prices,
    followers: followers::Followers,
    /// The order of the list.
    recent: recent::Recent,
    /// Whose viewers changed.
    presence: Presence,
    /// Marks the secrets in what comes in; nothing where that is not wanted.
    redactor: Option<Arc<Redactor>>,
}

impl Hub {
    /// A hub over `log`, with nothing in memory yet.
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
            presence: Presence::default(),
            orphans: Orphans::default(),
            prices: Prices::default(),
            followers: followers::Followers::default(),
            recent: recent::Recent::default(),
            redactor: None,
        }
    }

    /// The same with what models cost.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// The same with `bytes` as the target for the memory that its conversations hold.
    #[must_use]
    pub fn with_memory_target(mut self, bytes: u64) -> Self {
        self.memory_target = bytes;
        self
    }

    /// Whose viewers changed.
    pub(crate) fn presence(&self) -> &Presence {
        &self.presence
    }

    /// The log under it.
    pub fn log(&self) -> &dyn EventLog {
        &*self.log
    }

    /// The conversation `id`, if there is one, in memory or in the log.
    pub fn find(&self, id: &ConversationId) -> Result<Option<Arc<Conversation>>, OpenError> {
        self.look_up(id, false)
    }

    /// The conversation `id`, made when there is none.
    pub fn open(&self, id: &ConversationId) -> Result<Arc<Conversation>, OpenError> {
        self.look_up(id, true)?.ok_or(OpenError::TooMany)
    }

    /// Finds the conversation in memory, then in the log; then makes it, when that is wanted.
    fn look_up(&self, id: &ConversationId, make: bool) -> Result<Option<Arc<Conversation>>, OpenError> {
        let known = || self.conversations.get(id).map(|found| Arc::clone(&found));
        if let Some(found) = known() {
            return Ok(Some(found));
        }
        blocking(|| {
            let _one_reads = self.reading_back.get(self.stripe(id)).map(Mutex::lock);
            if let Some(found) = known() {
                return Ok(Some(found));
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
            self.moved(&made);
            Ok(Some(made))
        })
    }

    /// Lets the log drop conversations that are not within `rule`, a bounded number; how many go, and the ticket to wait for
    /// before the next call. `now` is in milliseconds since 1970. Reads from the disk; nobody else waits for that.
    pub fn retain(&self, rule: &Retention, now: u64) -> Result<(usize, Ticket), LogError> {
        let in_memory = |id: &ConversationId| self.conversations.contains_key(id);
        let expired = self.log.expired(rule, now, &in_memory)?;
        let mut last = Ticket::default();
        let mut gone: HashSet<ConversationId> = HashSet::with_capacity(expired.len());
        for id in expired {
            // It is not read back between the look and the removal; who asks afterwards is told by the log that it went.
            let _nobody_reads = self.reading_back.get(self.stripe(&id)).map(Mutex::lock);
            if !in_memory(&id) {
                last = last.max(self.log.remove(&id));
                gone.insert(id);
            }
        }
        // What was to be told of them would bring their rows back into lists that begin again without them.
        self.changed.lock().retain(|changed| {
            let stays = !gone.contains(changed.id());
            if !stays {
                changed.listed.store(false, Ordering::Release);
            }
            stays
        });
        Ok((gone.len(), last))
    }

    fn stripe(&self, id: &ConversationId) -> usize {
        self.conversations.hash_usize(id) % READING_BACK
    }

    /// Appends to the conversation `id`, which is made when there is none. Its viewers see it once
    /// [`crate::fanout::Fanout::stir`] is called.
    pub fn publish(
        &self,
        id: &ConversationId,
        mut publication: Publication,
    ) -> Result<Appended, PublishError> {
        // Before any lock: a result may be large.
        self.redact(&mut publication.events);
        let large = publication.events.iter_mut().filter_map(|it| {
            outsize::disown(&mut it.event);
            outsize::shorten(&mut it.event)
        });
        publication.attachments = large.collect();
        loop {
            let conversation = self.open(id)?;
            self.prices.put(&mut publication, &conversation);
            publication.room = self.room();
            let appended =
                conversation.append(&mut publication, clock::now_ms(), self.log(), self.redactor.as_deref());
            if appended == Err(AppendError::Retired) {
                // It was dropped after it was found: the next round finds or makes another.
                continue;
            }
            count(&appended);
            self.look_at_withheld(&conversation, &appended);
            self.grew(appended.as_ref().map_or(0, |appended| appended.bytes));
            self.release(&conversation);
            self.touch(&conversation);
            if conversation.unattended.load(Ordering::Relaxed)
                && conversation.unattended.swap(false, Ordering::Relaxed)
            {
                self.orphans.unattended(&conversation, clock::now_ms());
            }
            return Ok(appended?);
        }
    }

    /// Enters the conversation `id` as a viewer; leave it with [`Hub::leave`].
    pub fn enter(&self, id: &ConversationId) -> Result<Arc<Conversation>, OpenError> {
        loop {
            let conversation = self.open(id)?;
            // Refused only when it was dropped after it was found: the next round finds or makes another.
            if conversation.enter().is_ok() {
                self.touch(&conversation);
                self.presence.note(&conversation);
                return Ok(conversation);
            }
        }
    }

    /// Leaves a conversation; one that nobody ever wrote to goes with its last viewer, so that looking leaves nothing.
    pub fn leave(&self, conversation: &Arc<Conversation>) {
        conversation.leave();
        self.touch(conversation);
        self.presence.note(conversation);
        self.release(conversation);
    }

    fn release(&self, conversation: &Arc<Conversation>) {
        if conversation.head() > 0 {
            return;
        }
        let unused = |_: &ConversationId, found: &Arc<Conversation>| {
            Arc::ptr_eq(found, conversation) && found.retire_if_unused()
        };
        self.dropped(self.conversations.remove_if(conversation.id(), unused));
    }

    /// Counts a conversation less when one was dropped.
    fn dropped(&self, dropped: Option<(ConversationId, Arc<Conversation>)>) {
        if let Some((id, _)) = dropped {
            self.count.fetch_sub(1, Ordering::Relaxed);
            self.recent.note(id);
        }
    }

    /// Up to `limit` events after `after`: from memory, else from the log, once it has them.
    pub async fn read(
        &self,
        conversation: &Conversation,
        after: Seq,
        limit: usize,
    ) -> Result<Page, LogError> {
        if let Some(page) = conversation.page(after, limit) {
            return Ok(page);
        }
        // What left the ring may still be in the log's queue.
        let level = model::frame::Durability::Stored.min(self.log.durability());
        let reached = event_log::reached(self.log(), conversation.ticket(), level).await;
        let page = blocking(|| self.log.read(conversation.id(), after, limit));
        match (reached, page) {
            // A log that cannot write still has what it wrote before.
            (Err(_cannot_write), Ok(page)) if !page.envelopes.is_empty() => Ok(page),
            (Err(cannot_write), _) => Err(cannot_write),
            (Ok(()), page) => page,
        }
    }

    /// The newest events of `conversation` that are not to be had one by one although earlier ones are.
    pub async fn gap(&self, conversation: &Conversation) -> Result<Option<(Seq, Seq)>, LogError> {
        if conversation.page(0, 1).is_some() {
            return Ok(None);
        }
        let level = model::frame::Durability::Stored.min(self.log.durability());
        drop(event_log::reached(self.log(), conversation.ticket(), level).await);
        blocking(|| {
            // What a log that cannot write lacks at its end, and memory has no more.
            let head = self.log.read(conversation.id(), Seq::MAX, 1)?.head;
            let begins_after = conversation.begins_after();
            if head < begins_after {
                return Ok(Some((head + 1, begins_after)));
            }
            self.log.gap(conversation.id())
        })
    }

    /// Notes that the row of `conversation` changed, when anybody wants to know.
    fn touch(&self, conversation: &Arc<Conversation>) {
        self.followers.tell(conversation.id());
        self.moved(conversation);
        if self.log.indexes() && !conversation.noted.swap(true, Ordering::AcqRel) {
            self.noted.lock().push(Arc::clone(conversation));
        }
        if self.watchers.load(Ordering::Relaxed) == 0 || conversation.listed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.changed.lock().push(Arc::clone(conversation));
        self.watched.notify_one();
    }

    /// One who is told the names of all conversations that move.
    pub fn follow(&self) -> Arc<Follower> {
        self.followers.join()
    }

    /// How many want to know which rows changed.
    pub fn watchers(&self) -> u64 {
        self.watchers.load(Ordering::Relaxed) as u64
    }

    /// Counts one more or one less of those who want to know which rows changed.
    pub(crate) fn watch(&self, watches: bool) {
        if watches {
            self.watchers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.watchers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Ready once a row has changed since they were last taken.
    pub(crate) async fn changed(&self) {
        self.watched.notified().await;
    }

    /// The rows that changed since they were last taken.
    pub(crate) fn take_changed(&self) -> Vec<ConversationRow> {
        let changed = std::mem::take(&mut *self.changed.lock());
        let rows = changed.iter().map(|conversation| {
            // Before the row is read: what happens meanwhile is listed again.
            conversation.listed.store(false, Ordering::Release);
            conversation.row()
        });
        // Who only looks at a name makes no conversation of it.
        rows.filter(|row| row.head > 0).collect()
    }
}

/// Counts what came of a publication.
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
            AppendError::Retired | AppendError::Reserved | AppendError::RunOfHub { .. } | AppendError::Log(_),
        ) => {}
    }
}
