//! A log for simulations of several hubs: what is ours is that of [`super`], and the database is a model in memory, of which a test decides when
//! it answers, what it loses, and when a hub writes and renews its lease.
//!
//! ```text
//!  real                                             modelled
//!  queue, planner, packed blocks, count of commits  rows and transactions ([`tables`], [`server`]): what the SQL says, not SQL itself
//!  claims, decisions about owners, own lease        connections: an answer comes, is lost, or the line is cut
//!  what commits promise, reports of tickets         the threads: [`ModelLog::write`] and [`ModelLog::renew`] are called by the test
//! ```
//!
//! Lists, searches, sums, imports and large results are not modelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Epoch, Position, Seq};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::claims::{ClaimResult, ClaimTables, Claims};
use super::guarantee::CommitPromise;
use super::lease::OwnLease;
use super::life::OVER;
use crate::blocks::unreadable;
use crate::ops::Op;
use crate::ownership::{LeaseRenewal, OwnershipDecision, decide_ownership};
use crate::queue::{LogLifecycle, Queue};
use crate::{
    Append, Checkpoint, EndedToolCall, EventLog, EventPage, ImportId, LeavingEnd, ListQuery, LogError,
    Measurement, Owner, Progress, Purpose, QueryCancel, Retention, SearchQuery, SearchResults,
    StoredConversation, Ticket, ToolFigures, Unwritten, WriteFault, clock,
};

mod server;
mod tables;
mod writing;

pub use server::{ModelDatabase, ModelFlaw};
use tables::ModelConversation;
use writing::ModelWriter;

/// Commits that are tried when a log is closed.
const TRIES_WHEN_CLOSING: u32 = 3;

/// The log of one life of one hub on a [`ModelDatabase`]. Dropping it is the death of the hub.
#[derive(Debug)]
pub struct ModelLog {
    database: Arc<ModelDatabase>,
    life: i64,
    lease: Duration,
    queue: Queue,
    claims: Claims,
    own_lease: OwnLease,
    promise: Mutex<CommitPromise>,
    writer: Mutex<ModelWriter>,
    /// The promotions of the database up to the one after which it was looked whether the claims are there.
    looked: AtomicU64,
    line: Mutex<Line>,
    /// The machine's clock: its beginning, and what has passed since in milliseconds.
    began: Instant,
    passed_ms: AtomicU64,
}

/// The connections between a hub and the database.
#[derive(Debug, Default)]
struct Line {
    /// The connections are cut: nothing arrives.
    is_cut: bool,
    /// The next change is made, and its answer is lost.
    loses_answer: bool,
}

/// The fate of a change and of its answer.
enum Answer {
    /// The change is made, and answered.
    Comes,
    /// The change is made, and nobody here knows.
    Lost,
}

impl ModelLog {
    /// Begins a life on `database` of the hub that others reach under `address`, whose queue holds `queue_bytes`. Fails where the database
    /// does not answer.
    pub fn open(
        database: &Arc<ModelDatabase>,
        address: &str,
        lease: Duration,
        queue_bytes: usize,
    ) -> Result<Self, LogError> {
        let mut server = database.lock();
        if !server.answers_commits() {
            return Err(no_answer());
        }
        let (life, last_unsound) = server.begin(address, millis(lease));
        let (guarantee, promotions) = (server.guarantee(), server.promotions);
        drop(server);
        let queue = Queue::new(queue_bytes, None);
        queue.go_without_journal();
        queue.offers(guarantee.durability);
        let began = Instant::now();
        Ok(Self {
            database: Arc::clone(database),
            life,
            lease,
            queue,
            claims: Claims::new(life, lease, last_unsound),
            own_lease: OwnLease::new(lease, began),
            promise: Mutex::new(CommitPromise::new(guarantee)),
            writer: Mutex::default(),
            looked: AtomicU64::new(promotions),
            line: Mutex::default(),
            began,
            passed_ms: AtomicU64::new(0),
        })
    }

    /// The number of its life.
    pub fn life(&self) -> i64 {
        self.life
    }

