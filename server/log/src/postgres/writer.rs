//! The one thread that writes: takes what waits, makes one transaction of it, says how far it has come.
//!
//! ```text
//!        ┌──────────────── well ────────────────┐
//! wait ──▶ take ──▶ plan ──▶ one transaction ──▶ say so ──▶ hand on what can be packed
//!                             │ unreachable, full  ▲
//!                             ├──▶ say so ─▶ pause ┤ the same again on a new connection; one that may have been made is
//!                             │ refused            │ looked for first
//!                             └──▶ each half ──────┘ an operation that is refused alone is set aside
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use model::frame::Durability;
use parking_lot::Mutex;

use super::batch::{Batch, CommitError, CommitStamp};
use super::database::{Database, Session};
use super::failure::{GroupFailure, said};
use super::guarantee::{CommitGuarantee, CommitPromise};
use super::known::WriterCache;
use super::life;
use super::plan::{PlanEffects, Planner, StatePacking};
use super::prefetch::prefetch;
use super::sweep;
use crate::conversation_count::ConversationCount;
use crate::ops::{Op, PackedView, Queued};
use crate::packer::Packer;
use crate::queue::{LogLifecycle, Queue, WriterStep};
use crate::{WriteFault, clock};

/// The first pause after a failure; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Failures after which a log that is to be closed gives up.
const TRIES_WHEN_CLOSING: u32 = 3;

/// Operations in a row that are refused before the database itself counts as broken, and nothing more is set aside.
const REFUSED_IN_A_ROW_MAX: u32 = 32;

/// How long a transaction may take. One that takes longer is looked for on a new connection.
const COMMIT: Duration = Duration::from_secs(15);

/// What the writing thread shares with the log.
#[derive(Debug, Clone)]
pub(super) struct WriterShared {
    /// Connections and the runtime that they live on.
    pub(super) database: Arc<Database>,
    /// What waits to be written.
    pub(super) queue: Arc<Queue>,
    /// States and blocks that wait to be packed.
    pub(super) packer: Arc<Packer>,
    /// How many conversations there are.
    pub(super) conversation_count: Arc<ConversationCount>,
    /// What the log promises of a commit.
    pub(super) promise: Arc<Mutex<CommitPromise>>,
    /// Transactions of this life that are certain, as of the newest that was reported.
    pub(super) commits: Arc<AtomicI64>,
}

impl WriterShared {
    /// Takes over what the database has said of its settings. Returns what a commit means as far as both that
    /// and the promise go.
    pub(super) fn learn(&self, found: CommitGuarantee) -> Durability {
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
    pub(super) fn commits(&self) -> i64 {
        self.commits.load(Ordering::Acquire)
    }
}

/// What must hold for a transaction to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitFence {
    /// The life goes on: it is alone on the database.
    Life,
    /// The life goes on, and has each conversation that it changes.
    Owners,
}

/// The thread that writes. Whatever way it ends, it says how far it came, so that nobody waits for it forever.
pub(super) struct PostgresWriter {
    shared: WriterShared,
    /// The life that writes.
    life: i64,
    /// Whether the owners of conversations are checked too.
    fences: CommitFence,
    /// For how long each commit renews the life.
    lease: Duration,
    /// Nothing while there is no connection.
    session: Option<Session>,
    /// What the database has, as far as it was asked or written.
    known: WriterCache,
    /// Transactions of this life that are certain.
    commits: i64,
    /// One that may have been made, with what it did.
    in_doubt: Option<(i64, PlanEffects)>,
    /// Since when nothing can be written, in milliseconds since 1970; `None` while it works.
    failing_since: Option<u64>,
    /// Operations in a row that were refused, since the last commit.
    refused: u32,
}

impl PostgresWriter {
    /// The writer of a life, on `session`.
    pub(super) fn new(
        shared: WriterShared,
        session: Session,
        (life, fences): (i64, CommitFence),
        lease: Duration,
    ) -> Self {
        Self {
            shared,
            life,
            fences,
            lease,
            session: Some(session),
            known: WriterCache::default(),
            commits: 0,
            in_doubt: None,
            failing_since: None,
            refused: 0,
        }
    }

