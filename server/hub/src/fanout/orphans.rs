//! Delivers what the hub itself appends about runs whose publishers are gone, see [`crate::hub::Orphans`].

use super::Fanout;

impl Fanout {
    /// Delivers the events that say that runs are stalled or lost, whenever the hub has appended some. Never
    /// returns; cancel it to stop.
    pub async fn watch_orphans(&self) {
        loop {
            for conversation in self.hub.orphaned().await {
                self.deliver(&conversation);
            }
        }
    }
}
