//! The queue: what waits to be written, first to the journal, where there is one, and then to the database. This is all that an
//! append touches: one lock, a few clones of references, a sum.
//!
//! It knows the head of each conversation that was written in this life, so an append that does not continue
//! it is refused at once. Its bound is in bytes. An append that does not fit leaves a hole in its
//! conversation: the queue takes no more events of that conversation until a checkpoint brings its state.
//! Events that fitted before the hole are still written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indexmap::IndexSet;
use model::limits::{CONVERSATIONS_MAX, LOG_SHARED_BYTES_MAX};
use model::{ConversationId, Seq};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::ops::Queued;
use crate::queued_ends::QueuedEnds;
use crate::{Health, LogError, LogFigures, Progress, Ticket, Unwritten};

mod appending;
mod due;
mod entries;
mod group_commit;
mod settling;
mod words;
mod writing;

use group_commit::GroupCommit;
use words::WordBacklog;
pub(crate) use words::{DOCUMENT_BYTES, STEP_BYTES, UnindexedDocuments};

/// How long an append may wait for the journal if nobody waits for it, and how long an operation that is
/// stored only as rows may wait.
const GATHER: Duration = Duration::from_millis(20);

/// From so many bytes on, the journal is written at once.
const GATHER_BYTES: usize = 512 << 10;

/// How long appends in the journal may wait to become rows. The longer, the more deltas are joined and the
/// fewer pages are written, and the more must be read again after a crash.
const ROWS_AFTER: Duration = Duration::from_secs(1);

/// From so many bytes on, rows are written at once.
const ROWS_BYTES: usize = 8 << 20;

/// If the size of the file is bounded, rows are written at once from this fraction of the bound on: the bound
/// divided by this.
const FILE_SHARE: u64 = 64;

/// While more bytes wait than this many times those that become rows at once, nothing goes into the journal:
/// events in it are promised, and may find no room in the file.
const UNWRITTEN: usize = 4;

/// Most bytes of one commit, unless it is a single operation. What comes later waits no longer than such a
/// commit takes.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The least time between two steps of deleting rows of removed conversations.
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// How much later a step of deleting comes while something always waits to be written.
const SWEEP_PATIENCE: Duration = Duration::from_millis(250);

/// Most tickets that are remembered as lost. Whoever waits for one looks soon after.
const LOST_MAX: usize = 1_000;

/// Most conversations whose heads the queue remembers. The database has the others.
const QUEUED_ENDS_MAX: usize = 4 * CONVERSATIONS_MAX;

/// What waits to be written, with the locks and signals around it. Shared by appending threads, the journal's
/// thread, the packer and the writer. Bounded in bytes; a full queue makes holes instead of making anybody
/// wait.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) state: Mutex<QueueState>,
    /// Notified when there is work for the writer or the end has come.
    pub(crate) work: Condvar,
    /// Notified when there is work for the journal or the end has come.
    pub(crate) entries: Condvar,
    /// Notified when something was written or cannot be.
    pub(crate) done: Condvar,
    pub(crate) progress: watch::Sender<Progress>,
    /// Most bytes that may wait.
    bytes_max: usize,
    /// Most bytes of shared texts that may wait besides. Beyond them they count like all else.
    shared_bytes_max: usize,
    commits: AtomicU64,
    commit_micros: AtomicU64,
    set_aside: AtomicU64,
}

/// The state of the queue, behind its lock.
#[derive(Debug, Default)]
pub(crate) struct QueueState {
    /// What waits, by ticket. What the journal has stays here until the writer takes it.
    ops: VecDeque<Queued>,
    /// The bytes of what waits and of what is being written.
    bytes: usize,
    /// The bytes of texts that what waits shares with the states of conversations.
    shared_bytes: usize,
    /// The newest ticket that was given.
    pub(crate) tickets: u64,
    /// From so many bytes on, rows are written at once.
    rows_bytes: usize,
    /// The moment at which the oldest operation that waits came.
    since: Option<Instant>,
    /// Somebody waits until everything up to this ticket is rows.
    rows_to: u64,
    /// Since when an operation waits that is stored only as rows.
    rows_since: Option<Instant>,
    /// Since when an append waits for the journal.
    entry_since: Option<Instant>,
    /// The bytes of those appends.
    entry_bytes: usize,
    /// Everything up to this ticket is in the journal, or is rows, or need not be stored.
    stored: u64,
    /// Whether there is no journal or it cannot be written, so that everything is stored as rows.
    journal_is_off: bool,
    /// Whether there is a journal at all.
    pub(crate) has_journal: bool,
    /// The newest ticket that changes what searches find.
    found_at: u64,
    /// The newest ticket of a removal.
    removed_at: u64,
    /// Decides when to write what somebody waits for.
    group_commit: GroupCommit,
    /// The newest ticket that the writer has taken.
    taken: u64,
    /// The newest ticket up to which everything was asked to survive a loss of power.
    sync_at: u64,
    /// Where each conversation ends once all of this is written, and which have a hole.
    ends: QueuedEnds,
    /// Conversations with a hole that [`Queue::awaiting_checkpoint`] has not named yet.
    unnamed: IndexSet<ConversationId>,
    /// Whether the log is open, or on its way to its end.
    lifecycle: LogLifecycle,
    /// When rows of removed conversations are deleted next; `None` while there are none.
    sweep_at: Option<Instant>,
    /// Documents whose words are not in the index yet.
    words: WordBacklog,
    /// What was not written when the writer ended.
    unwritten: Unwritten,
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) write_hold: crate::write_control::WriteHold,
}

