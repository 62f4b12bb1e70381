//! What stays: now and then the log drops whole conversations, the one that was silent longest first, until the rest is
//! within the rule. Never one that is in memory: it is live, watched, running, or was a moment ago.

use std::time::Duration;

use crate::clock;
use crate::log::{Retention, blocking};
use crate::state::Shared;

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

/// Keeps to the rule of the settings. Does not end.
pub(crate) async fn run(shared: &Shared) {
    let Retain { age, bytes, conversations } = shared.config.retain;
    let age_ms = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let rule = Retention { age_ms, bytes, conversations };
    if rule == Retention::default() {
        return std::future::pending().await;
    }
    loop {
        match blocking(|| shared.hub.retain(&rule, clock::now_ms())) {
            // There may be more: a round drops a bounded number.
            Ok(gone) if gone > 0 => {
                tracing::info!(gone, "conversations were dropped by the rule of what stays");
                shared.fanout.fleet.renew();
                tokio::task::yield_now().await;
                continue;
            }
            Ok(_none) => {}
            Err(error) => tracing::warn!(%error, "the rule of what stays cannot be kept"),
        }
        tokio::time::sleep(shared.config.retain_every).await;
    }
}
