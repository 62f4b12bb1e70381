//! The queue: what waits to be written, first to the journal and then to the database. This is all that an
//! append touches: one lock, a few clones of references, a sum.
//!
//! It knows the head of each conversation that was written in this life, so an append that does not continue
//! it is refused at once. Its bound is in bytes. An append that does not fit leaves a hole in its
//! conversation: the queue takes no more events of that conversation until a checkpoint brings its state.
//! Events that fitted before the hole are still written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indexmap::IndexSet;
use model::frame::Durability;
use model::limits::CONVERSATIONS_MAX;
use model::{ConversationId, Epoch, Seq};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::ops::{Op, Queued, WeighedOp, WritePath};
use crate::tails::{Tail, Tails};
use crate::{Health, LogError, LogFigures, Progress, Ticket, Unwritten};

mod due;
mod entries;
mod group_commit;
mod writing;

use group_commit::GroupCommit;

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
const TAILS_MAX: usize = 4 * CONVERSATIONS_MAX;

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
    /// The newest ticket that was given.
    pub(crate) tickets: u64,
    /// From so many bytes on, rows are written at once.
    rows_bytes: usize,
    /// When the oldest operation that waits came.
    since: Option<Instant>,
    /// Whether everything is to be written as rows at once.
    pub(crate) urgent: bool,
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
    /// When to write what somebody waits for.
    group_commit: GroupCommit,
    /// The newest ticket that the writer has taken.
    taken: u64,
    /// The newest ticket up to which everything was asked to survive a loss of power.
    sync_at: u64,
    /// Where each conversation ends once all of this is written, and which have a hole.
    tails: Tails,
    /// Conversations with a hole that [`Queue::awaiting_checkpoint`] has not named yet.
    unnamed: IndexSet<ConversationId>,
    /// Whether the log is open, or on its way to its end.
    stage: LogLifecycle,
    /// When rows of removed conversations are deleted next; `None` while there are none.
    sweep_at: Option<Instant>,
    /// What was not written when the writer ended.
    unwritten: Unwritten,
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) write_hold: crate::write_control::WriteHold,
}

/// How far the log is on its way to its end. It only moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLifecycle {
    /// It takes what comes.
    #[default]
    Open,
    /// It will be closed: nothing is put off any more.
    Draining,
    /// It writes what is left and then ends.
    Closing,
    /// It was dropped without being closed, as if the process had died.
    Dropped,
}

