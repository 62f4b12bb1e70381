//! How many watch each conversation. Viewers come and go in crowds, so those who watch are told at most once a second.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Fanout;
use crate::hub::Conversation;

/// Between two words about the same conversation.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The conversations whose viewers changed.
#[derive(Debug, Default)]
pub struct Presence {
    changed: Mutex<Vec<Arc<Conversation>>>,
    wake: Notify,
}

impl Presence {
    /// A viewer came to `conversation`, or went.
    pub(crate) fn note(&self, conversation: &Arc<Conversation>) {
        if conversation.presence.note() {
            self.changed.lock().push(Arc::clone(conversation));
            self.wake.notify_one();
        }
    }
}

impl Fanout {
    /// Tells viewers how many they are, for as long as the hub lives.
    pub async fn tell_presence(&self) {
        let presence = self.hub.presence();
        loop {
            presence.wake.notified().await;
            let changed = std::mem::take(&mut *presence.changed.lock());
            for conversation in changed {
                conversation.tell_presence();
                let stage = self.stages.get(conversation.id()).map(|found| Arc::clone(&found));
                if let Some(stage) = stage {
                    stage.wake();
                }
            }
            tokio::time::sleep(TELL_EVERY).await;
        }
    }
}
