//! Tells viewers how many view their conversation. Viewers come and go in crowds, so each conversation says
//! it once a second at most.

use std::sync::Arc;
use std::time::Duration;

use super::Fanout;

/// The time between two presence frames about the same conversation.
const TELL_EVERY: Duration = Duration::from_secs(1);

impl Fanout {
    /// Tells viewers how many they are whenever that changes. Never returns; cancel it to stop.
    pub async fn tell_presence(&self) {
        let presence = self.hub.presence();
        loop {
            for conversation in presence.changed().await {
                conversation.tell_presence();
                let viewed = self.viewed_conversations.get(conversation.id()).map(|found| Arc::clone(&found));
                if let Some(viewed) = viewed {
                    viewed.wake();
                }
            }
            tokio::time::sleep(TELL_EVERY).await;
        }
    }
}
