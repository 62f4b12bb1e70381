//! How many watch each conversation. Viewers come and go in crowds, so those who watch are told at most once a second.

use std::sync::Arc;
use std::time::Duration;

use super::Fanout;

/// Between two words about the same conversation.
const TELL_EVERY: Duration = Duration::from_secs(1);

impl Fanout {
    /// Tells viewers how many they are, for as long as the hub lives.
    pub async fn tell_presence(&self) {
        let presence = self.hub.presence();
        loop {
            for conversation in presence.changed().await {
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
