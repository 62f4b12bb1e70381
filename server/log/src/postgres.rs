//! The log in PostgreSQL. Stored means that the database has committed an event; what that survives, its settings say, and the log
//! promises no more ([`guarantee`]).
//!
//! ```text
//!  append ──▶ queue ──▶ writer ──▶ one transaction ──▶ database ◀── readers ◀── load, read, list, search
//!            (memory)     │ ▲                             ▲
//!                         ▼ │                             │ reads
//!                        packer ──────────────────────────┘
//! ```
//!
//! The queue is that of every log that writes. A group of operations becomes a plan ([`plan`]), and the plan a handful of statements,
//! sent together ([`batch`]). While the database cannot be reached nothing is lost that was acked, viewers go on, and what the
//! queue cannot hold leaves holes that states fill.
//!
//! # The fence
//! Each start of a hub on the database is a life with a number. The first statement of each of the writer's transactions raises the number of commits of the
//! life, if the life is not over and has as many as is known: one that is over commits nothing, and a transaction whose answer was lost is
//! made once. Claims check the life by themselves; logins, links and sums of money belong to no life. Besides, a conversation is continued only from the head that it has. Which life is alive is decided by the
//! clock of the database alone.
//!
//! # Epochs (invariant I9)
//! As on disk: viewers see an event before it is stored, so after a life that did not end well a conversation goes on in a new
//! epoch, with all its events. So it does where a standby was promoted since its last owner left it: another one may have claimed it and shown
//! events since, of which the standby had nothing. The timeline of the database says so, which is noted with each good end.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::frame::{ConversationRow, Durability};
use model::limits::LOG_QUEUE_BYTES_MAX;
use model::{ConversationId, Epoch, Position, Seq};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::blocks::unreadable;
use crate::ops::{Op, QueuedEvents, StagedImport};
use crate::queue::LogLifecycle;
use crate::{
    Append, Checkpoint, EndedToolCall, EventLog, EventPage, ImportId, LeavingEnd, ListQuery, LogError,
    LogFigures, MeasureQuery, Measured, Measurement, Owner, Progress, Purpose, QueryCancel, Retention,
    SearchQuery, SearchResults, SharedAccess, SharedSettings, StoredConversation, Ticket, ToolFigures,
    Unwritten, clock,
};

mod access;
mod address;
mod aside;
mod batch;
mod claims;
mod closed;
mod counting;
mod database;
#[cfg(any(test, feature = "testkit"))]
mod double;
mod failure;
mod guarantee;
mod known;
mod lease;
mod life;
mod measures;
mod opening;
mod plan;
mod prefetch;
mod read;
mod schema;
mod search;
#[cfg(all(unix, any(test, feature = "testkit")))]
mod server;
mod sessions;
mod settings;
mod sweep;
mod text;
mod tls;
mod writer;

pub use address::PostgresUrl;
use claims::DatabaseTables;
pub use closed::ClosedPostgresLog;
use database::{Reading, Session};
#[cfg(any(test, feature = "testkit"))]
pub use double::{ModelDatabase, ModelFlaw, ModelLog};
#[cfg(all(unix, any(test, feature = "testkit")))]
pub use server::{PostgresPlace, TestPostgresServer, postgres_programs};
use writer::WriterShared;

/// Most conversations that go at once; the next round takes the next.
const ROUND_MAX: usize = 200;

/// How long a life is alive after it said so, where nobody says otherwise.
const LEASE: Duration = Duration::from_secs(3);

/// The options with which a database is opened.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// How long a hub counts as alive after it last said so. Another hub that starts on the database waits that long for one
    /// that died.
    pub lease: Duration,
    /// Most bytes that wait to be written.
    pub queue_bytes: usize,
    /// How other hubs reach this one, where several share the database; nothing for a hub that is alone there.
    pub address: Option<String>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { lease: LEASE, queue_bytes: LOG_QUEUE_BYTES_MAX, address: None }
    }
}

/// Why a log in PostgreSQL was not opened. No text of it holds the password.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The URL, or a file that it names, does not fit.
    #[error("{0}")]
    Url(String),
    /// The log's own runtime was not made.
    #[error("no thread for the database: {0}")]
    Runtime(#[source] std::io::Error),
    /// Another hub is alive on the database.
    #[error(
        "the database is in use by another hub; stop that one, choose another database or schema, or give both an address to share it (hub_address)"
    )]
    InUse,
    /// A later version wrote it.
    #[error(
        "the database was written by a later version (its schema is {found}, this version knows up to {known}); start that version, or choose another database"
    )]
    Newer {
        /// The version of its schema.
        found: usize,
        /// The newest that is known here.
        known: usize,
    },
    /// The database cannot be reached, or refuses.
    #[error("{}", failure::said(.0))]
    Database(#[from] tokio_postgres::Error),
}

