//! Commits one group as one transaction.

use std::sync::Arc;
use std::time::Duration;

use model::frame::Durability;

use super::super::batch::{Batch, CommitError, CommitStamp};
use super::super::database::Session;
use super::super::failure::GroupFailure;
use super::super::guarantee::CommitGuarantee;
use super::super::known::WriterCache;
use super::super::plan::{PlanEffects, Planner, StatePacking};
use super::super::prefetch::prefetch;
use super::PostgresWriter;
use crate::clock;
use crate::ops::Queued;
use crate::queue::LogLifecycle;

/// How long a transaction may take. One that takes longer is looked for on a new connection.
const COMMIT: Duration = Duration::from_secs(15);

impl PostgresWriter {
    /// Writes `group` as one transaction, on a new connection where there is none. After a failure nothing is
    /// known any more, and a connection that is closed is given up.
    pub(super) fn commit(&mut self, group: &[Queued]) -> Result<(PlanEffects, Durability), GroupFailure> {
        let runtime = Arc::clone(&self.runtime);
        let done = runtime.block_on(async { tokio::time::timeout(COMMIT, self.try_to_commit(group)).await });
        let done = done.unwrap_or_else(|_elapsed| {
            let what = format!("the database has not answered for {} s", COMMIT.as_secs());
            Err(GroupFailure::Passing { code: "disk_failing", what })
        });
        if done.is_err() {
            // Of what was planned nothing is certain.
            self.known = WriterCache::default();
            self.session = self.session.take().filter(|session| !session.client.is_closed());
        }
        done
    }

    /// Finds out about the transaction in doubt, asks for what the plan needs, and makes the transaction.
    /// Returns what it did, and what its commit means. Where it is cancelled, which [`COMMIT`] does, the session is gone and the transaction stays in doubt.
    async fn try_to_commit(&mut self, group: &[Queued]) -> Result<(PlanEffects, Durability), GroupFailure> {
        // Taken away while it is in use: one whose transaction is broken off in the middle is not used again.
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect().await?,
        };
        if let Some(outcome) = self.look_for_doubtful(&mut session).await? {
            self.session = Some(session);
            // Its session may have ended while it waited for the standby; the next renewal knows more.
            let level = self.shared.promise.lock().now().durability.min(Durability::Synced);
            return Ok((outcome, level));
        }
        let failed = |error: tokio_postgres::Error| GroupFailure::of(&error);
        let of = (self.life, self.shared.claims.as_deref());
        prefetch(&mut session, &mut self.known, group, of).await.map_err(failed)?;
        let packs = if self.shared.queue.lifecycle() == LogLifecycle::Open {
            StatePacking::Later
        } else {
            StatePacking::Now
        };
        let planner = Planner::new(&mut self.known, self.life, packs);
        // Where transactions were lost nobody knows whether all is stored that was shown.
        let planner = if self.count.has_lost() { planner.keeping_all() } else { planner };
        let mut plan = planner.plan(group);
        let stamp = CommitStamp {
            life: self.life,
            number: self.count.next(),
            now: clock::now_ms(),
            lease_ms: i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX),
        };
        let batch = Batch::of(&plan, stamp, self.fences, &mut self.known);
        let outcome = std::mem::take(&mut plan.outcome);
        drop(plan);
        // Should this be broken off, it may have been made all the same.
        self.count.sent(outcome);
        let done = batch.commit(&mut session).await;
        if matches!(done, Err(CommitError::InDoubt(_))) {
            tracing::warn!(
                commit = stamp.number,
                "the database did not say whether a transaction was made; it will be looked for"
            );
        } else {
            self.session = Some(session);
        }
        match done {
            Ok((before, after)) => {
                let outcome = self.count.made();
                let before = before.map_or(Durability::Stored, |before| before.durability);
                let level = after.map_or(Durability::Stored, |after| self.shared.learn(after));
                Ok((outcome, level.min(before)))
            }
            Err(CommitError::InDoubt(error)) => Err(GroupFailure::of(&error)),
            Err(CommitError::Failed(error)) => {
                self.count.not_made();
                Err(GroupFailure::of(&error))
            }
            // The next try looks who is right.
            Err(CommitError::Fenced) => Err(self.fenced().await),
            Err(CommitError::NotOwned) => {
                self.count.not_made();
                Err(GroupFailure::Over)
            }
            Err(CommitError::Stale(what)) => {
                self.count.not_made();
                let what = format!("rows are not as they were left by {:?}", what.get(..40).unwrap_or(what));
                Err(GroupFailure::Passing { code: "disk_failing", what })
            }
        }
    }

    /// Connects, if that takes no longer than a transaction may.
    pub(super) fn connect_in_time(&mut self) {
        let runtime = Arc::clone(&self.runtime);
        let connected = runtime.block_on(async { tokio::time::timeout(COMMIT, self.connect()).await });
        self.session = connected.ok().and_then(Result::ok);
    }

    /// A connection, and what its database makes true.
    pub(super) async fn connect(&mut self) -> Result<Session, GroupFailure> {
        let failed = |error: tokio_postgres::Error| GroupFailure::of(&error);
        let mut session = self.shared.database.connect().await.map_err(failed)?;
        self.shared.learn(CommitGuarantee::ask(&mut session).await.map_err(failed)?);
        Ok(session)
    }
}
