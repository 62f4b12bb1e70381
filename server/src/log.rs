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

use std::sync::Arc;

use shared::frame::{ConversationRow, Durability};
use shared::{ConversationId, Envelope, Position, Seq, View};
use tokio::sync::watch;

mod found;
mod memory;
mod pack;
mod sqlite;
mod written;

pub(crate) use found::{Hit, ListQuery, Retention, SearchQuery, Span, ToolFigures};
pub(crate) use memory::MemoryLog;
#[cfg(test)]
pub(crate) use sqlite::Hand;
pub(crate) use sqlite::{OpenError, Options, SqliteLog};
pub(crate) use written::{Append, Attachment, Call, Checkpoint, Document, DocumentKind, DocumentPlace, Mark};

/// Why a log did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LogError {
    /// The append does not continue the log: a fault of the hub.
    #[error("the log stands at {found}, the append continues {expected}")]
    Conflict {
        /// Where the log stands.
        found: Seq,
        /// What the append continues.
        expected: Seq,
    },
    /// The conversation is not here.
    #[error("the log does not know this conversation")]
    Unknown,
    /// The log no longer has what comes after that position as single events.
    #[error("the log begins after seq {begins_after}")]
    Gone {
        /// Everything after it is there.
        begins_after: Seq,
    },
    /// What was written is not kept yet, since the log cannot write.
    #[error("the log cannot write: {0}")]
    Failing(Arc<str>),
    /// The log could not be read.
    #[error("the log cannot be read: {0}")]
    Unreadable(Arc<str>),
    /// What was asked for makes no sense to the log.
    #[error("{0}")]
    BadQuery(String),
}

/// The number of an append; later ones have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Ticket(pub(crate) u64);

impl Ticket {
    /// Of what the log could not take into its queue. It is never reached; the conversation's next checkpoint holds it.
    pub(crate) const NEVER: Self = Self(u64::MAX);
}

/// How far a log has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// Everything up to here survives the death of the hub.
    pub(crate) stored: Ticket,
    /// Everything up to here survives the loss of power.
    pub(crate) synced: Ticket,
    /// Whether it writes.
    pub(crate) health: Health,
    /// Whether its queue is so long that publishers should wait before they say more. Not while it cannot write: then
    /// waiting would stop what viewers see.
    pub(crate) full: bool,
}

/// How a log does, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    /// Bytes that wait to be written.
    pub(crate) queue_bytes: u64,
    /// The newest ticket.
    pub(crate) taken: Ticket,
    /// Transactions so far.
    pub(crate) commits: u64,
    /// How long they took, in microseconds.
    pub(crate) commit_micros: u64,
}

/// Whether a log writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Health {
    /// It does.
    #[default]
    Well,
    /// It cannot.
    Failing(Fault),
}

/// Why a log cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// `disk_full` or `disk_failing`.
    pub(crate) code: &'static str,
    /// What the system said.
    pub(crate) what: Arc<str>,
    /// Since when, in milliseconds since 1970.
    pub(crate) since: u64,
}

/// Events of one conversation, read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The events, without a hole.
    pub(crate) envelopes: Vec<Arc<Envelope>>,
    /// The newest seq that the log has.
    pub(crate) head: Seq,
}

/// A conversation as the log has it.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// Where it stands, in the epoch in which it goes on: a new one where the log did not end well.
    pub(crate) position: Position,
    /// The state there.
    pub(crate) view: View,
    /// When its newest event was taken, in milliseconds since 1970.
    pub(crate) at: u64,
    /// How far its publishers have come, the one that was silent longest first.
    pub(crate) marks: Vec<Mark>,
}

/// A log of conversations.
pub(crate) trait EventLog: std::fmt::Debug + Send + Sync {
    /// The most that this log can promise (invariant I9).
    fn durability(&self) -> Durability;

    /// Whether it searches, counts calls and lists: if not, nobody needs to say what that takes.
    fn indexes(&self) -> bool;

    /// Takes what continues the conversation. Does not wait.
    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError>;

    /// Keeps a whole state, so that the conversation is read back quickly, and heals a hole. Does not wait.
    fn keep(&self, checkpoint: Checkpoint) -> Ticket;

    /// Keeps rows of the list, newer ones of the same conversations replacing older. Does not wait.
    fn list_as(&self, rows: Vec<ConversationRow>);

    /// A ticket for everything so far, to be written in such a way that it survives the loss of power. Does not wait.
    fn sync(&self) -> Ticket;

    /// How it does, in numbers.
    fn figures(&self) -> Figures {
        Figures::default()
    }

    /// How far it has come, and whether it works.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// The conversations of which a checkpoint is needed, since events of theirs are not in the log. Each is named once.
    fn wanted(&self) -> Vec<ConversationId>;

    /// The conversation as it was left; nothing for one that the log does not know.
    fn load(&self, conversation: &ConversationId) -> Result<Option<Stored>, LogError>;

    /// Up to `limit` events after `after`; fewer where they are large. They are all when they reach the page's head.
    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<Page, LogError>;

    /// A page of the list, the newest activity first.
    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError>;

    /// How many conversations it has.
    fn count(&self) -> u64;

    /// The conversations whose newest run was not over when the hub last stopped.
    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError>;

    /// What matches, the newest first.
    fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, LogError>;

    /// The calls of each tool, by name.
    fn tools(&self) -> Result<Vec<ToolFigures>, LogError>;

    /// A result that was too large to stand in an event.
    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError>;

    /// Drops a conversation with everything that belongs to it. Does not wait.
    fn remove(&self, conversation: &ConversationId) -> Ticket;

    /// Drops whole conversations, the one that was silent longest first, until the rest is within `rule`, and says which; a
    /// bounded number at once. Never one that `keep` holds on to: whoever reads a conversation back must hold on to it
    /// before. `now` is in milliseconds since 1970.
    fn retain(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError>;

    /// Writes what is left and notes that the log ended well. Waits for the disk; nothing may be appended afterwards.
    fn close(&self);
}

/// Ready when `ticket` is kept at `level`; fails as soon as the log cannot write. Nothing waits for
/// [`Durability::Memory`].
pub(crate) async fn reached(log: &dyn EventLog, ticket: Ticket, level: Durability) -> Result<(), LogError> {
    let mut progress = log.progress();
    loop {
        if let Some(settled) = settled(&progress.borrow_and_update(), ticket, level) {
            return settled;
        }
        if progress.changed().await.is_err() {
            return Err(LogError::Failing(Arc::from("it has ended")));
        }
    }
}

/// Ready when the log's queue has room: whoever says much should wait for it between two pieces.
pub(crate) async fn room(log: &dyn EventLog) {
    let mut progress = log.progress();
    while progress.borrow_and_update().full && progress.changed().await.is_ok() {}
}

/// Whether `ticket` is kept at `level`, or will not be for now; nothing when that is open.
pub(crate) fn settled(
    progress: &Progress,
    ticket: Ticket,
    level: Durability,
) -> Option<Result<(), LogError>> {
    let done = match level {
        Durability::Memory => return Some(Ok(())),
        Durability::Stored => progress.stored,
        Durability::Synced => progress.synced,
    };
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

/// Runs something that waits for the disk, where a task runs. Other tasks of the thread go on elsewhere meanwhile.
pub(crate) fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // One thread for everything, as in a test: there is nobody else who could go on.
        _ => read(),
    }
}