/// The stages of a log on the way to its end. It only moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLifecycle {
    /// The log takes what comes.
    #[default]
    Open,
    /// The log will be closed: nothing is put off any more.
    Draining,
    /// The log writes what is left and then ends.
    Closing,
    /// The log was dropped without being closed, as if the process had died.
    Dropped,
}

/// What the writer does next.
#[derive(Debug)]
pub(crate) enum WriterStep {
    /// Write these operations in one transaction.
    Write(Vec<Queued>),
    /// Nothing is due: delete some rows of removed conversations.
    Sweep,
    /// Add words of some documents to the index of searches.
    IndexWords,
    /// Everything is written: note that the log ended well.
    Close,
    /// Leave everything as it is.
    Leave,
}

impl Queue {
    /// Makes an empty queue of at most `bytes_max` bytes, for a file of at most `file_bytes_max`.
    pub(crate) fn new(bytes_max: usize, file_bytes_max: Option<u64>) -> Self {
        // In a small file, missing room is noticed before much is promised.
        let share = file_bytes_max.map_or(u64::MAX, |bytes| bytes / FILE_SHARE);
        let rows_bytes = usize::try_from(share).unwrap_or(usize::MAX).min(ROWS_BYTES);
        // Events that are promised must find room in the file, texts included.
        let shared_bytes_max = if file_bytes_max.is_some() { 0 } else { LOG_SHARED_BYTES_MAX };
        Self {
            bytes_max,
            shared_bytes_max,
            state: Mutex::new(QueueState { rows_bytes, ..QueueState::default() }),
            work: Condvar::new(),
            entries: Condvar::new(),
            done: Condvar::new(),
            progress: watch::Sender::default(),
            commits: AtomicU64::default(),
            commit_micros: AtomicU64::default(),
            set_aside: AtomicU64::default(),
        }
    }

    /// The counters for metrics.
    pub(crate) fn figures(&self) -> LogFigures {
        let state = self.state.lock();
        let (holed, left_out) = state.ends.holes();
        LogFigures {
            holed,
            left_out,
            set_aside: self.set_aside.load(Ordering::Relaxed),
            queue_bytes: state.bytes as u64,
            unindexed_bytes: state.unindexed_bytes() as u64,
            taken: Ticket(state.tickets),
            commits: self.commits.load(Ordering::Relaxed),
            commit_micros: self.commit_micros.load(Ordering::Relaxed),
        }
    }

    /// Whether there is a journal.
    pub(crate) fn has_journal(&self) -> bool {
        self.state.lock().has_journal
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Whether nothing can be written at present.
    pub(crate) fn is_failing(&self) -> bool {
        self.progress.borrow().health != Health::Well
    }

    /// Whether events that continue `conversation` after `after` would be taken.
    pub(crate) fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        self.state.lock().continues(conversation, after)
    }

    /// Moves the log to `lifecycle`, unless it is further already, and wakes all threads.
    pub(crate) fn end(&self, lifecycle: LogLifecycle) {
        let mut state = self.state.lock();
        state.lifecycle = state.lifecycle.max(lifecycle);
        drop(state);
        self.work.notify_all();
        self.entries.notify_all();
        self.done.notify_all();
    }

    /// How far the log is on its way to its end.
    pub(crate) fn lifecycle(&self) -> LogLifecycle {
        self.state.lock().lifecycle
    }
}

impl QueueState {
    /// Whether events that continue `conversation` after `after` would be taken. A conversation with a hole
    /// takes all, because its next checkpoint contains them.
    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        match self.ends.get(conversation) {
            Some(end) if !end.is_holed() && end.head != after => {
                Err(LogError::Conflict { found: end.head, expected: after })
            }
            _ => Ok(()),
        }
    }

    /// How far the log is on its way to its end.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn lifecycle(&self) -> LogLifecycle {
        self.lifecycle
    }

    /// Whether somebody waits for rows that the writer has not taken yet.
    fn is_urgent(&self) -> bool {
        self.taken < self.rows_to
    }

    /// Notes that somebody waits until everything that was queued so far is rows.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn wants_all_rows(&mut self) {
        self.rows_to = self.tickets;
    }

    /// Notes that the events of `conversation` after `head` are not taken.
    fn hole(&mut self, conversation: &ConversationId, head: Seq) {
        self.ends.hole(conversation, head);
        self.unnamed.insert(conversation.clone());
    }

    /// Whether to delete rows now: at once if nothing waits to be written, otherwise once in a while.
    fn sweep_is_due(&self, now: Instant) -> bool {
        let patience = if self.ops.is_empty() { Duration::ZERO } else { SWEEP_PATIENCE };
        self.sweep_at.is_some_and(|due| now >= due + patience)
    }
}

#[cfg(test)]
mod tests;
