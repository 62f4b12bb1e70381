//! Waiting for a purge: until nothing is left of conversations that were removed.

use std::sync::Arc;

use crate::{EventLog, Health, LogError, Ticket};

/// Waits until the purge `ticket` ([`EventLog::purge`]) is done. Fails with [`LogError::Failing`] when the log cannot write, or ends
/// before; the purge goes on when it can, also after a restart. Returns at once for the ticket of a log that has nothing to purge. May
/// be cancelled, which does not stop the purge.
pub async fn purged(log: &dyn EventLog, ticket: Ticket) -> Result<(), LogError> {
    let mut progress = log.progress();
    loop {
        {
            let now = progress.borrow_and_update();
            if now.purged >= ticket {
                return Ok(());
            }
            let fault = match &now.health {
                Health::Failing(fault) => Some(&fault.what),
                Health::Well => now.purge_fault.as_ref(),
            };
            if let Some(fault) = fault {
                return Err(LogError::Failing(Arc::clone(fault)));
            }
        }
        if progress.changed().await.is_err() {
            return Err(LogError::Failing("it has ended".into()));
        }
    }
}
