//! Event logs: the contract that every log fulfils, and three logs that fulfil it: in memory, in
//! a file, and in PostgreSQL.
//!
//! A conversation's events are appended in order, and each append names the head that it continues.
//! [`EventLog::append`] is called under the conversation's lock and never waits for a disk or a network: a
//! log that writes takes the events into its own bounded queue and returns a [`Ticket`]. Whoever asked for
//! more than memory waits until [`Progress`] has reached the ticket, see [`reached`]. Viewers never read the
//! log while the ring has what they need.
//!
//! A disk that is full or broken stops nobody: events go on to the viewers, tickets are not reached, and
//! those who wait for one get the error. What the queue cannot hold meanwhile is lost as single events, but
//! not as content: when the disk works again, [`EventLog::wanted`] names the conversations of which the log
//! needs a [`Checkpoint`].
//!
//! The reading methods wait for the disk. Call them outside every lock and through [`blocking`].
//!
//! The crate does not know HTTP, sockets, conversations in memory, viewers, nor the configuration of the hub:
//! what it needs of these is an argument ([`Append`], [`Checkpoint`], [`Retention`], [`Options`]). It depends
//! on `model` and no other crate of the workspace. As the lowest crate with a clock and threads, it contains
//! the [`clock`] and the [`rank`] of threads for all crates above it.
//!
//! Reading order: this file → `written` (what goes in) → `found` (what comes back) → `ring` and `memory` (the log in
//! memory) → `pack` and `blocks` (blocks of events) → `ops`, `tails` and `queue` (what waits to be written, for every log that writes) →
//! `packer` → `sqlite` (the log on disk: queue → writer → file ← readers) →
//! `postgres` (the log in a database that several hubs share) → `stop`. [`clock`] and [`rank`] stand on their own.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexSet;
use model::code::ErrorCode;
use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Envelope, Position, Seq, View};
use tokio::sync::watch;

pub mod clock;
pub mod rank;

mod blocks;
#[cfg(any(test, feature = "testkit"))]
pub mod conformance;
mod documents;
mod found;
#[cfg(any(test, feature = "testkit"))]
mod hand;
pub mod measure;
mod memory;
mod numbers;
mod ops;
mod ownership;
mod pack;
mod packer;
mod postgres;
mod purge;
mod queue;
mod ring;
mod rows;
mod search;
mod sqlite;
mod stop;
mod tails;
mod tally;
mod tools;
mod views;
mod written;

pub use found::{Finds, Hit, ListQuery, Retention, SearchQuery, Span, ToolFigures};
#[cfg(any(test, feature = "testkit"))]
pub use hand::Hand;
pub use measure::{Dimension, MeasureQuery, MeasureSum, Measured, Measurement, Metric};
pub use memory::MemoryLog;
pub use ownership::{Owner, Purpose};
pub use postgres::{PostgresError, PostgresLog, PostgresOptions, PostgresUrl};
#[cfg(all(unix, any(test, feature = "testkit")))]
pub use postgres::{PostgresPlace, PostgresServer};
pub use purge::purged;
pub use ring::Ring;
pub use sqlite::{ClosedLog, OpenError, Options, Rewrite, SqliteLog};
pub use stop::{Stop, StopOnDrop};
pub use written::{Append, Attachment, Call, Checkpoint, Document, DocumentKind, DocumentPlace, Mark};

/// Why a log did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The append does not continue the log. The hub made a mistake: it asks [`EventLog::continues`] before it changes anything.
    #[error("the log stands at {found}, the append continues {expected}")]
    Conflict {
        /// The newest seq that the log has of the conversation.
        found: Seq,
        /// The seq that the append continues.
        expected: Seq,
    },
    /// The log has no conversation of that name: it was never written to, or it was removed.
    #[error("the log does not know this conversation")]
    Unknown,
    /// The log no longer has the events after that position one by one.
    #[error("the log begins after seq {begins_after}")]
    Gone {
        /// The newest seq that is no longer there; every event after it is.
        begins_after: Seq,
    },
    /// The events are not stored yet, because the log cannot write at present.
    #[error("the log cannot write: {0}")]
    Failing(Arc<str>),
    /// The database refused the events themselves, although it works. SQLite has them in a file beside it,
    /// PostgreSQL in the table `aside`.
    #[error(
        "the database refused these events; they are set aside: SQLite in the `.aside.jsonl` file beside it, \
         PostgreSQL in the table `aside`"
    )]
    SetAside,
    /// The log cannot be read.
    #[error("the log cannot be read: {0}")]
    Unreadable(Arc<str>),
    /// The query is invalid; the text says why.
    #[error("{0}")]
    BadQuery(String),
}