    /// The body of the thread: writes until the log is closed or dropped.
    pub(super) fn run(mut self) {
        loop {
            let goes_on = match self.shared.queue.next() {
                WriterStep::Write(group) => self.write(group),
                WriterStep::Sweep => {
                    self.sweep();
                    Ok(())
                }
                WriterStep::Close => {
                    self.close();
                    break;
                }
                WriterStep::Leave => break,
            };
            if goes_on.is_err() {
                break;
            }
        }
    }

    /// Writes `group`, however long that takes: it is tried again until it is written, its operations are set
    /// aside, or the log ends. Only the last is an error; then the group is reported as unwritten.
    fn write(&mut self, group: Vec<Queued>) -> Result<(), ()> {
        let (mut pause, mut tries) = (PAUSE_MIN, 0);
        loop {
            let began = Instant::now();
            let failure = match self.commit(&group) {
                Ok((outcome, level)) => {
                    self.shared.queue.committed(began.elapsed());
                    self.wrote(group, outcome, level);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let failure = match failure {
                GroupFailure::Refused(what) if self.refused < REFUSED_IN_A_ROW_MAX => {
                    return self.halve(group, &what);
                }
                GroupFailure::Refused(what) => GroupFailure::Passing { code: "disk_failing", what },
                other => other,
            };
            self.failed(&failure);
            tries += 1;
            match self.shared.queue.pause(pause) {
                LogLifecycle::Dropped => return self.leave(&group),
                LogLifecycle::Closing if tries >= TRIES_WHEN_CLOSING => return self.leave(&group),
                _ => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Notes that `group` will not be written.
    fn leave(&self, group: &[Queued]) -> Result<(), ()> {
        self.shared.queue.unwritten(group.iter());
        Err(())
    }

    /// Writes each half of a group that the database refuses, so that only what it refuses alone is left out.
    fn halve(&mut self, mut group: Vec<Queued>, what: &str) -> Result<(), ()> {
        let second = group.split_off(group.len() / 2);
        if group.is_empty() {
            for queued in second {
                self.set_aside(&queued, what);
            }
            return Ok(());
        }
        match self.write(group) {
            Ok(()) => self.write(second),
            Err(()) => self.leave(&second),
        }
    }

    /// Goes on without an operation that the database refuses.
    fn set_aside(&mut self, queued: &Queued, what: &str) {
        self.refused += 1;
        self.shared.queue.count_aside(1);
        let database = Arc::clone(&self.shared.database);
        if let Some(session) = &mut self.session {
            database.block_on(super::aside::put(session, &queued.op, what));
        }
        if let Some(conversation) = queued.op.conversation() {
            let head = self.known.find(conversation).map_or(0, |place| place.head);
            match &queued.op {
                Op::Append(_) => self.shared.queue.misfit(conversation, head),
                Op::Keep(_) => self.shared.queue.give_up(conversation, head),
                _ => {}
            }
        }
        self.shared.queue.lose(queued.ticket);
        self.shared.queue.wrote(queued.ticket, queued.bytes, Durability::Stored);
    }

    /// Writes `group` as one transaction, on a new connection where there is none. After a failure nothing is
    /// known any more, and a connection that is closed is given up.
    fn commit(&mut self, group: &[Queued]) -> Result<(PlanEffects, Durability), GroupFailure> {
        let database = Arc::clone(&self.shared.database);
        let done = database.block_on(async { tokio::time::timeout(COMMIT, self.try_to_commit(group)).await });
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
        prefetch(&mut session, &mut self.known, group, self.life).await.map_err(failed)?;
        let packs = if self.shared.queue.lifecycle() == LogLifecycle::Open {
            StatePacking::Later
        } else {
            StatePacking::Now
        };
        let mut plan = Planner::new(&mut self.known, self.life, packs).plan(group);
        let stamp = CommitStamp {
            life: self.life,
            number: self.commits + 1,
            now: clock::now_ms(),
            lease_ms: i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX),
        };
        let batch = Batch::of(&plan, stamp, self.fences, &mut self.known);
        let outcome = std::mem::take(&mut plan.outcome);
        drop(plan);
        // Should this be broken off, it may have been made all the same.
        self.in_doubt = Some((stamp.number, outcome));
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
                self.commits = stamp.number;
                let outcome = self.in_doubt.take().map(|(_, outcome)| outcome).unwrap_or_default();
                let level = after.map_or(Durability::Stored, |after| self.shared.learn(after));
                Ok((outcome, level.min(before.durability)))
            }
            Err(CommitError::InDoubt(error)) => Err(GroupFailure::of(&error)),
            Err(CommitError::Failed(error)) => {
                self.in_doubt = None;
                Err(GroupFailure::of(&error))
            }
            // The next try looks who is right.
            Err(CommitError::Fenced) => Err(self.fenced().await),
            Err(CommitError::Stale(what)) => {
                self.in_doubt = None;
                let what = format!("rows are not as they were left by {:?}", what.get(..40).unwrap_or(what));
                Err(GroupFailure::Passing { code: "disk_failing", what })
            }
        }
    }

    /// A connection, and what its database makes true.
    async fn connect(&mut self) -> Result<Session, GroupFailure> {
        let failed = |error: tokio_postgres::Error| GroupFailure::of(&error);
        let mut session = self.shared.database.connect().await.map_err(failed)?;
        self.shared.learn(CommitGuarantee::ask(&mut session).await.map_err(failed)?);
        Ok(session)
    }

    /// Looks for the transaction that may have been made; what it did, if it was.
    async fn look_for_doubtful(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<PlanEffects>, GroupFailure> {
        let Some((number, outcome)) = self.in_doubt.take() else { return Ok(None) };
        match self.counted(session).await {
            Ok(commits) if commits == number => {
                tracing::info!(commit = number, "the transaction was made");
                self.commits = number;
                Ok(Some(outcome))
            }
            Ok(_) => Ok(None),
            Err(failure) => {
                self.in_doubt = Some((number, outcome));
                Err(failure)
            }
        }
    }

    /// How many transactions of this life the database has, once no other session is about to make one.
    async fn counted(&mut self, session: &mut Session) -> Result<i64, GroupFailure> {
        // Waits for whoever holds the row.
        let select = "SELECT commits, over FROM life WHERE number = $1 FOR UPDATE";
        let row = session
            .client
            .query_opt(select, &[&self.life])
            .await
            .map_err(|error| GroupFailure::of(&error))?;
        let Some(row) = row else { return Err(GroupFailure::Over) };
        let read = |error: tokio_postgres::Error| GroupFailure::of(&error);
        let (commits, is_over): (i64, bool) = (row.try_get(0).map_err(read)?, row.try_get(1).map_err(read)?);
        if is_over {
            return Err(GroupFailure::Over);
        }
        if commits < self.commits {
            let missing = self.commits - commits;
            tracing::error!(
                missing,
                "the database has lost transactions that it had made; what was acked with them is missing"
            );
            self.commits = commits;
        }
        Ok(commits)
    }

    /// The fence let nothing through: the life is over, or a transaction was counted that nobody here knows.
    async fn fenced(&mut self) -> GroupFailure {
        self.in_doubt = None;
        let Some(mut session) = self.session.take() else { return GroupFailure::Over };
        let counted = self.counted(&mut session).await;
        self.session = Some(session);
        match counted {
            Ok(commits) => {
                self.commits = commits;
                GroupFailure::Passing {
                    code: "disk_failing",
                    what: String::from("the transactions of the log were counted anew"),
                }
            }
            Err(failure) => failure,
        }
    }

    /// Acts on a group whose commit means `level`: counts, reports its tickets, and hands on what can be packed. What is
    /// missing from the group is reported before its tickets are.
    fn wrote(&mut self, group: Vec<Queued>, outcome: PlanEffects, level: Durability) {
        let WriterShared { queue, packer, conversation_count, commits, .. } = &self.shared;
        commits.store(self.commits, Ordering::Release);
        if self.failing_since.take().is_some() {
            tracing::info!("the log writes again");
        }
        self.refused = 0;
        conversation_count.commit(outcome.made, outcome.removed);
        let of = |ticket: u64| group.iter().find(|queued| queued.ticket == ticket).map(|queued| &queued.op);
        queue.count_aside(outcome.misfits.len() as u64);
        for (ticket, head) in &outcome.misfits {
            let conversation = of(*ticket).and_then(Op::conversation);
            tracing::error!(?conversation, head, "events do not continue the log and are left out");
            if let Some(conversation) = conversation {
                queue.misfit(conversation, *head);
            }
        }
        for ticket in &outcome.lost {
            queue.lose(*ticket);
        }
        if outcome.removed > 0 || group.iter().any(|queued| matches!(queued.op, Op::Abandon(_))) {
            queue.sweep_after(Duration::ZERO);
        }
        let ticket = group.last().map_or(0, |queued| queued.ticket);
        queue.wrote(ticket, group.iter().map(|queued| queued.bytes).sum(), level);
        for (conversation, key) in outcome.ripe {
            packer.compact(conversation, key);
        }
        for queued in group {
            if let Op::Keep(checkpoint) = queued.op
                && let Some(key) = outcome.to_pack.get(&queued.ticket)
                && let Err(checkpoint) = packer.keep(*key, checkpoint)
            {
                // The packer is gone. Under its key: by now the name may be that of another conversation.
                queue.put(Op::View(Box::new(PackedView::of(*key, *checkpoint))));
            }
        }
    }

    /// Reports that nothing can be written, and since when. Traced once in a series of failures.
    fn failed(&mut self, failure: &GroupFailure) {
        let (code, what) = match failure {
            GroupFailure::Passing { code, what } => (*code, what.clone()),
            GroupFailure::Refused(what) => ("disk_failing", what.clone()),
            GroupFailure::Over => {
                self.shared.queue.overtaken();
                ("disk_failing", String::from(life::OVER))
            }
        };
        let since = *self.failing_since.get_or_insert_with(|| {
            tracing::warn!(error = what, "the log cannot write");
            clock::now_ms()
        });
        self.shared.queue.failed(WriteFault { code, what: Arc::from(what), since });
    }

    /// Deletes some rows of conversations that went. Does nothing without a connection: the next commit makes
    /// one.
    fn sweep(&mut self) {
        let began = Instant::now();
        let database = Arc::clone(&self.shared.database);
        let Some(session) = &mut self.session else { return self.shared.queue.sweep_after(PAUSE_MAX) };
        match database.block_on(sweep::step(session)) {
            Ok(true) => self.shared.queue.sweep_after(began.elapsed()),
            Ok(false) => self.shared.queue.swept(),
            Err(error) => {
                tracing::warn!(error = said(&error), "conversations that went still take room");
                self.session = None;
                self.shared.queue.sweep_after(PAUSE_MAX);
            }
        }
    }

    /// Notes that the life ended well, so that its conversations keep their epochs; those with a hole get a
    /// new one at the next load. Without a connection nothing is noted, and all of them get new epochs.
    fn close(&mut self) {
        let (database, life) = (Arc::clone(&self.shared.database), self.life);
        let holed: Vec<String> = self.shared.queue.holed().iter().map(ToString::to_string).collect();
        let Some(session) = &mut self.session else { return };
        let client = &session.client;
        let closed = database.block_on(async {
            client.execute(life::FORGET_LIFE, &[&holed, &life]).await?;
            client
                .execute(
                    "UPDATE life SET ended_well = true, over = true WHERE number = $1 AND NOT over",
                    &[&life],
                )
                .await
        });
        if let Err(error) = closed {
            tracing::warn!(error = said(&error), "the log could not note that it ended well");
        }
    }
}

impl Drop for PostgresWriter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (what, since) = (Arc::from("a fault of the log"), clock::now_ms());
            self.shared.queue.failed(WriteFault { code: "disk_failing", what, since });
        }
        // Whoever waits, waits no longer.
        self.shared.queue.end(LogLifecycle::Dropped);
    }
}
