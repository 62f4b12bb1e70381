//! Those who follow all conversations: each is told the names of those that moved, and reads for itself. A name waits once,
//! however often its conversation moves, so whoever is slow costs a publisher one look into a map (invariant I8).

use std::sync::Arc;

use indexmap::IndexSet;
use model::ConversationId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

/// One who follows.
#[derive(Debug, Default)]
pub struct Follower {
    moved: Mutex<IndexSet<ConversationId>>,
    wake: Notify,
}

impl Follower {
    /// The conversation has moved, or is to be looked at again.
    pub fn tell(&self, id: &ConversationId) {
        let mut moved = self.moved.lock();
        if !moved.contains(id) {
            moved.insert(id.clone());
            drop(moved);
            self.wake.notify_one();
        }
    }

    /// Ready when a conversation has moved since they were last taken. May be given up.
    pub async fn moved(&self) {
        self.wake.notified().await;
    }

    /// The conversations that moved, those first that moved first.
    pub fn take(&self) -> IndexSet<ConversationId> {
        std::mem::take(&mut *self.moved.lock())
    }
}

/// All who follow.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    all: RwLock<Vec<Arc<Follower>>>,
}

impl Followers {
    /// One more, until the hub ends.
    pub(crate) fn join(&self) -> Arc<Follower> {
        let follower = Arc::new(Follower::default());
        self.all.write().push(Arc::clone(&follower));
        follower
    }

    /// The conversation has moved.
    pub(super) fn tell(&self, id: &ConversationId) {
        for follower in self.all.read().iter() {
            follower.tell(id);
        }
    }
}