/// What the writer does next.
#[derive(Debug)]
pub(crate) enum WriterStep {
    /// Write these operations.
    Write(Vec<Queued>),
    /// Nothing is due: delete some rows of removed conversations.
    Sweep,
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
        Self {
            bytes_max,
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
        let (holed, left_out) = state.tails.holes();
        LogFigures {
            holed,
            left_out,
            set_aside: self.set_aside.load(Ordering::Relaxed),
            queue_bytes: state.bytes as u64,
            taken: Ticket(state.tickets),
            commits: self.commits.load(Ordering::Relaxed),
            commit_micros: self.commit_micros.load(Ordering::Relaxed),
        }
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

    /// Queues events that continue `conversation` from `after` to `head`. Those that do not fit make or widen
    /// a hole and get [`Ticket::NEVER`].
    pub(crate) fn append(&self, op: Op, after: Seq, head: Seq) -> Result<Ticket, LogError> {
        let Some(conversation) = op.conversation().cloned() else { return Ok(Ticket::NEVER) };
        let (weighed, mut state) = (WeighedOp::of(op), self.state.lock());
        state.continues(&conversation, after)?;
        if state.tails.get(&conversation).is_some_and(Tail::is_holed) {
            state.tails.left_out(&conversation);
            return Ok(Ticket::NEVER);
        }
        if state.bytes.saturating_add(weighed.bytes) > self.bytes_max {
            state.hole(&conversation, after);
            return Ok(Ticket::NEVER);
        }
        Ok(self.push(&mut state, weighed, Some(head)))
    }

    /// Queues a piece of an import; without room for it returns [`Ticket::NEVER`].
    pub(crate) fn piece(&self, op: Op) -> Ticket {
        let (weighed, mut state) = (WeighedOp::of(op), self.state.lock());
        if state.bytes.saturating_add(weighed.bytes) > self.bytes_max && !state.ops.is_empty() {
            return Ticket::NEVER;
        }
        self.push(&mut state, weighed, None)
    }

    /// Queues an operation that makes a conversation with the head `head`.
    pub(crate) fn make(&self, op: Op, head: Seq) -> Ticket {
        let weighed = WeighedOp::of(op);
        self.push(&mut self.state.lock(), weighed, Some(head))
    }

    /// Queues a checkpoint at `head`. The conversation has no hole afterwards.
    pub(crate) fn keep(&self, op: Op, head: Seq) -> Ticket {
        let Some(conversation) = op.conversation().cloned() else { return Ticket::NEVER };
        let (weighed, mut state) = (WeighedOp::of(op), self.state.lock());
        let known = state.tails.get(&conversation);
        let (holed, at_least) = known.map_or((false, 0), |tail| (tail.is_holed(), tail.head));
        // A checkpoint that fills a hole is taken even if it does not fit, one at a time: it may be larger
        // than the whole queue.
        let heals = holed && !state.ops.iter().any(|queued| matches!(queued.op, Op::Keep(_)));
        if !heals && state.bytes.saturating_add(weighed.bytes) > self.bytes_max {
            if holed {
                // It is named again when there is room.
                state.unnamed.insert(conversation);
                return Ticket::NEVER;
            }
            // Everything in the checkpoint is stored already, or waits.
            return Ticket(state.tickets);
        }
        state.unnamed.shift_remove(&conversation);
        let missing = state.tails.missing(&conversation);
        let ticket = self.push(&mut state, weighed, Some(if holed { head } else { head.max(at_least) }));
        if holed {
            // The hole counts until the checkpoint is written.
            state.tails.heal(&conversation, ticket.0, missing);
        }
        ticket
    }

    /// Queues an operation without asking for room, because there are few of these.
    pub(crate) fn put(&self, op: Op) -> Ticket {
        let (weighed, mut state) = (WeighedOp::of(op), self.state.lock());
        let head = matches!(weighed.op, Op::Remove(_)).then_some(0);
        if let Op::Remove(conversation) = &weighed.op {
            state.unnamed.shift_remove(conversation);
        }
        self.push(&mut state, weighed, head)
    }

    /// Notes that somebody waits until `ticket` is kept at `level`.
    pub(crate) fn hasten(&self, ticket: u64, level: Durability) {
        let mut state = self.state.lock();
        // A ticket that was never given is never reached.
        if ticket > state.tickets {
            return;
        }
        match level {
            Durability::Synced if state.sync_at < ticket => {
                self.push(&mut state, WeighedOp::of(Op::Sync), None);
            }
            Durability::Stored if state.taken.max(state.stored) < ticket && state.group_commit.waits() => {
                self.entries.notify_one();
                if state.waits_for_rows() {
                    self.work.notify_one();
                }
            }
            _ => {}
        }
    }

    /// Puts an operation at the end, gives it its ticket, and wakes whoever has work now. Room is the
    /// caller's matter.
    fn push(&self, state: &mut QueueState, WeighedOp { op, bytes }: WeighedOp, head: Option<Seq>) -> Ticket {
        state.tickets += 1;
        let ticket = state.tickets;
        let write_path = op.write_path(state.knows(&op, head));
        if op.is_synced() {
            state.sync_at = ticket;
        }
        if op.is_found() {
            state.found_at = ticket;
        }
        if let (Some(conversation), Some(head)) = (op.conversation(), head) {
            state.tails.put(conversation, Tail::at(head, ticket));
        }
        let before = state.bytes;
        state.bytes += bytes;
        let urgent = op.is_urgent() && !state.urgent;
        state.urgent |= urgent;
        let now = Instant::now();
        let wake = urgent
            || state.ops.is_empty()
            || (write_path == WritePath::Rows && state.rows_since.is_none())
            || (before < state.rows_bytes && state.bytes >= state.rows_bytes);
        if write_path == WritePath::Rows {
            state.rows_since.get_or_insert(now);
        }
        if write_path == WritePath::Journal {
            let entry_before = state.entry_bytes;
            state.entry_bytes += bytes;
            if state.entry_since.is_none()
                || (entry_before < GATHER_BYTES && state.entry_bytes >= GATHER_BYTES)
            {
                self.entries.notify_one();
            }
            state.entry_since.get_or_insert(now);
        }
        state.since.get_or_insert(now);
        state.ops.push_back(Queued { ticket, bytes, write_path, op });
        if write_path == WritePath::Optional && state.pass_optional() {
            self.progress.send_modify(|progress| progress.stored = progress.stored.max(Ticket(ticket)));
        }
        if before <= self.bytes_max / 2 && state.bytes > self.bytes_max / 2 {
            self.progress.send_if_modified(|progress| {
                // Publishers that wait while nothing can be written wait in vain, and keep events from
                // viewers.
                let news = !progress.full && progress.health == Health::Well;
                progress.full |= news;
                news
            });
        }
        if wake {
            self.work.notify_one();
        }
        Ticket(ticket)
    }

    /// The conversations with a hole, each named once, if there is room for checkpoints.
    pub(crate) fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        if self.is_failing() {
            return Vec::new();
        }
        let mut state = self.state.lock();
        if state.bytes > self.bytes_max / 2 {
            return Vec::new();
        }
        std::mem::take(&mut state.unnamed).into_iter().collect()
    }

