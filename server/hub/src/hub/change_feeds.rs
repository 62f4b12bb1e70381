//! Feeds of changes, one for each reader of all conversations, such as a sink. A feed has the names of conversations that changed;
//! its reader reads their events itself. A name waits once, however often its conversation moves, so a slow reader
//! costs a publisher one look into a map (invariant I8).

use std::sync::Arc;

use indexmap::IndexSet;
use model::ConversationId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

/// The feed of one reader. Shared by the hub, which adds names, and the task that takes them.
#[derive(Debug, Default)]
pub struct ChangeFeed {
    /// The conversations that changed since [`ChangeFeed::take`].
    changed: Mutex<IndexSet<ConversationId>>,
    wake: Notify,
}

impl ChangeFeed {
    /// Notes that the conversation has changed, or must be looked at again. Nobody is told of frozen copies: the original was told.
    pub fn tell(&self, id: &ConversationId) {
        if id.is_frozen() {
            return;
        }
        let mut changed = self.changed.lock();
        if !changed.contains(id) {
            changed.insert(id.clone());
            drop(changed);
            self.wake.notify_one();
        }
    }

    /// Waits until a conversation has changed since [`ChangeFeed::take`]. May be cancelled.
    pub async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Takes the conversations that changed, in the order in which they first did.
    pub fn take(&self) -> IndexSet<ConversationId> {
        std::mem::take(&mut *self.changed.lock())
    }
}

/// The feeds of all followers of a hub.
#[derive(Debug, Default)]
pub(crate) struct ChangeFeeds {
    all: RwLock<Vec<Arc<ChangeFeed>>>,
}

impl ChangeFeeds {
    /// Adds a follower, which stays until the hub is dropped.
    pub(crate) fn join(&self) -> Arc<ChangeFeed> {
        let follower = Arc::new(ChangeFeed::default());
        self.all.write().push(Arc::clone(&follower));
        follower
    }

    /// Tells all followers that the conversation has changed.
    pub(super) fn tell(&self, id: &ConversationId) {
        for follower in self.all.read().iter() {
            follower.tell(id);
        }
    }
}