impl LogError {
    /// The code that a client gets for this error. [`LogError::Conflict`] is `internal`: no client can cause it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Gone { .. } | Self::Unknown => ErrorCode::Gone,
            Self::BadQuery(_) => ErrorCode::BadRequest,
            Self::Failing(_) | Self::SetAside | Self::Unreadable(_) => ErrorCode::LogFailed,
            Self::Conflict { .. } => ErrorCode::Internal,
        }
    }
}

/// A receipt for something that the log took into its queue. Tickets rise: once one is reached in [`Progress`], all earlier
/// ones are, apart from those in [`Progress::lost`]. Dropping a ticket changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The ticket of an append that did not fit into the queue. It is never reached; what it stood for is in
    /// the conversation's next checkpoint. It is above every ticket that a queue gives.
    pub const NEVER: Self = Self(u64::MAX);
}

/// How far a log has come. A channel carries it to everybody who waits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Tickets of what the database refused and the writer set aside; the newest thousand. They are at or
    /// below `stored` and yet not written.
    pub lost: Arc<BTreeSet<Ticket>>,
    /// Everything up to this ticket survives the death of the hub.
    pub stored: Ticket,
    /// Everything up to this ticket is in lists and searches. At or below `stored`.
    pub indexed: Ticket,
    /// Everything up to this ticket survives a loss of power.
    pub synced: Ticket,
    /// The newest purge ([`EventLog::purge`]) that is done.
    pub purged: Ticket,
    /// Why the newest step of a purge failed, which is tried again.
    pub purge_fault: Option<Arc<str>>,
    /// Whether the log writes at present.
    pub health: Health,
    /// Whether the queue is so long that publishers should wait before they send more. Never true while the
    /// log cannot write: then waiting would only keep events from viewers.
    pub full: bool,
}

impl Progress {
    /// Whether what `ticket` stands for survives the death of the hub.
    pub fn has(&self, ticket: Ticket) -> bool {
        ticket <= self.stored && !self.lost.contains(&ticket)
    }

    /// Whether what `ticket` stands for is in lists and searches.
    pub fn has_indexed(&self, ticket: Ticket) -> bool {
        ticket <= self.indexed && self.has(ticket)
    }
}

/// Counters of a log, for metrics. All but `queue_bytes`, `left_out` and `holed` only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Appends that the queue did not take and that no checkpoint has replaced yet.
    pub left_out: u64,
    /// Conversations of those appends, which still need a checkpoint.
    pub holed: u64,
    /// Operations that the database refused and that were set aside.
    pub set_aside: u64,
    /// Bytes that wait to be written.
    pub queue_bytes: u64,
    /// The newest ticket that was given.
    pub taken: Ticket,
    /// Transactions since the log was opened.
    pub commits: u64,
    /// The duration of these transactions together, in microseconds.
    pub commit_micros: u64,
}

/// Whether a log can write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Health {
    /// The last transaction was written.
    #[default]
    Well,
    /// The last transaction failed; the writer tries again until it succeeds or the log is closed.
    Failing(Fault),
}

/// Why a log cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The code that clients see: `disk_full` or `disk_failing`.
    pub code: &'static str,
    /// The error of the operating system or of the database, as it is shown to people.
    pub what: Arc<str>,
    /// When the first failure of this series happened, in milliseconds since 1970.
    pub since: u64,
}

/// What a log did not write before it was closed.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
#[error(
    "{events} events of {} conversations were not written ({}): {why}",
    conversations.len(),
    some_names(conversations)
)]
pub struct Unwritten {
    /// Events. Appends that the queue left out count as one each.
    pub events: u64,
    /// The conversations that they belong to.
    pub conversations: IndexSet<ConversationId>,
    /// The error that kept them from being written.
    pub why: String,
}

impl Unwritten {
    /// Counts what was not written of one conversation.
    pub(crate) fn add(&mut self, conversation: &ConversationId, events: u64) {
        self.events = self.events.saturating_add(events);
        if !self.conversations.contains(conversation) {
            self.conversations.insert(conversation.clone());
        }
    }
}

/// Most names in a message; the others are only counted.
const NAMES_MAX: usize = 10;

/// The first names of `conversations`, separated by commas.
fn some_names(conversations: &IndexSet<ConversationId>) -> String {
    let mut names: Vec<&str> = conversations.iter().take(NAMES_MAX).map(ConversationId::as_str).collect();
    names.extend((conversations.len() > NAMES_MAX).then_some("…"));
    names.join(", ")
}

/// What a log had acknowledged as stored and did not find when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// How many transactions are missing, at least.
    pub commits: u64,
    /// When the newest transaction that is there was made, in milliseconds since 1970; 0 if there is none.
    pub from: u64,
    /// When the newest missing transaction was made, in milliseconds since 1970.
    pub to: u64,
}

/// Identifies one import of a history from [`EventLog::stage`] to [`EventLog::adopt`] or [`EventLog::abandon`]. The caller
/// chooses it and never uses one twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Import(pub u64);

