//! What stays: now and then the log drops whole conversations, the one that was silent longest first, until the rest is
//! within the rule. Never one that is in memory: it is live, watched, running, or was a moment ago.

use std::sync::Arc;
use std::time::Duration;

use event_log::{LogError, Retention, reached};
use hub::{Fanout, Hub};
use model::frame::Durability;

use event_log::clock;

/// What may stay; what is not said has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retain {
    /// How long a conversation stays after its newest event.
    pub age: Option<Duration>,
    /// Most bytes that the log uses on its disk.
    pub bytes: Option<u64>,
    /// Most conversations.
    pub conversations: Option<u64>,
}

/// Keeps to the rule of the settings. Does not end. The work is done beside the threads that serve, a bounded number of
/// conversations at a time, and the log deletes their rows in steps of its own.
pub(crate) async fn run(hub: &Arc<Hub>, fanout: &Fanout, retain: Retain, every: Duration) {
    let Retain { age, bytes, conversations } = retain;
    let age_ms = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let rule = Retention { age_ms, bytes, conversations };
    if rule == Retention::default() {
        return std::future::pending().await;
    }
    loop {
        match round(hub, rule).await {
            // There may be more.
            Ok(gone) if gone > 0 => {
                tracing::info!(gone, "conversations were dropped by the rule of what stays");
                fanout.fleet.renew();
                continue;
            }
            Ok(_none) => {}
            Err(error) => tracing::warn!(%error, "the rule of what stays cannot be kept"),
        }
        tokio::time::sleep(every).await;
    }
}

/// Drops some conversations, and waits until the log has noted that; how many.
async fn round(hub: &Arc<Hub>, rule: Retention) -> Result<usize, LogError> {
    let its = Arc::clone(hub);
    let work = tokio::task::spawn_blocking(move || its.retain(&rule, clock::now_ms()));
    let (gone, last) = work.await.map_err(|error| LogError::Unreadable(Arc::from(error.to_string())))??;
    // Else the next round would choose the same.
    reached(hub.log(), last, Durability::Stored.min(hub.log().durability())).await?;
    Ok(gone)
}