    /// All conversations with a hole.
    pub(crate) fn holed(&self) -> Vec<ConversationId> {
        self.state.lock().tails.holed().into_iter().map(|(conversation, _)| conversation).collect()
    }

    /// Waits until everything of `conversation` is rows; fails if nothing can be written.
    pub(crate) fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        let ticket = self.state.lock().tails.get(conversation).map_or(0, |tail| tail.ticket);
        self.settle_to(ticket)
    }

    /// Waits until everything that searches find is rows, if it can be written.
    pub(crate) fn settle_found(&self) {
        let ticket = self.state.lock().found_at;
        // If it cannot be written, what was written can still be searched.
        drop(self.settle_to(ticket));
    }

    /// Waits until everything up to `ticket` is rows; fails if nothing can be written.
    pub(crate) fn settle_to(&self, ticket: u64) -> Result<(), LogError> {
        #[cfg(any(test, feature = "testkit"))]
        let _goes_on = self.release_writer();
        let mut state = self.state.lock();
        loop {
            let (indexed, health) = {
                let progress = self.progress.borrow();
                (progress.indexed, progress.health.clone())
            };
            if indexed >= Ticket(ticket) {
                return Ok(());
            }
            if let Health::Failing(fault) = health {
                return Err(LogError::Failing(fault.what));
            }
            if state.stage == LogLifecycle::Dropped {
                return Err(LogError::Failing(Arc::from("it has ended")));
            }
            state.urgent = true;
            self.work.notify_one();
            self.done.wait(&mut state);
        }
    }

    /// Notes the head of a conversation that was read. Returns whether it had a hole, which is forgotten: its
    /// reader goes on in a new epoch.
    pub(crate) fn enter(&self, conversation: &ConversationId, head: Seq) -> bool {
        let mut state = self.state.lock();
        if let Some(tail) = state.tails.get(conversation)
            && !tail.is_holed()
        {
            return false;
        }
        state.unnamed.shift_remove(conversation);
        state.tails.put(conversation, Tail::at(head, 0))
    }

    /// Forgets the hole of a conversation that is not in the file. Nothing is noted of a name that nobody
    /// wrote to.
    pub(crate) fn absent(&self, conversation: &ConversationId) {
        let mut state = self.state.lock();
        if state.tails.get(conversation).is_some_and(Tail::is_holed) {
            state.tails.remove(conversation);
            state.unnamed.shift_remove(conversation);
        }
    }

    /// How many conversations it remembers.
    #[cfg(test)]
    pub(crate) fn known(&self) -> usize {
        self.state.lock().tails.len()
    }

    /// Queues the new epoch of a conversation.
    pub(crate) fn rename(&self, conversation: &ConversationId, epoch: Epoch) {
        let mut state = self.state.lock();
        let head = state.tails.get(conversation).map(|tail| tail.head);
        self.push(&mut state, WeighedOp::of(Op::Rename(conversation.clone(), epoch)), head);
    }

    /// Moves the log to `stage`, unless it is further already, and wakes all threads.
    pub(crate) fn end(&self, stage: LogLifecycle) {
        let mut state = self.state.lock();
        state.stage = state.stage.max(stage);
        drop(state);
        self.work.notify_all();
        self.entries.notify_all();
        self.done.notify_all();
    }

    /// How far the log is on its way to its end.
    pub(crate) fn stage(&self) -> LogLifecycle {
        self.state.lock().stage
    }
}

impl QueueState {
    /// Whether events that continue `conversation` after `after` would be taken. A conversation with a hole
    /// takes all, because its next checkpoint contains them.
    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        match self.tails.get(conversation) {
            Some(tail) if !tail.is_holed() && tail.head != after => {
                Err(LogError::Conflict { found: tail.head, expected: after })
            }
            _ => Ok(()),
        }
    }

    /// How far the log is on its way to its end.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn stage(&self) -> LogLifecycle {
        self.stage
    }

    /// Notes that the events of `conversation` after `head` are not taken.
    fn hole(&mut self, conversation: &ConversationId, head: Seq) {
        self.tails.hole(conversation, head);
        self.unnamed.insert(conversation.clone());
    }

    /// Whether to delete rows now: at once if nothing waits to be written, otherwise once in a while.
    fn sweep_is_due(&self, now: Instant) -> bool {
        let patience = if self.ops.is_empty() { Duration::ZERO } else { SWEEP_PATIENCE };
        self.sweep_at.is_some_and(|due| now >= due + patience)
    }
}