/// The log in PostgreSQL: the queue, the threads that write and pack, and the connections. [`EventLog::close`] writes what is queued;
/// dropping the log without it leaves the queue unwritten.
#[derive(Debug)]
pub struct PostgresLog {
    shared: WriterShared,
    threads: Mutex<PostgresThreads>,
    /// The last life before this one that did not end well, or after which a standby was promoted; 0 for none.
    last_unsound: i64,
}

/// The threads of an open log; nothing once they have ended.
#[derive(Debug, Default)]
struct PostgresThreads {
    writer: Option<JoinHandle<()>>,
    packer: Option<JoinHandle<()>>,
}

impl PostgresLog {
    /// Ends the threads, the writer last, since the others give work to it.
    fn end(&self, lifecycle: LogLifecycle) {
        let mut threads = self.threads.lock();
        let queue = &self.shared.queue;
        queue.end(if lifecycle == LogLifecycle::Closing { LogLifecycle::Draining } else { lifecycle });
        self.shared.packer.end();
        let join = |thread: Option<JoinHandle<()>>| {
            if thread.is_some_and(|thread| thread.join().is_err()) {
                tracing::error!("a thread of the log broke off");
            }
        };
        join(threads.packer.take());
        queue.end(lifecycle);
        join(threads.writer.take());
        self.shared.database.end();
    }

    /// Reads with `read` in one snapshot.
    fn read_with<T, F>(&self, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        self.shared.database.read(read)
    }

    /// A conversation as it is stored, whichever hub has it, with its state and its publishers' marks.
    fn stored(&self, conversation: &ConversationId) -> Result<Option<StoredState>, LogError> {
        let of = conversation.clone();
        self.read_with(move |session| {
            let of = of.clone();
            Box::pin(async move {
                let Some(found) = read::find(session, &of).await? else { return Ok(None) };
                let (view, marks) = read::state(session, &found).await?;
                Ok(Some((found, view, marks)))
            })
        })
    }

    /// Whether something may have been shown of a conversation that is not stored; `life` wrote it last.
    fn is_torn(&self, conversation: &ConversationId, life: i64) -> bool {
        self.shared.claims.as_ref().map_or(life <= self.last_unsound, |sharing| sharing.is_torn(conversation))
    }
}

/// A conversation's record, its state, and its publishers' marks.
type StoredState = (read::ConversationRecord, model::View, Vec<crate::PublisherMark>);

impl Drop for PostgresLog {
    fn drop(&mut self) {
        self.end(LogLifecycle::Dropped);
    }
}

impl EventLog for PostgresLog {
    fn durability(&self) -> Durability {
        self.shared.promise.lock().now().durability
    }

