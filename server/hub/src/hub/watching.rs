//! Who watches: viewers of a conversation, viewers of the list, and those who are told which conversations move.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::ConversationId;
use model::frame::ConversationRow;

use super::change_feeds::ChangeFeed;
use super::{Conversation, Hub, OpenError};

impl Hub {
    /// Enters the conversation `id` as a viewer without a name. Otherwise as [`Hub::enter_as`].
    pub fn enter(&self, id: &ConversationId) -> Result<Arc<Conversation>, OpenError> {
        self.enter_as(id, None)
    }

    /// Enters the conversation `id` as a viewer, so that it stays in memory. `who` is the name by which the other viewers
    /// know this one, if they may. Each call needs one of [`Hub::leave_as`] with the same name: dropping the `Arc` does
    /// not leave.
    pub fn enter_as(&self, id: &ConversationId, who: Option<&str>) -> Result<Arc<Conversation>, OpenError> {
        loop {
            let conversation = self.open(id)?;
            // Refused only if it left memory after it was found: the next round finds or makes another.
            if conversation.enter().is_ok() {
                conversation.presence.joined(who);
                self.touch(&conversation);
                self.presence.note(&conversation);
                return Ok(conversation);
            }
        }
    }

    /// Leaves a conversation that was entered without a name. Otherwise as [`Hub::leave_as`].
    pub fn leave(&self, conversation: &Arc<Conversation>) {
        self.leave_as(conversation, None);
    }

    /// Leaves a conversation as the viewer `who`. A conversation in which nothing was ever said is forgotten with its
    /// last viewer, so that looking at a name leaves nothing behind.
    pub fn leave_as(&self, conversation: &Arc<Conversation>, who: Option<&str>) {
        conversation.presence.left(who);
        conversation.leave();
        self.touch(conversation);
        self.presence.note(conversation);
        self.forget_if_empty(conversation);
    }

    /// Makes a feed of the names of all conversations that move. It is kept until the hub is dropped.
    pub fn follow(&self) -> Arc<ChangeFeed> {
        self.change_feeds.join()
    }

    /// How many viewers of the list there are.
    pub fn watchers(&self) -> u64 {
        self.watchers.load(Ordering::Relaxed) as u64
    }

    /// Counts one viewer of the list more (true) or less (false).
    pub(crate) fn watch(&self, watches: bool) {
        if watches {
            self.watchers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.watchers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits until a row has changed since [`Hub::take_changed`]. May be cancelled.
    pub(crate) async fn changed(&self) {
        self.watched.notified().await;
    }

    /// Takes the rows that changed since the last call, as they are now.
    pub(crate) fn take_changed(&self) -> Vec<ConversationRow> {
        let changed = std::mem::take(&mut *self.changed.lock());
        let rows = changed.iter().map(|conversation| {
            // Cleared before the row is read: a change that comes meanwhile is listed again.
            conversation.listed.store(false, Ordering::Release);
            conversation.row()
        });
        // A name that somebody only looked at has no row.
        rows.chain(self.remote_rows.take()).filter(|row| row.head > 0).collect()
    }
}
