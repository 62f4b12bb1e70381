//! Where events are kept: the contract that every log fulfils.
//!
//! A conversation's events are appended in order, each append naming the head that it continues. [`EventLog::append`] is
//! called under the conversation's lock and never waits for a disk or a network: a log that writes takes the events into
//! its own bounded queue and gives a [`Ticket`]; whoever was promised more than memory waits until [`Progress`] has
//! reached it, see [`reached`]. Viewers never read the log while the ring has what they need.
//!
//! A disk that is full or broken stops nobody: events go on to the viewers, tickets are not reached, and those who wait
//! for one are told why. What the queue cannot hold meanwhile is lost to the log as single events, not as content: when
//! the disk works again, [`EventLog::wanted`] names the conversations of which it needs a [`Checkpoint`].
//!
//! The reading methods wait for the disk. Call them outside every lock and through [`blocking`].
//!
//! The crate must never know HTTP or sockets, conversations in memory or who reads them, nor how the hub is configured: what it needs
//! of these comes in as arguments ([`Append`], [`Checkpoint`], [`Retention`], [`Options`]). It names `model` and no other
//! crate of the workspace. Being the lowest crate with a clock and threads, it has the one [`clock`] and the [`rank`] of threads
//! for all above it.
//!
//! Reading order: this file → `written` (what goes in) → `found` (what comes back) → `ring` and `memory` (the log in
//! memory) → `pack` (blocks of events) → `sqlite` (the log on disk: queue → writer → file ← readers) → `stop`. [`clock`] and [`rank`]
//! stand on their own.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexSet;
use model::code::ErrorCode;
use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Envelope, Position, Seq, View};
use tokio::sync::watch;

pub mod clock;
pub mod rank;

mod found;
mod memory;
mod pack;
mod ring;
mod sqlite;
mod stop;
mod written;

pub use found::{Finds, Hit, ListQuery, Retention, SearchQuery, Span, ToolFigures};
pub use memory::MemoryLog;
pub use ring::Ring;
#[cfg(any(test, feature = "testkit"))]
pub use sqlite::Hand;
pub use sqlite::{ClosedLog, OpenError, Options, Rewrite, SqliteLog};
pub use stop::{Stop, StopOnDrop};
pub use written::{Append, Attachment, Call, Checkpoint, Document, DocumentKind, DocumentPlace, Mark};

/// Why a log did not do what it was asked for.
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
    /// The log has no conversation of that name: there never was one, or it was removed.
    #[error("the log does not know this conversation")]
    Unknown,
    /// The log no longer has what comes after that position as single events.
    #[error("the log begins after seq {begins_after}")]
    Gone {
        /// The newest seq that is no longer there; every event after it is.
        begins_after: Seq,
    },
    /// What was written is not kept yet, since the log cannot write.
    #[error("the log cannot write: {0}")]
    Failing(Arc<str>),
    /// What was written cannot be kept, for reasons of its own: the log works.
    #[error("the log could not write this and has set it aside; its trace says why")]
    SetAside,
    /// The log could not be read.
    #[error("the log cannot be read: {0}")]
    Unreadable(Arc<str>),
    /// What was asked for makes no sense to the log.
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
    /// The ticket of an append that did not fit into the queue. It is never reached; what it stood for is in the conversation's
    /// next checkpoint.
    pub const NEVER: Self = Self(u64::MAX);
}

/// How far a log has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Tickets of what the database refused and the writer set aside; the newest thousand. They are at or below `stored` and yet
    /// not written.
    pub lost: Arc<BTreeSet<Ticket>>,
    /// Everything up to here survives the death of the hub.
    pub stored: Ticket,
    /// Everything up to here is where lists and searches look. At or below `stored`.
    pub indexed: Ticket,
    /// Everything up to here survives the loss of power.
    pub synced: Ticket,
    /// Whether the log writes at present.
    pub health: Health,
    /// Whether its queue is so long that publishers should wait before they say more. Not while it cannot write: then
    /// waiting would stop what viewers see.
    pub full: bool,
}

