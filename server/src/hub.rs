//! The hub: finds and makes conversations, appends to them, and knows which rows of the list changed. It moves
//! envelopes; it neither parses nor serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use parking_lot::Mutex;
use shared::code::ErrorCode;
use shared::frame::ConversationRow;
use shared::limits::CONVERSATIONS_MAX;
use shared::{ConversationId, Epoch};
use tokio::sync::Notify;

use crate::clock;
use crate::log::EventLog;

mod conversation;
mod ephemera;
mod publishers;
mod row;

pub(crate) use conversation::{AppendError, Appended, Conversation, Cursor, Publication, Slice};
pub(crate) use publishers::{Claim, Numbers};

/// The hub holds as many conversations as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hub holds {CONVERSATIONS_MAX} conversations already")]
pub(crate) struct TooManyConversations;

/// Why a publication was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PublishError {
    /// The conversation would be one too many.
    #[error(transparent)]
    TooMany(#[from] TooManyConversations),
    /// The conversation refused.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl PublishError {
    /// The code that goes to the publisher.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::TooMany(_) => ErrorCode::TooMany,
            Self::Append(AppendError::Gap { .. }) => ErrorCode::PublisherGap,
            Self::Append(AppendError::Fenced) => ErrorCode::PublisherFenced,
            Self::Append(AppendError::Log(_)) => ErrorCode::LogFailed,
            // The hub finds the conversation again by itself.
            Self::Append(AppendError::Retired) => ErrorCode::Internal,
        }
    }

    /// For a gap, the number that is expected.
    pub(crate) fn expected(&self) -> Option<u64> {
        match self {
            Self::Append(AppendError::Gap { expected }) => Some(*expected),
            _ => None,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Hub {
    conversations: DashMap<ConversationId, Arc<Conversation>>,
    /// As many as the map has, without asking each of its shards.
    count: AtomicUsize,
    log: Arc<dyn EventLog>,
    changed: Mutex<Vec<Arc<Conversation>>>,
    /// How many want to know which rows changed.
    watchers: AtomicUsize,
    watched: Notify,
}

impl Hub {
    /// An empty hub over `log`.
    pub(crate) fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            conversations: DashMap::new(),
            count: AtomicUsize::new(0),
            log,
            changed: Mutex::default(),
            watchers: AtomicUsize::new(0),
            watched: Notify::new(),
        }
    }

    /// The log under it.
    pub(crate) fn log(&self) -> &dyn EventLog {
        &*self.log
    }

    /// The conversation `id`, if there is one.
    pub(crate) fn find(&self, id: &ConversationId) -> Option<Arc<Conversation>> {
        self.conversations.get(id).map(|found| Arc::clone(&found))
    }

    /// The conversation `id`, made when there is none.
    pub(crate) fn open(&self, id: &ConversationId) -> Result<Arc<Conversation>, TooManyConversations> {
        if let Some(found) = self.find(id) {
            return Ok(found);
        }
        match self.conversations.entry(id.clone()) {
            Entry::Occupied(found) => Ok(Arc::clone(found.get())),
            Entry::Vacant(place) => {
                if self.count.load(Ordering::Relaxed) >= CONVERSATIONS_MAX {
                    return Err(TooManyConversations);
                }
                self.count.fetch_add(1, Ordering::Relaxed);
                let epoch = Epoch::new(&clock::fresh_name());
                Ok(Arc::clone(&place.insert(Arc::new(Conversation::new(id.clone(), epoch)))))
            }
        }
    }

    /// Appends to the conversation `id`, which is made when there is none. Its viewers see it once
    /// [`crate::fanout::Fanout::stir`] is called.
    pub(crate) fn publish(
        &self,
        id: &ConversationId,
        mut publication: Publication,
    ) -> Result<Appended, PublishError> {
        loop {
            let conversation = self.open(id)?;
            let appended = conversation.append(&mut publication, clock::now_ms(), self.log());
            if appended == Err(AppendError::Retired) {
                // It was dropped after it was found: the next round finds or makes another.
                continue;
            }
            self.release(&conversation);
            self.touch(&conversation);
            return Ok(appended?);
        }
    }

    /// Enters the conversation `id` as a viewer; leave it with [`Hub::leave`].
    pub(crate) fn enter(&self, id: &ConversationId) -> Result<Arc<Conversation>, TooManyConversations> {
        loop {
            let conversation = self.open(id)?;
            // Refused only when it was dropped after it was found: the next round finds or makes another.
            if conversation.enter().is_ok() {
                self.touch(&conversation);
                return Ok(conversation);
            }
        }
    }

    /// Leaves a conversation; one that nobody ever wrote to goes with its last viewer, so that looking leaves nothing.
    pub(crate) fn leave(&self, conversation: &Arc<Conversation>) {
        conversation.leave();
        self.touch(conversation);
        self.release(conversation);
    }

    fn release(&self, conversation: &Arc<Conversation>) {
        if conversation.head() > 0 {
            return;
        }
        let unused = |_: &ConversationId, found: &Arc<Conversation>| {
            Arc::ptr_eq(found, conversation) && found.retire_if_unused()
        };
        if self.conversations.remove_if(conversation.id(), unused).is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The rows of all conversations, in the order of their names.
    pub(crate) fn rows(&self) -> Vec<ConversationRow> {
        let conversations: Vec<_> = self.conversations.iter().map(|found| Arc::clone(&found)).collect();
        let mut rows: Vec<_> = conversations.iter().map(|conversation| conversation.row()).collect();
        rows.sort_by(|a, b| a.conversation.cmp(&b.conversation));
        rows
    }

    /// Notes that the row of `conversation` changed, when anybody wants to know.
    fn touch(&self, conversation: &Arc<Conversation>) {
        if self.watchers.load(Ordering::Relaxed) == 0 || conversation.listed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.changed.lock().push(Arc::clone(conversation));
        self.watched.notify_one();
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
        rows.collect()
    }
}