/// Events of one conversation, read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Events that follow one another without a hole.
    pub envelopes: Vec<Arc<Envelope>>,
    /// The newest seq that the log has of the conversation, in this page or after it.
    pub head: Seq,
}

/// A conversation as it was read back from the log.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The position at which it goes on. The epoch is a new one if the log did not end well.
    pub position: Position,
    /// The folded state at `position`.
    pub view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub at: u64,
    /// How far its publishers have come, the one that was silent longest first.
    pub marks: Vec<Mark>,
}

/// A log of conversations: the contract that every implementation fulfils and the hub relies on.
///
/// One log is shared by the whole hub, behind an `Arc`. Methods that say "does not wait" only take a lock for
/// a few microseconds and may be called under a conversation's lock. Those that read wait for the disk: call
/// them outside every lock, through [`blocking`]. Dropping a log without [`EventLog::close`] is an unclean
/// stop: what is still queued is not written, and its conversations go on in a new epoch.
///
/// The module `conformance` (feature `testkit`) tests these rules on any log. Logs may differ only in the
/// following: one that offers only [`Durability::Memory`] may have nothing to load, list, search or count by
/// tool, forgets its oldest events, refuses no import, and returns tickets for which nobody needs to wait.
/// Whether a conversation exists after a single append without events is undefined.
pub trait EventLog: std::fmt::Debug + Send + Sync {
    /// The highest durability that this log can promise (invariant I9).
    fn durability(&self) -> Durability;

    /// Whether this log searches, counts calls and keeps a list. If not, callers leave [`Append::documents`]
    /// and [`Append::calls`] empty, which saves the work of making them.
    fn indexes(&self) -> bool;

    /// Whether an append to `conversation` that continues `after` would be taken. The caller asks before it
    /// changes anything of its own, and appends while nobody else can append to the conversation: then
    /// [`EventLog::append`] does not refuse. Does not wait.
    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError>;

    /// Queues events that continue the conversation. Does not wait. Fails with [`LogError::Conflict`] if they
    /// do not continue it. Events for which the queue has no room are no error: their ticket is
    /// [`Ticket::NEVER`].
    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError>;

    /// Queues a whole state, so that the conversation is read back quickly. It also fills a hole. Does not
    /// wait.
    fn keep(&self, checkpoint: Checkpoint) -> Ticket;

    /// Queues rows of the list; a newer row replaces an older one. Does not wait.
    fn list_as(&self, rows: Vec<ConversationRow>);

    /// Returns a ticket for everything so far, which will be written so that it survives a loss of power.
    /// Does not wait.
    fn sync(&self) -> Ticket;

    /// Tells the log that somebody waits for `ticket` at `level`, so that it writes soon and as carefully as
    /// that level needs. Without it a log collects events as long as suits it. Does not wait.
    fn hasten(&self, _ticket: Ticket, _level: Durability) {}

    /// The counters for metrics.
    fn figures(&self) -> Figures {
        Figures::default()
    }

    /// A channel that reports after each transaction how far the log has come and whether it can write.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// The conversations of which the log needs a checkpoint, because it lacks events of them. Each is named
    /// once.
    fn wanted(&self) -> Vec<ConversationId>;

    /// Says which hub has the conversation, where several share the log, and makes this hub the owner where none has it any
    /// more. Call it before [`EventLog::load`]. Waits for the disk.
    fn claim(&self, _conversation: &ConversationId, _purpose: Purpose) -> Result<Owner, LogError> {
        Ok(Owner::Here)
    }

    /// The conversation as it was last stored; `None` if the log does not know it. Waits for the disk.
    fn load(&self, conversation: &ConversationId) -> Result<Option<Stored>, LogError>;

    /// Up to `limit` events after `after`; fewer if they are large. There are no more once they reach the
    /// page's head. Fails with [`LogError::Gone`] if the log has none of them one by one. Waits for the disk.
    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<Page, LogError>;

    /// A page of the list, newest activity first. Waits for the disk.
    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError>;

    /// How many conversations the log has. Does not wait.
    fn count(&self) -> u64;

    /// The conversations whose newest run had not ended when the hub last stopped. Waits for the disk.
    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError>;

    /// Searches, newest first: up to [`SearchQuery::limit`] hits, or what was found before `stop` was called.
    /// Fails with [`LogError::BadQuery`] if the text has no word that can be searched for. Waits for the
    /// disk.
    fn search(&self, query: &SearchQuery, stop: &Stop) -> Result<Finds, LogError>;

    /// How often each tool was called, how often it failed and how long it took, by name. Waits for the disk.
    fn tools(&self) -> Result<Vec<ToolFigures>, LogError>;

