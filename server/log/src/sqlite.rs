//! The log on disk: one SQLite file and a journal beside it. Stored means that an event survives the death of
//! the process, synced that it survives a loss of power.
//!
//! ```text
//!              ┌───▶ journal
//!  append ──▶ queue ──▶ writer ──▶ file ◀── readers ◀── load, read, list, search
//!            (memory)     │ ▲        ▲
//!                         ▼ │        │ reads
//!                        packer ─────┘
//! ```
//!
//! The queue takes appends without waiting ([`queue`]). An append is stored once it is in the journal
//! ([`journal`]), a file beside the database. Up to a second later the writer turns it into rows, in one
//! transaction for everything that has collected ([`writer`], [`commit`]); at once if somebody asks for them.
//! The words of texts are added to the index of searches after their rows ([`words`]).
//! When the log is opened, whatever the journal has of the previous life becomes rows ([`replay`]). The
//! packer joins small blocks into large ones and packs states ([`packer`]). Freed pages are used again; the
//! file does not shrink.
//!
//! # Epochs (invariant I9)
//! Viewers see an event before it is stored. If the process dies in between, they have seen an event that the
//! log does not know, so the conversation must not go on in the same epoch: its next event would get the same
//! position. Each time the file is opened a life begins, and each conversation records the life that wrote it
//! last. If any life since then did not end well, the conversation goes on in a new epoch, with all its
//! events.
//!
//! # Reading order
//!
//! `queue` and its parts (what waits), `ops` (the work of the writer), `journal`, `writer`, `commit` and the
//! tables that it writes (`blocks`, `marks`, `views`, `rows`, `documents`, `tools`, `imports`), `packer`,
//! `readers` and `load`, `words` and `search`, then what happens at the start and in the end (`schema`, `replay`,
//! `watermark`, `retain`, `sweep`).

use std::sync::Arc;
use std::thread::JoinHandle;

use model::frame::{ConversationRow, Durability};
use model::limits::LOG_QUEUE_BYTES_MAX;
use model::{ConversationId, Epoch, Position, Seq};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    Append, Checkpoint, EndedToolCall, EventLog, EventPage, ImportId, ListQuery, LogError, LogFigures,
    LostCommits, MeasureQuery, Measured, Measurement, Progress, QueryCancel, Retention, SearchQuery,
    SearchResults, StoredConversation, Ticket, ToolFigures, Unwritten,
};
use crate::blocks::unreadable;
use crate::conversation_count::ConversationCount;
use crate::packer::Packer;
use crate::queue::{LogLifecycle, Queue};
use crate::{clock, ops, packer, queue};

mod aside;
mod blocks;
mod closed;
mod commit;
mod documents;
mod imports;
mod journal;
mod known;
mod load;
mod marks;
mod measures;
mod opening;
mod pace;
mod private;
mod purge;
mod readers;
mod replay;
mod retain;
mod rows;
mod schema;
mod search;
mod sweep;
mod tools;
mod views;
mod watermark;
mod words;
mod writer;

pub use closed::ClosedSqliteLog;
use ops::{Op, QueuedEvents, StagedImport};
use readers::Readers;
pub use schema::SqliteError;

/// The options with which a log on disk is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Most bytes of the file; beyond them the log fails as on a full disk. `None` for no bound.
    pub max_bytes: Option<u64>,
    /// Most bytes that wait to be written. Beyond them events leave holes.
    pub queue_bytes: usize,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { max_bytes: None, queue_bytes: LOG_QUEUE_BYTES_MAX }
    }
}

/// The log on disk: the queue, the threads that write and pack, and the connections that read. It keeps other
/// processes from using the file. [`EventLog::close`] writes what is queued; dropping the log without it ends
/// the threads and leaves the queue unwritten.
#[derive(Debug)]
pub struct SqliteLog {
    /// What waits to be written.
    queue: Arc<Queue>,
    /// What waits to be packed.
    packer: Arc<Packer>,
    /// Connections for conversations and the list.
    readers: Readers,
    /// Connections for searches and the figures of tools.
    searchers: Readers,
    /// The number of conversations in the log.
    conversation_count: Arc<ConversationCount>,
    /// The threads, and the lock of the file.
    threads: Mutex<SqliteThreads>,
    /// The number of the last life before this one that did not end well; 0 if all did.
    last_unsound: i64,
    /// What was acknowledged and is not there.
    missing: Option<LostCommits>,
}

/// The threads of an open log; `None` once they have ended.
#[derive(Debug, Default)]
struct SqliteThreads {
    writer: Option<JoinHandle<()>>,
    journal: Option<JoinHandle<()>>,
    packer: Option<JoinHandle<()>>,
    /// The lock of the file. Dropping it lets other processes use the file.
    lock: Option<private::FileLock>,
}

