//! Collects the conversations whose viewers came or went. Viewers do so in crowds, so the fan-out tells them now and then.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::conversation::Conversation;

/// The conversations whose number of viewers changed since the fan-out last told. Owned by the hub.
#[derive(Debug, Default)]
pub struct ViewerCountChanges {
    /// Each conversation is in it once at most.
    changed: Mutex<Vec<Arc<Conversation>>>,
    wake: Notify,
}

impl ViewerCountChanges {
    /// Notes that a viewer of `conversation` came or went.
    pub(crate) fn note(&self, conversation: &Arc<Conversation>) {
        if conversation.presence.mark_stale() {
            self.changed.lock().push(Arc::clone(conversation));
            self.wake.notify_one();
        }
    }

    /// Waits until viewers came or went, and takes the conversations in which they did.
    pub(crate) async fn changed(&self) -> Vec<Arc<Conversation>> {
        self.wake.notified().await;
        std::mem::take(&mut *self.changed.lock())
    }
}
