//! For tests: a log over one in memory whose reading waits until it is told to go on. A test holds the hub
//! inside of a read of the log, does something else, and lets it go on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Seq};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use event_log::{
    Append, Checkpoint, EndedToolCall, EventLog, EventPage, ImportId, ListQuery, LogError, MeasureQuery,
    Measured, Measurement, MemoryLog, Progress, QueryCancel, Retention, SearchQuery, SearchResults,
    StoredConversation, Ticket, ToolFigures, Unwritten,
};

/// How long anybody waits here: then the test has failed.
const DEADLINE: Duration = Duration::from_secs(20);

/// A log whose reads block until the test lets them go on. Everything but loading goes to a log in memory.
#[derive(Debug, Default)]
pub struct BlockingLog {
    /// Takes what is appended.
    under: MemoryLog,
    /// What [`EventLog::load`] gives, as if it had been stored before.
    stored: Mutex<HashMap<ConversationId, StoredConversation>>,
    /// Whether readers must wait, and how many do.
    gate: Mutex<ReadGate>,
    /// Notified when the gate changes.
    turned: Condvar,
}

/// What reads of the log must pass.
#[derive(Debug, Default)]
struct ReadGate {
    /// Whether those who come wait.
    is_shut: bool,
    /// How many are inside, waiting or about to go on.
    waiting: usize,
}

impl BlockingLog {
    /// Has `stored` to be read back.
    pub fn put(&self, id: &ConversationId, stored: StoredConversation) {
        self.stored.lock().insert(id.clone(), stored);
    }

    /// Lets those wait who read from here on.
    pub fn shut(&self) {
        self.gate.lock().is_shut = true;
    }

    /// Lets everybody go on.
    pub fn open(&self) {
        self.gate.lock().is_shut = false;
        self.turned.notify_all();
    }

    /// Returns once somebody waits.
    pub fn until_read(&self) {
        self.wait(|gate| gate.waiting > 0);
    }

    /// Passes the gate, which may wait.
    fn pass(&self) {
        self.gate.lock().waiting += 1;
        self.turned.notify_all();
        self.wait(|gate| !gate.is_shut);
        self.gate.lock().waiting -= 1;
    }

    /// Waits until `is_so`. Panics after [`DEADLINE`].
    fn wait(&self, is_so: impl Fn(&ReadGate) -> bool) {
        let until = Instant::now() + DEADLINE;
        let mut gate = self.gate.lock();
        while !is_so(&gate) {
            let is_over = self.turned.wait_until(&mut gate, until).timed_out();
            assert!(!is_over, "nothing came of it: {gate:?}");
        }
    }
}

impl EventLog for BlockingLog {
    fn durability(&self) -> Durability {
        self.under.durability()
    }

    fn indexes(&self) -> bool {
        true
    }

    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError> {
        self.under.continues(conversation, after)
    }

    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError> {
        self.under.append(append)
    }

    fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        self.under.keep(checkpoint)
    }

    fn put_rows(&self, rows: Vec<ConversationRow>) {
        self.under.put_rows(rows);
    }

    fn sync(&self) -> Ticket {
        self.under.sync()
    }

    fn hasten(&self, ticket: Ticket, level: Durability) {
        self.under.hasten(ticket, level);
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.under.progress()
    }

    fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        self.under.awaiting_checkpoint()
    }

    fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        self.under.settle(conversation)
    }

    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.pass();
        Ok(self.stored.lock().get(conversation).cloned())
    }

    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError> {
        self.pass();
        self.under.read(conversation, after, limit)
    }

    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        self.pass();
        self.under.list(query)
    }

    fn count(&self) -> u64 {
        self.under.count()
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        self.under.unfinished()
    }

    fn search(&self, query: &SearchQuery, stop: &QueryCancel) -> Result<SearchResults, LogError> {
        self.under.search(query, stop)
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        self.under.tools()
    }

    fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        self.under.measured(query, stop)
    }

    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError> {
        self.under.attachment(conversation, hash)
    }

    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError> {
        self.under.gap(conversation)
    }

    fn stage(&self, import: ImportId, append: Append<'_>) -> Ticket {
        self.under.stage(import, append)
    }

    fn adopt(
        &self,
        import: ImportId,
        checkpoint: Checkpoint,
        calls: Vec<EndedToolCall>,
        measurements: Vec<Measurement>,
    ) -> Ticket {
        self.under.adopt(import, checkpoint, calls, measurements)
    }

    fn abandon(&self, import: ImportId) {
        self.under.abandon(import);
    }

    fn remove(&self, conversation: &ConversationId) -> Ticket {
        self.under.remove(conversation)
    }

    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
        self.under.expired(rule, now, keep)
    }

    fn close(&self) -> Result<(), Unwritten> {
        self.under.close()
    }
}