impl Progress {
    /// Whether what `ticket` stands for survives the death of the hub.
    pub fn has(&self, ticket: Ticket) -> bool {
        ticket <= self.stored && !self.lost.contains(&ticket)
    }

    /// Whether what `ticket` stands for is where lists and searches look.
    pub fn has_indexed(&self, ticket: Ticket) -> bool {
        ticket <= self.indexed && self.has(ticket)
    }
}

/// Counters of a log, for metrics. All but `queue_bytes`, `left_out` and `holed` only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Appends that the queue did not take and that no checkpoint has made up for yet.
    pub left_out: u64,
    /// Conversations that such appends belong to and of which a checkpoint is still to come.
    pub holed: u64,
    /// Operations that the database refused and that were set aside.
    pub set_aside: u64,
    /// Bytes that wait to be written.
    pub queue_bytes: u64,
    /// The newest ticket that was given.
    pub taken: Ticket,
    /// Transactions since the log was opened.
    pub commits: u64,
    /// How long these transactions took together, in microseconds.
    pub commit_micros: u64,
}

/// Whether a log writes.
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
    /// `disk_full` or `disk_failing`.
    pub code: &'static str,
    /// The error of the operating system or of SQLite.
    pub what: Arc<str>,
    /// When the first of the failures in a row came, in milliseconds since 1970.
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
    /// Events, or publications where their events were not counted.
    pub events: u64,
    /// Conversations that these events belong to.
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

/// Names that are said before the others are only counted.
const NAMES_MAX: usize = 10;

fn some_names(conversations: &IndexSet<ConversationId>) -> String {
    let mut names: Vec<&str> = conversations.iter().take(NAMES_MAX).map(ConversationId::as_str).collect();
    names.extend((conversations.len() > NAMES_MAX).then_some("…"));
    names.join(", ")
}

/// What a log had said to be kept and did not find when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Transactions that are not there, at least.
    pub commits: u64,
    /// When the newest that is there was made, in milliseconds since 1970; 0 where there is none.
    pub from: u64,
    /// When the newest that is missing was made.
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

/// A conversation as the log has it.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Where it stands, in the epoch in which it goes on: a new one where the log did not end well.
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
/// One log is shared by the whole hub, behind an `Arc`. Methods that are said not to wait only take a lock for a few
/// microseconds and may be called under a conversation's lock; those that read back wait for the disk and go through
/// [`blocking`]. Dropping a log without [`EventLog::close`] is an unclean stop: what is still queued is not written, and its conversations go on in a new
/// epoch.
pub trait EventLog: std::fmt::Debug + Send + Sync {
    /// The most that this log can promise (invariant I9).
    fn durability(&self) -> Durability;

    /// Whether this log searches, counts calls and lists. Where it does not, callers leave [`Append::documents`] and
    /// [`Append::calls`] empty, which saves making them.
    fn indexes(&self) -> bool;

    /// Whether an append to `conversation` that continues `after` would be taken. The caller asks before it changes anything of its
    /// own, and appends while nobody else can append to the conversation: then [`EventLog::append`] does not refuse. Does not wait.
    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError>;

    /// Queues events that continue the conversation. Does not wait. Fails with [`LogError::Conflict`] when they do not continue it;
    /// events for which the queue has no room are no failure, they give [`Ticket::NEVER`].
    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError>;

    /// Keeps a whole state, so that the conversation is read back quickly, and heals a hole. Does not wait.
    fn keep(&self, checkpoint: Checkpoint) -> Ticket;

    /// Keeps rows of the list, newer ones of the same conversations replacing older. Does not wait.
    fn list_as(&self, rows: Vec<ConversationRow>);

    /// A ticket for everything so far, to be written in such a way that it survives the loss of power. Does not wait.
    fn sync(&self) -> Ticket;