    fn indexes(&self) -> bool {
        true
    }

    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        self.shared.queue.continues(conversation, after)
    }

    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError> {
        self.shared.queue.append(append)
    }

    fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        self.shared.queue.keep(checkpoint)
    }

    fn put_rows(&self, rows: Vec<ConversationRow>) {
        if !rows.is_empty() {
            self.shared.queue.put(Op::Rows(rows));
        }
    }

    fn sync(&self) -> Ticket {
        self.shared.queue.put(Op::Sync)
    }

    fn hasten(&self, ticket: Ticket, level: Durability) {
        self.shared.queue.hasten(ticket.0, level);
    }

    fn figures(&self) -> LogFigures {
        self.shared.queue.figures()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.queue.progress()
    }

    fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        self.shared.queue.awaiting_checkpoint()
    }

    fn claim(&self, conversation: &ConversationId, purpose: Purpose) -> Result<Owner, LogError> {
        match &self.shared.claims {
            None => Ok(Owner::Here),
            Some(sharing) => {
                sharing.claim(&DatabaseTables::new(&self.shared.database), conversation, purpose)
            }
        }
    }

    fn other_hubs(&self) -> Result<Vec<Arc<str>>, LogError> {
        let Some(claims) = &self.shared.claims else { return Ok(Vec::new()) };
        let life = claims.life();
        self.read_with(move |session| Box::pin(claims::others(session, life)))
    }

    fn release(&self, conversation: &ConversationId, to: &Arc<str>) -> Option<Ticket> {
        let claims = self.shared.claims.as_ref()?;
        let leaves = claims.leaves(conversation, to);
        leaves.then(|| self.shared.queue.put(Op::Release(conversation.clone())))
    }

    fn released(&self, conversation: &ConversationId, end: LeavingEnd) {
        let Some(claims) = &self.shared.claims else { return };
        if end == LeavingEnd::Gone {
            // Should this life claim it again, another one has gone on with it.
            self.shared.queue.forget(conversation);
        }
        claims.left(conversation, end);
    }

    fn holds_lease(&self) -> bool {
        self.shared.claims.is_none() || self.shared.own_lease.holds(Instant::now())
    }

    fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        self.shared.queue.settle(conversation)
    }

    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        let queue = &self.shared.queue;
        queue.settle(conversation)?;
        let Some((found, view, marks)) = self.stored(conversation)? else {
            queue.absent_after_loss(conversation);
            return Ok(None);
        };
        let holed = queue.enter_after_loss(conversation, found.head);
        let mut epoch = found.epoch;
        if holed || self.is_torn(conversation, found.life) {
            epoch = Epoch::new(&clock::fresh_name());
            queue.rename(conversation, epoch.clone());
        }
        let position = Position { epoch, seq: found.head };
        Ok(Some(StoredConversation { position, view, at: found.at, marks }))
    }

    fn peek(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        Ok(self.stored(conversation)?.map(|(found, view, marks)| {
            let position = Position { epoch: found.epoch, seq: found.head };
            StoredConversation { position, view, at: found.at, marks }
        }))
    }

    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError> {
        // What cannot be written now does not matter: what is written can be read.
        drop(self.settle(conversation));
        let of = conversation.clone();
        self.read_with(move |session| {
            let of = of.clone();
            Box::pin(async move {
                let found = read::find(session, &of).await?.ok_or(LogError::Unknown)?;
                read::page(session, &found, after, limit).await
            })
        })
    }

    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        let query = query.clone();
        self.read_with(move |session| {
            let query = query.clone();
            Box::pin(async move { read::list(session, &query).await })
        })
    }

    fn count(&self) -> u64 {
        self.shared.conversation_count.count()
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        self.read_with(|session| Box::pin(read::unfinished(session)))
    }

    fn search(&self, query: &SearchQuery, stop: &QueryCancel) -> Result<SearchResults, LogError> {
        self.shared.queue.settle_found_unless(stop);
        search::search(&self.shared.database, query, stop)
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        self.shared.queue.settle_found();
        self.read_with(|session| Box::pin(read::tools(session)))
    }

    fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        self.shared.queue.settle_found_unless(stop);
        measures::measured(&self.shared.database, query, stop)
    }

    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError> {
        // What cannot be written now does not matter: what is written can be read.
        drop(self.settle(conversation));
        let (of, hash) = (conversation.clone(), hash.to_owned());
        self.read_with(move |session| {
            let (of, hash) = (of.clone(), hash.clone());
            Box::pin(async move {
                let Some(found) = read::find(session, &of).await? else { return Ok(None) };
                read::attachment(session, found.key, &hash).await
            })
        })
    }

    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError> {
        // What cannot be written now does not matter: what is written can be read.
        drop(self.settle(conversation));
        let of = conversation.clone();
        self.read_with(move |session| {
            let of = of.clone();
            Box::pin(async move {
                let found = read::find(session, &of).await?.ok_or(LogError::Unknown)?;
                read::gap(session, &found).await
            })
        })
    }

    fn stage(&self, import: ImportId, append: Append<'_>) -> Ticket {
        self.shared.queue.piece(Op::Stage(import, Arc::new(QueuedEvents::of(append))))
    }

    fn adopt(
        &self,
        import: ImportId,
        checkpoint: Checkpoint,
        calls: Vec<EndedToolCall>,
        measurements: Vec<Measurement>,
    ) -> Ticket {
        let adoption = StagedImport::of(import, checkpoint, calls, measurements);
        let head = adoption.head;
        self.shared.queue.make(Op::Adopt(Box::new(adoption)), head)
    }

    fn abandon(&self, import: ImportId) {
        self.shared.queue.put(Op::Abandon(import));
    }

    fn remove(&self, conversation: &ConversationId) -> Ticket {
        self.shared.queue.put(Op::Remove(conversation.clone()))
    }

    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
        let database = &self.shared.database;
        let (mut count, mut bytes) = database.read_for_upkeep(|session| Box::pin(read::sums(session)))?;
        let (mut gone, mut after) = (Vec::new(), None);
        loop {
            let page = database.read_for_upkeep({
                let after = after.clone();
                move |session| {
                    let after = after.clone();
                    Box::pin(async move { read::oldest(session, after.as_ref(), ROUND_MAX).await })
                }
            })?;
            after = page.last().map(|aged| (aged.at, aged.id.clone()));
            for aged in page {
                let old = rule.age_ms.is_some_and(|age| aged.at.saturating_add(age) < now);
                let many = rule.conversations.is_some_and(|most| count > most);
                let large = rule.bytes.is_some_and(|most| bytes > most);
                if !(old || many || large) || gone.len() >= ROUND_MAX {
                    return Ok(gone);
                }
                if !keep(&aged.id) {
                    count -= 1;
                    bytes = bytes.saturating_sub(aged.bytes);
                    gone.push(aged.id);
                }
            }
            if after.is_none() {
                return Ok(gone);
            }
        }
    }

    fn guarantee(&self) -> Option<String> {
        Some(self.shared.promise.lock().now().why.clone())
    }

    fn access(&self) -> Option<&dyn SharedAccess> {
        self.shared.claims.is_some().then_some(self as &dyn SharedAccess)
    }

    fn settings(&self) -> Option<&dyn SharedSettings> {
        self.shared.claims.is_some().then_some(self as &dyn SharedSettings)
    }

    fn close(&self) -> Result<(), Unwritten> {
        self.end(LogLifecycle::Closing);
        self.shared.queue.left().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
