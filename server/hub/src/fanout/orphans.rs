//! Viewers of conversations in which the hub itself has spoken, see [`crate::hub::Orphans`].

use super::Fanout;

impl Fanout {
    /// Says of runs that their publishers are gone, when they are. Does not end.
    pub async fn watch_orphans(&self) {
        loop {
            for conversation in self.hub.orphaned().await {
                self.stir(&conversation);
            }
        }
    }
}