    /// Says that somebody waits until `ticket` is kept at `level`: the log writes soon, and as carefully as that level asks. Without it
    /// a log gathers what comes for as long as suits it. Does not wait.
    fn hasten(&self, _ticket: Ticket, _level: Durability) {}

    /// Counters for metrics.
    fn figures(&self) -> Figures {
        Figures::default()
    }

    /// A channel that says after each transaction how far the log has come and whether it works.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// The conversations of which a checkpoint is needed, since events of theirs are not in the log. Each is named once.
    fn wanted(&self) -> Vec<ConversationId>;

    /// The conversation as it was left; nothing for one that the log does not know.
    fn load(&self, conversation: &ConversationId) -> Result<Option<Stored>, LogError>;

    /// Up to `limit` events after `after`; fewer where they are large. They are all when they reach the page's head.
    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<Page, LogError>;

    /// A page of the list, the newest activity first.
    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError>;

    /// How many conversations the log has. Does not wait.
    fn count(&self) -> u64;

    /// The conversations whose newest run was not over when the hub last stopped.
    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError>;

    /// What matches, the newest first: all of it up to [`SearchQuery::limit`], or what was found until `stop` was called. Fails
    /// with [`LogError::BadQuery`] when the text holds no word that can be searched for.
    fn search(&self, query: &SearchQuery, stop: &Stop) -> Result<Finds, LogError>;

    /// How often each tool was called, how often it failed and how long it took, by name.
    fn tools(&self) -> Result<Vec<ToolFigures>, LogError>;

    /// A result that was too large to stand in an event.
    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError>;

    /// The newest events that are not there one by one although earlier ones are: the first and the last seq. Nothing where
    /// all are there from the first that is. Waits for the disk.
    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError>;

    /// Takes a piece of a history that is imported; nobody sees it before [`EventLog::adopt`]. The first piece says with
    /// `append.after` where the history begins. Does not wait.
    fn stage(&self, import: Import, append: Append<'_>) -> Ticket;

    /// Makes a conversation of all that was staged, with the state in `checkpoint`: all of it is there or nothing. The ticket
    /// is lost when not all was staged. Does not wait.
    fn adopt(&self, import: Import, checkpoint: Checkpoint, calls: Vec<Call>) -> Ticket;

    /// Forgets what was staged for `import`; nothing happens where nothing was. Does not wait.
    fn abandon(&self, import: Import);

    /// Drops a conversation. What belongs to it goes step by step, and is not seen any more meanwhile. Does not wait.
    fn remove(&self, conversation: &ConversationId) -> Ticket;

    /// Whole conversations, the one that was silent longest first, without which the rest is within `rule`; a bounded number
    /// at once. Never one that `keep` holds on to. `now` is in milliseconds since 1970.
    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError>;

    /// What the log had said to be kept and did not find when it was opened.
    fn missing(&self) -> Option<&Missing> {
        None
    }

    /// Writes what is left and notes that the log ended well. Waits for the disk; nothing may be appended afterwards. Fails
    /// when something was not written.
    fn close(&self) -> Result<(), Unwritten>;
}

/// Ready when `ticket` is kept at `level`; fails as soon as the log cannot write. Nothing waits for
/// [`Durability::Memory`].
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

/// Ready when the log's queue has room ([`Progress::full`] is false). Whoever appends much should wait for it between two pieces.
/// It is safe to cancel.
pub async fn room(log: &dyn EventLog) {
    let mut progress = log.progress();
    while progress.borrow_and_update().full && progress.changed().await.is_ok() {}
}

/// Whether `ticket` is kept at `level`, or will not be for now; nothing when that is open.
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

/// Runs `read`, which waits for the disk, from within a task. On a runtime with several threads the other tasks of this thread go
/// on elsewhere meanwhile; on a runtime with one thread, or outside of any, `read` is simply called.
pub fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // One thread for everything, as in a test: there is nobody else who could go on.
        _ => read(),
    }
}
