//! What the writing thread shares with the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

use model::frame::Durability;
use parking_lot::Mutex;

use super::super::claims::Claims;
use super::super::database::Database;
use super::super::guarantee::{CommitGuarantee, CommitPromise};
use super::super::lease::OwnLease;
use crate::conversation_count::ConversationCount;
use crate::packer::Packer;
use crate::queue::Queue;

/// What the writing thread shares with the log.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct WriterShared {
    /// Connections and the runtime that they live on.
    pub(in crate::postgres) database: Arc<Database>,
    /// What waits to be written.
    pub(in crate::postgres) queue: Arc<Queue>,
    /// States and blocks that wait to be packed.
    pub(in crate::postgres) packer: Arc<Packer>,
    /// The number of conversations in the log.
    pub(in crate::postgres) conversation_count: Arc<ConversationCount>,
    /// What the log promises of a commit.
    pub(in crate::postgres) promise: Arc<Mutex<CommitPromise>>,
    /// Transactions of this life that are certain, as of the newest that was reported.
    pub(in crate::postgres) commits: Arc<AtomicI64>,
    /// Whether others can have taken over.
    pub(in crate::postgres) own_lease: Arc<OwnLease>,
    /// Whether the writer notes, or has noted, that the life has ended well. Whoever finds the life over from then on has not been overtaken.
    pub(in crate::postgres) is_ending: Arc<AtomicBool>,
    /// What is known where several hubs share the database.
    pub(in crate::postgres) claims: Option<Arc<Claims>>,
}

impl WriterShared {
    /// Takes over what the database has said of its settings. Returns what a commit means as far as both that
    /// and the promise go.
    pub(in crate::postgres) fn learn(&self, found: CommitGuarantee) -> Durability {
        let mut promise = self.promise.lock();
        let durability = found.durability;
        if promise.learn(found, Instant::now()) {
            let now = promise.now();
            tracing::warn!(
                promise = now.why,
                level = now.durability.as_str(),
                "the settings of the database promise something else"
            );
            self.queue.offers(now.durability);
        }
        promise.now().durability.min(durability)
    }

    /// Transactions of this life that are certain.
    pub(in crate::postgres) fn commits(&self) -> i64 {
        self.commits.load(Ordering::Acquire)
    }
}