    /// Sums of what was measured ([`Append::measurements`]), over all conversations that there ever were:
    /// removing one takes nothing back. Fails with [`LogError::BadQuery`] if there are too many sums, if they are
    /// not added up before `stop` is called, and always for a log that keeps none. Waits for the disk.
    fn measured(&self, _query: &MeasureQuery, _stop: &Stop) -> Result<Measured, LogError> {
        Err(LogError::BadQuery(String::from("this log keeps no measurements")))
    }

    /// The whole of a result that was too large for its event, as JSON, by its hash; `None` if the log does
    /// not have it. Waits for the disk.
    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError>;

    /// The newest range of events, first and last seq, that the log lacks one by one although it has earlier
    /// ones; `None` if it has all from its first one on. Waits for the disk.
    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError>;

    /// Queues a piece of a history that is being imported. It is invisible before [`EventLog::adopt`]. The
    /// first piece says in `append.after` where the history begins. Does not wait.
    fn stage(&self, import: Import, append: Append<'_>) -> Ticket;

    /// Makes a conversation of everything that was staged, with the state of `checkpoint`: all of it or
    /// nothing. The ticket is lost if not everything was staged. Does not wait.
    fn adopt(
        &self,
        import: Import,
        checkpoint: Checkpoint,
        calls: Vec<Call>,
        measurements: Vec<Measurement>,
    ) -> Ticket;

    /// Drops what was staged for `import`, if anything was. Does not wait.
    fn abandon(&self, import: Import);

    /// Removes a conversation. It is invisible at once; its rows are deleted step by step. Does not wait.
    fn remove(&self, conversation: &ConversationId) -> Ticket;

    /// Writes its files anew without what a removed conversation has left there; [`purged`] waits for that. A log that leaves nothing,
    /// or cannot reach it, returns a ticket for which nobody waits. Does not wait.
    fn purge(&self, _conversation: &ConversationId) -> Ticket {
        Ticket::default()
    }

    /// Chooses whole conversations to remove, the one that was silent longest first, until the rest is within
    /// `rule`. Returns a bounded number, and none for which `keep` is true. `now` is in milliseconds since
    /// 1970. Waits for the disk.
    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError>;

    /// What the most that this log promises rests on, in words; `None` where that needs none.
    fn promise(&self) -> Option<String> {
        None
    }

    /// What the log had acknowledged as stored and did not find when it was opened.
    fn missing(&self) -> Option<&Missing> {
        None
    }

    /// Writes what is queued and records that the log ended well. Waits for the disk. Nothing may be appended
    /// afterwards. The error says what was not written.
    fn close(&self) -> Result<(), Unwritten>;
}

/// Waits until `ticket` is kept at `level`; fails as soon as the log cannot write. Returns at once for
/// [`Durability::Memory`]. May be cancelled.
pub async fn reached(log: &dyn EventLog, ticket: Ticket, level: Durability) -> Result<(), LogError> {
    let mut progress = log.progress();
    if let Some(settled) = settled(&progress.borrow_and_update(), ticket, level) {
        return settled;
    }
    log.hasten(ticket, level);
    loop {
        if let Some(settled) = settled(&progress.borrow_and_update(), ticket, level) {
            return settled;
        }
        if progress.changed().await.is_err() {
            return Err(LogError::Failing(Arc::from("it has ended")));
        }
    }
}

/// Waits until the log's queue has room ([`Progress::full`] is false). Whoever appends much should wait for
/// it between two pieces. May be cancelled.
pub async fn room(log: &dyn EventLog) {
    let mut progress = log.progress();
    while progress.borrow_and_update().full && progress.changed().await.is_ok() {}
}

/// Whether `ticket` is kept at `level` (`Ok`) or cannot be kept for now (`Err`); `None` while that is open.
pub fn settled(progress: &Progress, ticket: Ticket, level: Durability) -> Option<Result<(), LogError>> {
    let done = match level {
        Durability::Memory => return Some(Ok(())),
        Durability::Stored => progress.stored,
        Durability::Synced => progress.synced,
    };
    if progress.lost.contains(&ticket) {
        return Some(Err(LogError::SetAside));
    }
    if ticket <= done {
        return Some(Ok(()));
    }
    match &progress.health {
        Health::Failing(fault) => Some(Err(LogError::Failing(Arc::clone(&fault.what)))),
        Health::Well if ticket == Ticket::NEVER => {
            Some(Err(LogError::Failing(Arc::from("its queue was full when the events came"))))
        }
        Health::Well => None,
    }
}

/// Runs `read`, which waits for the disk, from within a task. On a runtime with several threads, the other
/// tasks of this thread move to another one meanwhile; on a runtime with one thread, or outside of any,
/// `read` is called as it is.
pub fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // A runtime with one thread, as in a test, has no other thread for its tasks.
        _ => read(),
    }
}