impl SqliteLog {
    /// Ends the threads, the writer last, because the others give work to it. Waits for them.
    fn end(&self, lifecycle: LogLifecycle) {
        let mut threads = self.threads.lock();
        // The last connection to close tidies up the file, and only one that writes can do that.
        self.readers.close();
        self.searchers.close();
        self.queue.end(if lifecycle == LogLifecycle::Closing { LogLifecycle::Draining } else { lifecycle });
        self.packer.end();
        for (thread, last) in
            [(threads.journal.take(), false), (threads.packer.take(), false), (threads.writer.take(), true)]
        {
            if last {
                self.queue.end(lifecycle);
            }
            if thread.is_some_and(|thread| thread.join().is_err()) {
                tracing::error!("a thread of the log broke off");
            }
        }
        threads.lock = None;
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.end(LogLifecycle::Dropped);
    }
}

impl EventLog for SqliteLog {
    fn durability(&self) -> Durability {
        Durability::Synced
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

    fn put_rows(&self, rows: Vec<ConversationRow>) {
        if !rows.is_empty() {
            self.queue.put(Op::Rows(rows));
        }
    }

    fn sync(&self) -> Ticket {
        self.queue.put(Op::Sync)
    }

    fn hasten(&self, ticket: Ticket, level: Durability) {
        self.queue.hasten(ticket.0, level);
    }

    fn figures(&self) -> LogFigures {
        self.queue.figures()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.queue.progress()
    }

    fn awaiting_checkpoint(&self) -> Vec<ConversationId> {
        self.queue.awaiting_checkpoint()
    }

    fn settle(&self, conversation: &ConversationId) -> Result<(), LogError> {
        self.queue.settle(conversation)
    }

    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.settle(conversation)?;
        let stored = self.readers.read(|connection| {
            let Some(found) = load::find(connection, conversation)? else { return Ok(None) };
            let (view, marks) = load::state(connection, &found)?;
            Ok(Some((found, view, marks)))
        })?;
        let Some((found, view, marks)) = stored else {
            self.queue.absent(conversation);
            return Ok(None);
        };
        let holed = self.queue.enter(conversation, found.head);
        let mut epoch = found.epoch;
        if holed || found.life <= self.last_unsound {
            epoch = Epoch::new(&clock::fresh_name());
            self.queue.rename(conversation, epoch.clone());
        }
        let position = Position { epoch, seq: found.head };
        Ok(Some(StoredConversation { position, view, at: found.at, marks }))
    }

    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError> {
        // What cannot be written now does not matter: what is written can be read.
        drop(self.queue.settle(conversation));
        self.readers.read(|connection| {
            let found = load::find(connection, conversation)?.ok_or(LogError::Unknown)?;
            load::page(connection, &found, after, limit)
        })
    }

    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError> {
        self.queue.settle_removals();
        self.readers.read(|connection| rows::page(connection, query).map_err(unreadable))
    }

    fn count(&self) -> u64 {
        self.conversation_count.count()
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        self.readers.read(|connection| rows::unfinished(connection).map_err(unreadable))
    }

    fn search(&self, query: &SearchQuery, stop: &QueryCancel) -> Result<SearchResults, LogError> {
        let lacks_newest = !self.queue.settle_words(stop);
        let found = self.searchers.read(|connection| search::search(connection, query, stop))?;
        Ok(SearchResults { lacks_newest, ..found })
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        self.queue.settle_found();
        self.searchers.read(|connection| tools::figures(connection).map_err(unreadable))
    }

    fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        self.queue.settle_found_unless(stop);
        self.searchers.read(|connection| measures::measured(connection, query, stop))
    }

    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError> {
        drop(self.queue.settle(conversation));
        self.readers.read(|connection| {
            let Some(found) = load::find(connection, conversation)? else { return Ok(None) };
            blocks::attached(connection, found.key, hash).map_err(unreadable)
        })
    }

    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError> {
        drop(self.queue.settle(conversation));
        self.readers.read(|connection| {
            let found = load::find(connection, conversation)?.ok_or(LogError::Unknown)?;
            blocks::gap(connection, found.key, found.head).map_err(unreadable)
        })
    }

    fn stage(&self, import: ImportId, append: Append<'_>) -> Ticket {
        self.queue.piece(Op::Stage(import, Arc::new(QueuedEvents::of(append))))
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
        self.queue.make(Op::Adopt(Box::new(adoption)), head)
    }

    fn abandon(&self, import: ImportId) {
        self.queue.put(Op::Abandon(import));
    }

    fn remove(&self, conversation: &ConversationId) -> Ticket {
        self.queue.put(Op::Remove(conversation.clone()))
    }

    fn purge(&self, conversation: &ConversationId) -> Ticket {
        self.queue.put(Op::Purge(conversation.clone()))
    }

    fn remove_and_purge(&self, conversation: &ConversationId) -> (Ticket, Ticket) {
        self.queue.put_removal_and_purge(conversation)
    }

    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
        self.queue.settle_removals();
        self.readers.read(|connection| retain::choose(connection, rule, now, keep).map_err(unreadable))
    }

    fn missing(&self) -> Option<&LostCommits> {
        self.missing.as_ref()
    }

    fn close(&self) -> Result<(), Unwritten> {
        self.end(LogLifecycle::Closing);
        self.queue.left().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
