//! How far a log has come: tickets, what they have reached, and what a log that cannot write says of itself. Everybody who wants more than
//! memory waits here ([`reached`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexSet;
use model::ConversationId;
use model::frame::Durability;

use crate::{EventLog, LogError};

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
    /// Everything up to this ticket is on the disk of a second machine too. At or below `synced`.
    pub replicated: Ticket,
    /// The most that a commit means now, where settings outside the hub decide it and may change; `None`
    /// where it never changes.
    pub offered: Option<Durability>,
    /// The newest purge ([`EventLog::purge`]) that is done.
    pub purged: Ticket,
    /// Why the newest step of a purge failed, which is tried again.
    pub purge_fault: Option<Arc<str>>,
    /// Whether the log writes at present.
    pub health: Health,
    /// Whether another hub has taken over: nothing is written here any more, whatever happens.
    pub is_overtaken: bool,
    /// Whether the queue is so long that publishers should wait before they send more. Never true while the
    /// log cannot write: then waiting would only keep events from viewers.
    pub full: bool,
}

impl Progress {
    /// Whether what `ticket` stands for survives the death of the hub.
    pub fn has(&self, ticket: Ticket) -> bool {
        ticket <= self.stored && !self.lost.contains(&ticket)
    }

    /// Notes that everything up to `ticket` is kept at `level`, which includes all levels below it.
    pub(crate) fn raise(&mut self, ticket: Ticket, level: Durability) {
        if level >= Durability::Synced {
            self.synced = self.synced.max(ticket);
        }
        if level >= Durability::Replicated {
            self.replicated = self.replicated.max(ticket);
        }
    }

    /// Whether what `ticket` stands for is in lists and searches.
    pub fn has_indexed(&self, ticket: Ticket) -> bool {
        ticket <= self.indexed && self.has(ticket)
    }
}

/// Counters of a log, for metrics. All but `queue_bytes`, `unindexed_bytes`, `left_out` and `holed` only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogFigures {
    /// Appends that the queue did not take and that no checkpoint has replaced yet.
    pub left_out: u64,
    /// Conversations of those appends, which still need a checkpoint.
    pub holed: u64,
    /// Operations that the database refused and that were set aside.
    pub set_aside: u64,
    /// Bytes that wait to be written, without texts that are shared with the states of conversations.
    pub queue_bytes: u64,
    /// About the bytes of texts that are written and whose words are not in the index of searches yet. A search waits for them.
    pub unindexed_bytes: u64,
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
    Failing(WriteFault),
}

/// Why a log cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFault {
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
pub struct LostCommits {
    /// The number of transactions that are missing, at least.
    pub commits: u64,
    /// When the newest transaction that is there was made, in milliseconds since 1970; 0 if there is none.
    pub from: u64,
    /// When the newest missing transaction was made, in milliseconds since 1970.
    pub to: u64,
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
        Durability::Replicated => progress.replicated,
    };
    if progress.lost.contains(&ticket) {
        return Some(Err(LogError::SetAside));
    }
    if ticket <= done {
        return Some(Ok(()));
    }
    match &progress.health {
        // A later commit may still bring it, but nobody knows whether there will be one.
        Health::Well if progress.offered.is_some_and(|offered| level > offered) => {
            Some(Err(LogError::Withdrawn(level)))
        }
        Health::Failing(fault) => Some(Err(LogError::Failing(Arc::clone(&fault.what)))),
        Health::Well if ticket == Ticket::NEVER => {
            Some(Err(LogError::Failing(Arc::from("its queue was full when the events came"))))
        }
        Health::Well => None,
    }
}