    /// Time passes on the hub's machine, in milliseconds.
    pub fn pass(&self, ms: u64) {
        self.passed_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Cuts the hub off from the database.
    pub fn cut(&self) {
        self.line.lock().is_cut = true;
    }

    /// The hub reaches the database again.
    pub fn reconnect(&self) {
        self.line.lock().is_cut = false;
    }

    /// The next change is made without an answer.
    pub fn lose_answer(&self) {
        self.line.lock().loses_answer = true;
    }

    /// Renews the lease, as the hub's task does once in a third of it, and learns what the settings promise.
    pub fn renew(&self) {
        let (written, commits) = (self.queue.progress().borrow().stored, self.writer.lock().certain());
        let sent = self.now();
        let mut server = self.database.lock();
        if self.line.lock().is_cut || !server.answers_commits() {
            return;
        }
        let (mut renewal, counted) = server.renew(self.life, millis(self.lease));
        let found = server.guarantee();
        // A connection to another server.
        let is_new = self.looked.swap(server.promotions, Ordering::Relaxed) != server.promotions;
        if is_new && server.tables.lost(&self.claims.names(), self.life) {
            renewal = LeaseRenewal::StepsDown;
        }
        drop(server);
        let level = self.learn(found);
        if renewal == LeaseRenewal::StepsDown {
            self.queue.failed(WriteFault {
                code: "disk_failing",
                what: Arc::from(OVER),
                since: clock::now_ms(),
            });
            return self.queue.overtaken();
        }
        self.own_lease.renewed(sent);
        if counted >= commits {
            self.queue.confirm(written, level);
        }
    }

    /// The time on the hub's machine.
    fn now(&self) -> Instant {
        self.began + Duration::from_millis(self.passed_ms.load(Ordering::Relaxed))
    }

    /// Makes a change, unless nothing arrives.
    fn change(&self) -> Result<Answer, LogError> {
        let mut line = self.line.lock();
        if line.is_cut {
            return Err(no_answer());
        }
        let loses = std::mem::take(&mut line.loses_answer);
        Ok(if loses { Answer::Lost } else { Answer::Comes })
    }

    /// Reads a conversation's rows with `read`; `None` if there is none.
    fn read_rows<T>(
        &self,
        id: &ConversationId,
        read: impl FnOnce(&ModelConversation) -> Result<T, LogError>,
    ) -> Result<Option<T>, LogError> {
        let server = self.database.lock();
        if self.line.lock().is_cut || !server.answers() {
            return Err(no_answer());
        }
        server.tables.conversations.get(id).map(read).transpose()
    }

    /// What is stored of a conversation, whichever hub has it, and the life that wrote it last.
    fn stored(&self, id: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        let stays = self.database.lock().flaw == Some(ModelFlaw::MarksStay);
        self.read_rows(id, |found| {
            let record = found.record();
            let position = Position { epoch: record.epoch, seq: record.head };
            let marks = if stays { Vec::new() } else { found.marks() };
            Ok(StoredConversation { position, view: found.state()?, at: record.at, marks })
        })
    }
}

impl ClaimTables for &ModelLog {
    fn look(&self, (me, _): (i64, i64), id: &ConversationId) -> Result<Option<OwnershipDecision>, LogError> {
        let server = self.database.lock();
        if self.line.lock().is_cut || !server.answers() {
            return Err(no_answer());
        }
        let owner = server.tables.owner((me, millis(self.lease)), server.now, id);
        Ok(owner.map(|owner| decide_ownership(me, &owner)))
    }

    fn claim(
        &self,
        (me, _): (i64, i64),
        id: &ConversationId,
        purpose: Purpose,
    ) -> Result<ClaimResult, LogError> {
        let mut server = self.database.lock();
        if !server.answers_commits() {
            return Err(no_answer());
        }
        let answer = self.change()?;
        let result = server.claim((me, millis(self.lease)), id, purpose)?;
        match answer {
            Answer::Comes => Ok(result),
            Answer::Lost => Err(no_answer()),
        }
    }

    fn last_writer(&self, id: &ConversationId) -> Result<Option<i64>, LogError> {
        self.read_rows(id, |found| Ok(found.life))
    }
}

impl EventLog for ModelLog {
    fn durability(&self) -> Durability {
        self.promise.lock().now().durability
    }

    fn indexes(&self) -> bool {
        true
    }

    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        self.queue.continues(conversation, after)
    }

    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError> {
        self.queue.append(append)
    }

    fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        self.queue.keep(checkpoint)
    }

    fn put_rows(&self, _rows: Vec<ConversationRow>) {}

    fn sync(&self) -> Ticket {
        self.queue.put(Op::Sync)
    }

    fn hasten(&self, ticket: Ticket, level: Durability) {
        self.queue.hasten(ticket.0, level);
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.queue.progress()
    }

    fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        self.queue.awaiting_checkpoint()
    }

    fn claim(&self, conversation: &ConversationId, purpose: Purpose) -> Result<Owner, LogError> {
        self.claims.claim(&self, conversation, purpose)
    }

    fn release(&self, conversation: &ConversationId, to: &Arc<str>) -> Option<Ticket> {
        let leaves = self.claims.leaves(conversation, to);
        leaves.then(|| self.queue.put(Op::Release(conversation.clone())))
    }

    fn released(&self, conversation: &ConversationId, end: LeavingEnd) {
        if end == LeavingEnd::Gone {
            self.queue.forget(conversation);
        }
        self.claims.left(conversation, end);
    }

    fn holds_lease(&self) -> bool {
        self.own_lease.holds(self.now())
    }

    fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        while self.write() {}
        self.queue.settle(conversation)
    }

    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.settle(conversation)?;
        let Some(mut stored) = self.stored(conversation)? else {
            self.queue.absent_after_loss(conversation);
            return Ok(None);
        };
        let holed = self.queue.enter_after_loss(conversation, stored.position.seq);
        if holed | self.claims.is_torn(conversation) {
            stored.position.epoch = Epoch::new(&clock::fresh_name());
            self.queue.rename(conversation, stored.position.epoch.clone());
        }
        Ok(Some(stored))
    }

    fn peek(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.stored(conversation)
    }

    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError> {
        drop(self.settle(conversation));
        let page = self.read_rows(conversation, |found| {
            let (head, mut events) = (found.head, found.events(after)?);
            let first = events.first().map_or(head, |envelope| envelope.seq);
            if after < head && limit > 0 && first != after + 1 {
                return Err(LogError::Gone { begins_after: first.saturating_sub(1) });
            }
            let dense = (after + 1..).zip(&events).take_while(|(seq, envelope)| *seq == envelope.seq).count();
            events.truncate(dense.min(limit));
            Ok(EventPage { envelopes: events.into_iter().map(Arc::new).collect(), head })
        })?;
        page.ok_or(LogError::Unknown)
    }

    fn list(&self, _query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        Ok(Vec::new())
    }

    fn count(&self) -> u64 {
        self.database.lock().tables.conversations.len() as u64
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        Ok(Vec::new())
    }

    fn search(&self, _query: &SearchQuery, _stop: &QueryCancel) -> Result<SearchResults, LogError> {
        Err(LogError::BadQuery(String::from("a model is not searched")))
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        Ok(Vec::new())
    }

    fn attachment(&self, _conversation: &ConversationId, _hash: &str) -> Result<Option<Arc<str>>, LogError> {
        Ok(None)
    }

    fn gap(&self, _conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError> {
        Ok(None)
    }

    fn stage(&self, _import: ImportId, _append: Append<'_>) -> Ticket {
        Ticket::NEVER
    }

    fn adopt(
        &self,
        _import: ImportId,
        _checkpoint: Checkpoint,
        _calls: Vec<EndedToolCall>,
        _measurements: Vec<Measurement>,
    ) -> Ticket {
        Ticket::NEVER
    }

    fn abandon(&self, _import: ImportId) {}

    fn remove(&self, conversation: &ConversationId) -> Ticket {
        self.queue.put(Op::Remove(conversation.clone()))
    }

    fn expired(
        &self,
        _rule: &Retention,
        _now: u64,
        _keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
        Ok(Vec::new())
    }

    fn close(&self) -> Result<(), Unwritten> {
        self.queue.end(LogLifecycle::Closing);
        for _ in 0..TRIES_WHEN_CLOSING {
            while self.write() {}
        }
        self.end_well();
        self.queue.left().map_or(Ok(()), Err)
    }
}

/// What a caller is told while the database does not answer.
fn no_answer() -> LogError {
    unreadable("the database does not answer")
}

/// A time in milliseconds.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
