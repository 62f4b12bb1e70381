//! Conversations of other hubs, where several share the log: followed for who watches them here, taken over when nobody has them any more.
//!
//! ```text
//! not in memory ──follow_conversation──▶ followed ──take_followed, skip_followed──▶ followed
//!                                           │ nobody watches ──unfollow──▶ not in memory
//!                                         ▲ └ its owner is gone ──take_over──▶ this hub's own
//!                                         └──────────────────────give_up──────────┘
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dashmap::mapref::entry::Entry;
use event_log::{ListQuery, LogError, Owner, Purpose, StoredConversation, Ticket, blocking};
use model::frame::ConversationRow;
use model::limits::{CONVERSATIONS_MAX, FLEET_ROWS_MAX};
use model::{ConversationId, Envelope, Epoch, Seq, View};
use parking_lot::Mutex;

use super::conversation::{Discontinuity, NotGivenUp};
use super::{Conversation, Hub, OpenError};
use crate::clock;

/// Most events that are read at once to complete a conversation that is taken over.
const PAGE: usize = 4_096;

/// Rows of the list that other hubs have changed. Owned by the hub.
#[derive(Debug, Default)]
pub(super) struct RemoteRows {
    /// Where each conversation of the newest rows stood at the last look.
    seen: Mutex<HashMap<ConversationId, (Epoch, Seq)>>,
    /// Rows that changed since viewers of the list were last told.
    changed: Mutex<Vec<ConversationRow>>,
}

impl RemoteRows {
    /// Takes the rows that changed.
    pub(super) fn take(&self) -> Vec<ConversationRow> {
        std::mem::take(&mut *self.changed.lock())
    }
}

impl Hub {
    /// The conversation `id` if it is in memory.
    pub fn in_memory(&self, id: &ConversationId) -> Option<Arc<Conversation>> {
        self.conversations.get(id).map(|found| Arc::clone(&found))
    }

    /// The conversation `id` for a look at it: like [`Hub::find`], but of one that another hub has and that is not followed
    /// here, as much as is stored. That copy belongs to the caller; nothing is ever appended to it.
    pub fn look(&self, id: &ConversationId) -> Result<Option<Arc<Conversation>>, OpenError> {
        match self.find(id) {
            Err(OpenError::Elsewhere { .. }) => {
                let stored = blocking(|| self.log.peek(id))?;
                Ok(stored.map(|stored| Arc::new(Conversation::restored(id.clone(), stored))))
            }
            found => found,
        }
    }

