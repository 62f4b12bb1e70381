//! Retention: from time to time the log removes whole conversations, the one that was silent longest first,
//! until the rest is within the rule. It never removes one that is in memory: that one is live, viewed,
//! running, or was a moment ago.

use std::sync::Arc;
use std::time::Duration;

use event_log::{LogError, Retention, reached};
use hub::{Fanout, Hub};
use model::frame::Durability;

use event_log::clock;

/// What may stay. Without any bound, everything stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retain {
    /// How long a conversation stays after its newest event.
    pub age: Option<Duration>,
    /// Most bytes of disk that the log uses.
    pub bytes: Option<u64>,
    /// Most conversations that stay.
    pub conversations: Option<u64>,
}

/// Applies the rule of the settings every now and then. Never returns. The work is done beside the threads
/// that serve, for a bounded number of conversations at a time; the log deletes their rows in steps of its
/// own.
pub(crate) async fn run(hub: &Arc<Hub>, fanout: &Fanout, retain: Retain, every: Duration) {
    let Retain { age, bytes, conversations } = retain;
    let age_ms = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let rule = Retention { age_ms, bytes, conversations };
    if rule == Retention::default() {
        return std::future::pending().await;
    }
    loop {
        match round(hub, rule).await {
            // There may be more to remove.
            Ok(gone) if gone > 0 => {
                tracing::info!(gone, "conversations were deleted by retention");
                fanout.fleet.renew();
                continue;
            }
            Ok(_none) => {}
            Err(error) => tracing::warn!(%error, "retention failed"),
        }
        tokio::time::sleep(every).await;
    }
}

/// Removes some conversations and waits until the log has noted that; returns how many.
/// Fails if the log does.
async fn round(hub: &Arc<Hub>, rule: Retention) -> Result<usize, LogError> {
    let its = Arc::clone(hub);
    let work = tokio::task::spawn_blocking(move || its.retain(&rule, clock::now_ms()));
    let (gone, last) = work.await.map_err(|error| LogError::Unreadable(Arc::from(error.to_string())))??;
    // Otherwise the next round would choose the same ones.
    reached(hub.log(), last, Durability::Stored.min(hub.log().durability())).await?;
    Ok(gone)
}
