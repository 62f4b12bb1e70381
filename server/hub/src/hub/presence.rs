//! Which conversations' viewers came or went. Viewers do so in crowds: those who watch are told now and then, by the fan-out.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::conversation::Conversation;

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

    /// Waits until viewers changed; then the conversations in which they did.
    pub(crate) async fn changed(&self) -> Vec<Arc<Conversation>> {
        self.wake.notified().await;
        std::mem::take(&mut *self.changed.lock())
    }
}
