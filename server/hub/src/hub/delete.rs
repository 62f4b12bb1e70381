//! Deleting one conversation on demand. Retention ([`Hub::retain`]) chooses among those that are not in memory; this takes one from
//! wherever it is, and also overwrites what it leaves in the files of the log.

use std::sync::Arc;

use event_log::{Owner, Purpose, Ticket, blocking};
use model::ConversationId;
use parking_lot::Mutex;

use super::{Hub, OpenError};

/// What to wait for until a conversation is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct PendingDeletion {
    /// Reached when the log has noted the removal ([`event_log::reached`]).
    pub removal: Ticket,
    /// Done when nothing of it is left where the log stores ([`event_log::purged`]).
    pub purge: Ticket,
}

impl Hub {
    /// Deletes the conversation `id`, from memory and from the log; `None` if there is none, or if it is being imported. From the
    /// return on nobody is given anything of it: whoever uses the name begins a new conversation, in a new epoch. Its viewers begin
    /// again with that one when their sockets are woken; lists are told by `lose` of [`crate::fanout::Fanout::fleet`]. Fails with
    /// [`OpenError::Elsewhere`] if another hub has it. Waits for the disk.
    pub fn delete(&self, id: &ConversationId) -> Result<Option<PendingDeletion>, OpenError> {
        blocking(|| {
            if self.in_memory(id).is_none() {
                // Before the lock, which others share.
                self.log.settle(id)?;
            }
            // Nobody may read it back between the look and the removal.
            let _nobody_reads = self.reading_back.get(self.stripe(id)).map(Mutex::lock);
            if let Owner::Elsewhere(address) = self.log.claim(id, Purpose::Find)? {
                return Err(OpenError::Elsewhere { address });
            }
            let found = self.in_memory(id);
            let is_there = match &found {
                Some(found) => found.delete(),
                None => self.log.load(id)?.is_some(),
            };
            if !is_there {
                return Ok(None);
            }
            if let Some(found) = found {
                self.dropped(self.conversations.remove_if(id, |_, known| Arc::ptr_eq(known, &found)));
                // Their rows would bring it back into lists.
                self.changed.lock().retain(|changed| !Arc::ptr_eq(changed, &found));
                self.noted.lock().retain(|noted| !Arc::ptr_eq(noted, &found));
            }
            let (removal, purge) = self.log.remove_and_purge(id);
            Ok(Some(PendingDeletion { removal, purge }))
        })
    }
}

#[cfg(test)]
mod tests;