    /// Begins to follow a conversation of another hub, in the place of one that was followed before. One that this hub has stays, and
    /// is returned.
    pub fn follow_conversation(&self, followed: Conversation) -> Result<Arc<Conversation>, OpenError> {
        if self.count.load(Ordering::Relaxed) >= CONVERSATIONS_MAX {
            return Err(OpenError::TooMany);
        }
        let followed = Arc::new(followed);
        match self.conversations.entry(followed.id().clone()) {
            Entry::Occupied(found) if !found.get().is_followed() => return Ok(Arc::clone(found.get())),
            Entry::Occupied(mut found) => found.insert(Arc::clone(&followed)).end(),
            Entry::Vacant(place) => {
                place.insert(Arc::clone(&followed));
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.touch(&followed);
        Ok(followed)
    }

    /// Takes the events `from` to `to` of the hub that has the conversation, whose viewers see them once
    /// [`crate::fanout::Fanout::deliver`] is called. Fails where they do not follow what is here.
    pub fn take_followed(
        &self,
        conversation: &Arc<Conversation>,
        seqs: (Seq, Seq),
        events: Vec<Envelope>,
    ) -> Result<(), Discontinuity> {
        let bytes = conversation.take_followed(seqs, events)?;
        self.grew(bytes);
        self.touch(conversation);
        Ok(())
    }

    /// Takes events of the hub that has the conversation, from before those that are here: `events` follow one another, and the oldest that is
    /// here follows them. What does not fit is left out.
    pub fn take_earlier(&self, conversation: &Arc<Conversation>, epoch: &Epoch, events: Vec<Envelope>) {
        self.grew(conversation.take_earlier(epoch, events));
    }

    /// Lets a followed conversation go on from a later state. `view` is a snapshot of the hub that has the
    /// conversation.
    pub fn skip_followed(&self, conversation: &Arc<Conversation>, view: View) {
        conversation.skip_to(view);
        self.touch(conversation);
    }

    /// Forgets a followed conversation that nobody watches. True if it did.
    pub fn unfollow(&self, conversation: &Arc<Conversation>) -> bool {
        let unwatched = |_: &ConversationId, found: &Arc<Conversation>| {
            Arc::ptr_eq(found, conversation) && found.retire_if_unwatched()
        };
        let removed = self.conversations.remove_if(conversation.id(), unwatched);
        let is_gone = removed.is_some();
        self.dropped(removed);
        is_gone
    }

    /// Gives the conversation `id` up for the hub under the URL `to`, as [`event_log::EventLog::release`] says. It stays in memory as one that is followed, with its
    /// viewers. Call [`event_log::EventLog::released`] once the ticket is reached, and follow its new owner; or [`Hub::take_over`].
    pub fn give_up(
        &self,
        id: &ConversationId,
        to: &Arc<str>,
    ) -> Result<(Arc<Conversation>, Ticket), NotGivenUp> {
        let found = self.in_memory(id).ok_or(NotGivenUp::Unused)?;
        let ticket = found.give_up(self.log(), to)?;
        Ok((found, ticket))
    }

    /// Where each conversation stands that this hub has in memory and that no other hub has: the newest seq, without those in which nothing was said. Walks
    /// all that are in memory.
    pub fn own_heads(&self) -> Vec<(ConversationId, Seq)> {
        let own = self.conversations.iter().filter(|found| !found.is_followed() && found.head() > 0);
        own.map(|found| (found.id().clone(), found.head())).collect()
    }

    /// The owner of the conversation; this hub becomes that if no other hub has it. Waits for the disk. A conversation that is in memory and not
    /// followed is this hub's; the log is not asked.
    pub fn claim_or_find_owner(&self, id: &ConversationId, purpose: Purpose) -> Result<Owner, LogError> {
        if self.in_memory(id).is_some_and(|found| !found.is_followed()) {
            return Ok(Owner::Here);
        }
        blocking(|| self.log.claim(id, purpose))
    }

    /// Takes over a conversation that was followed, if no other hub has it any more. If its owner ended well, the same object goes on
    /// and its viewers notice nothing. Otherwise another takes its place, in a new epoch: what was shown of the old one may not be
    /// stored. Fails with [`OpenError::Elsewhere`] if another hub has it. Waits for the disk.
    pub fn take_over(&self, followed: &Arc<Conversation>) -> Result<Arc<Conversation>, OpenError> {
        let id = followed.id();
        blocking(|| {
            let _one_reads = self.reading_back.get(self.stripe(id)).map(Mutex::lock);
            if let Some(found) = self.in_memory(id).filter(|found| !found.is_followed()) {
                return Ok(found);
            }
            if let Owner::Elsewhere(address) = self.log.claim(id, Purpose::Make)? {
                return Err(OpenError::Elsewhere { address });
            }
            let stored = self.log.load(id)?;
            if let Some(stored) = &stored
                && self.goes_on(followed, stored)
            {
                self.orphans.adopt_known(followed);
                self.touch(followed);
                return Ok(Arc::clone(followed));
            }
            let next = match stored {
                Some(stored) => self.orphans.adopt(Conversation::restored(id.clone(), stored)),
                None => Conversation::new(id.clone(), Epoch::new(&clock::fresh_name())),
            };
            let next = Arc::new(next);
            match self.conversations.insert(id.clone(), Arc::clone(&next)) {
                Some(before) => before.end(),
                None => drop(self.count.fetch_add(1, Ordering::Relaxed)),
            }
            // It may have left memory before.
            followed.end();
            self.touch(&next);
            Ok(next)
        })
    }

    /// Makes `followed` this hub's own where the log has it in the same epoch and up to at least the same event.
    fn goes_on(&self, followed: &Arc<Conversation>, stored: &StoredConversation) -> bool {
        let is_here = self.in_memory(followed.id()).is_some_and(|found| Arc::ptr_eq(&found, followed));
        let (head, stands) = (stored.position.seq, followed.head());
        if !is_here || stored.position.epoch != *followed.epoch() || stands > head {
            return false;
        }
        let mut missing: Vec<Envelope> = Vec::new();
        while stands + (missing.len() as Seq) < head {
            let after = stands + missing.len() as Seq;
            let Ok(page) = self.log.read(followed.id(), after, PAGE) else { return false };
            if page.envelopes.is_empty() {
                return false;
            }
            missing.extend(page.envelopes.iter().map(|envelope| Envelope::clone(envelope)));
        }
        followed.promote(head, missing, stored.marks.clone())
    }

    /// Looks which rows of the list other hubs have changed, and tells the viewers of the list here. Waits
    /// for the disk. Call it now and then. Does nothing while nobody watches the list; rows beyond the first
    /// page of it are not looked at. True if rows are gone: then all viewers of the list have to begin again. That is not noticed while
    /// the list is longer than a page.
    pub fn look_at_other_rows(&self) -> Result<bool, LogError> {
        if self.watchers() == 0 {
            return Ok(false);
        }
        let rows = blocking(|| self.log.list(&ListQuery { limit: FLEET_ROWS_MAX, ..ListQuery::default() }))?;
        let is_whole = rows.len() < FLEET_ROWS_MAX;
        let mut seen = self.remote_rows.seen.lock();
        let before = std::mem::take(&mut *seen);
        let mut changed = Vec::new();
        for row in rows {
            let stands = (row.epoch.clone(), row.head);
            let is_known = before.get(&row.conversation) == Some(&stands);
            seen.insert(row.conversation.clone(), stands);
            if !is_known && !self.conversations.contains_key(&row.conversation) {
                changed.push(row);
            }
        }
        let went = is_whole && before.keys().any(|id| !seen.contains_key(id));
        drop(seen);
        if !changed.is_empty() {
            *self.remote_rows.changed.lock() = changed;
            self.watched.notify_one();
        }
        Ok(went)
    }
}
