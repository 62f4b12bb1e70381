//! Followers of all conversations, such as sinks. Each follower is told the names of conversations that moved
//! and reads their events itself. A name waits once, however often its conversation moves, so a slow follower
//! costs a publisher one look into a map (invariant I8).

use std::sync::Arc;

use indexmap::IndexSet;
use model::ConversationId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

/// One follower. Shared by the hub, which tells it names, and the task that takes them.
#[derive(Debug, Default)]
pub struct ChangeFeed {
    /// The conversations that moved since [`ChangeFeed::take`].
    moved: Mutex<IndexSet<ConversationId>>,
    wake: Notify,
}

impl ChangeFeed {
    /// Notes that the conversation has moved, or must be looked at again.
    pub fn tell(&self, id: &ConversationId) {
        let mut moved = self.moved.lock();
        if !moved.contains(id) {
            moved.insert(id.clone());
            drop(moved);
            self.wake.notify_one();
        }
    }

    /// Waits until a conversation has moved since [`ChangeFeed::take`]. May be cancelled.
    pub async fn moved(&self) {
        self.wake.notified().await;
    }

    /// Takes the conversations that moved, in the order in which they first did.
    pub fn take(&self) -> IndexSet<ConversationId> {
        std::mem::take(&mut *self.moved.lock())
    }
}

/// All followers of a hub.
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

    /// Tells all followers that the conversation has moved.
    pub(super) fn tell(&self, id: &ConversationId) {
        for follower in self.all.read().iter() {
            follower.tell(id);
        }
    }
}
