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
//! `readers` and `load`, `search`, then what happens at the start and in the end (`schema`, `replay`,
//! `watermark`, `retain`, `sweep`).

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use model::frame::{ConversationRow, Durability};
use model::limits::LOG_QUEUE_BYTES_MAX;
use model::{ConversationId, Epoch, Position, Seq};
use parking_lot::Mutex;
use rusqlite::OptionalExtension as _;
use tokio::sync::watch;

use super::{
    Append, Checkpoint, EndedCall, EventLog, EventPage, ImportId, ListQuery, LogError, LogFigures,
    LostCommits, MeasureQuery, Measured, Measurement, Progress, QueryCancel, Retention, SearchQuery,
    SearchResults, StoredConversation, Ticket, ToolFigures, Unwritten,
};
use crate::blocks::unreadable;
use crate::conversation_count::ConversationCount;
use crate::packer::{BlockSource, Packer};
use crate::queue::{LogLifecycle, Queue};
use crate::rank::{Rank, lower_priority};
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
mod writer;

use aside::AsideFile;
pub use closed::{ClosedLog, Rewrite};
use journal::Journal;
use ops::{Op, QueuedEvents, StagedImport};
use readers::{READERS_MAX, Readers, SEARCHERS_MAX};
pub use schema::SqliteError;
use watermark::WatermarkWriter;
use writer::SqliteWriter;

/// How a log on disk is opened.
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
    /// How many conversations there are.
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
    /// Opens the log in the file `path`. The file and its directory are made if they do not exist. Fails if
    /// another process uses it or if it is no log of a known version. Starts three threads. Waits for the
    /// disk: rows are made of what the journal has.
    pub fn open(path: &Path, options: &SqliteOptions) -> Result<Self, SqliteError> {
        let lock = private::lock(path)?;
        let mut connection = schema::open_writer(path)?;
        let broken = |source| SqliteError::Database { path: path.to_path_buf(), source };
        let aside = AsideFile::new(path);
        let left_out = replay::replay(&mut connection, path, &aside)?;
        schema::limit(&connection, options.max_bytes).map_err(broken)?;
        let SqliteLife { number: life, last_unsound, missing } =
            begin(&connection, path, left_out).map_err(broken)?;
        let conversation_count = Arc::new(ConversationCount::new(rows::count(&connection).map_err(broken)?));
        let (queue, packer) =
            (Arc::new(Queue::new(options.queue_bytes, options.max_bytes)), Arc::new(Packer::default()));
        for (conversation, key) in rows::loose(&connection).map_err(broken)? {
            packer.compact(conversation, key);
        }
        let marker = Arc::new(Mutex::new(WatermarkWriter::open(path, life, clock::now_ms())));
        let journal = open_journal(path, life, &marker);
        queue.state.lock().has_journal = journal.is_some();
        let writer = SqliteWriter {
            purging: purge::PendingPurge::left(&connection).map_err(broken)?,
            connection,
            queue: Arc::clone(&queue),
            packer: Arc::clone(&packer),
            conversation_count: Arc::clone(&conversation_count),
            life,
            known: known::ConversationCache::default(),
            failing_since: None,
            synced: false,
            marker,
            journal: journal.clone(),
            aside,
            refused: 0,
            halvings: 0,
        };
        queue.sweep_after(Duration::ZERO);
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let spawned = std::thread::Builder::new().name(String::from(name)).spawn(run);
            spawned.map(Some).map_err(|source| SqliteError::File { path: path.to_path_buf(), source })
        };
        let packing = {
            let (packer, queue, path) = (Arc::clone(&packer), Arc::clone(&queue), path.to_path_buf());
            move || {
                lower_priority(Rank::Packing);
                let mut source = open_source(&path);
                packer.run(source.as_mut().map(|it| it as &mut dyn BlockSource), &queue);
            }
        };
        let entries = Arc::clone(&queue);
        let threads = SqliteThreads {
            writer: spawn("log-writer", Box::new(move || writer.run()))?,
            journal: spawn("log-journal", Box::new(move || write_entries(&entries, journal.as_deref())))?,
            packer: spawn("log-packer", Box::new(packing))?,
            lock: Some(lock),
        };
        let readers = Readers::new(path.to_path_buf(), READERS_MAX);
        let searchers = Readers::new(path.to_path_buf(), SEARCHERS_MAX);
        Ok(Self {
            queue,
            packer,
            readers,
            searchers,
            conversation_count,
            threads: Mutex::new(threads),
            last_unsound,
            missing,
        })
    }

    /// Ends the threads, the writer last, because the others give work to it. Waits for them.
    fn end(&self, stage: LogLifecycle) {
        let mut threads = self.threads.lock();
        // The last connection to close tidies up the file, and only one that writes can do that.
        self.readers.close();
        self.searchers.close();
        self.queue.end(if stage == LogLifecycle::Closing { LogLifecycle::Draining } else { stage });
        self.packer.end();
        for (thread, last) in
            [(threads.journal.take(), false), (threads.packer.take(), false), (threads.writer.take(), true)]
        {
            if last {
                self.queue.end(stage);
            }
            if thread.is_some_and(|thread| thread.join().is_err()) {
                tracing::error!("a thread of the log broke off");
            }
        }
        threads.lock = None;
    }
}

#[cfg(any(test, feature = "testkit"))]
impl SqliteLog {
    /// Opens a log that writes only on command of the returned [`WriteControl`](crate::WriteControl).
    pub fn by_hand(path: &Path, options: &SqliteOptions) -> Result<(Self, crate::WriteControl), SqliteError> {
        let log = Self::open(path, options)?;
        let hand = crate::WriteControl::of(&log.queue);
        Ok((log, hand))
    }
}

/// A connection that reads blocks for the packer; `None` if it cannot be opened. Blocks then stay small.
fn open_source(path: &Path) -> Option<rusqlite::Connection> {
    let opened = schema::open_reader(path);
    opened.inspect_err(|error| tracing::warn!(%error, "the log cannot be compacted")).ok()
}

impl BlockSource for rusqlite::Connection {
    fn newest_first(&mut self, key: i64, limit: usize) -> Result<Vec<crate::blocks::Loose>, LogError> {
        blocks::newest_first(self, key, limit).map_err(unreadable)
    }

    fn one(&mut self, _key: i64, id: i64) -> Result<Vec<model::Envelope>, LogError> {
        blocks::one(self, id)
    }
}

/// Opens the journal of a new life; `None` if its files cannot be written. Everything is then stored as rows.
fn open_journal(path: &Path, life: i64, marker: &Arc<Mutex<WatermarkWriter>>) -> Option<Arc<Journal>> {
    let journal = Journal::open(path, life, Arc::clone(marker));
    let journal = journal.inspect_err(|error| {
        tracing::warn!(%error, path = %path.display(), "the log has no journal and will be slow");
    });
    journal.ok().map(Arc::new)
}

/// The body of the thread that writes the journal; ends with the log.
fn write_entries(queue: &Queue, journal: Option<&Journal>) {
    let Some(journal) = journal else { return queue.journal_failed() };
    while let Some(entry) = queue.next_entry() {
        match journal.write(&entry.appends, clock::now_ms()) {
            Ok(()) => queue.journaled(&entry),
            Err(error) => {
                tracing::warn!(%error, "the journal of the log cannot be written");
                queue.journal_failed();
            }
        }
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.end(LogLifecycle::Dropped);
    }
}

/// A life of the file, from its opening to its end.
struct SqliteLife {
    /// The number; each life has a higher one than all before it.
    number: i64,
    /// The last life before it that did not end well; 0 if all did.
    last_unsound: i64,
    /// What was acknowledged and is not there.
    missing: Option<LostCommits>,
}

/// Begins a life. `left_out` is the number of appends in the journal that do not continue what is in the
/// database.
fn begin(connection: &rusqlite::Connection, path: &Path, left_out: u64) -> rusqlite::Result<SqliteLife> {
    let newest = "SELECT number, commits, written_at FROM life ORDER BY number DESC LIMIT 1";
    let newest = connection.query_row(newest, [], |row| {
        Ok((row.get(0)?, schema::natural(row.get(1)?), schema::natural(row.get(2)?)))
    });
    let (newest, commits, at): (i64, u64, u64) = newest.optional()?.unwrap_or_default();
    let unsound = "SELECT coalesce(max(number), 0) FROM life WHERE ended_well = 0";
    let mut last_unsound = connection.query_row(unsound, [], |row| row.get(0))?;
    let watermark = watermark::read(path).unwrap_or_default();
    let left_out = (left_out > 0).then_some(LostCommits { commits: left_out, from: at, to: watermark.at });
    let missing = watermark.missing(newest, commits, at).or(left_out);
    if let Some(LostCommits { commits, from, to }) = &missing {
        tracing::error!(path = %path.display(), commits, from, to, "what the log had acked is missing");
        // Viewers have seen events that are missing: every conversation goes on in a new epoch.
        last_unsound = newest;
    }
    sweep::begin(connection)?;
    let insert = "INSERT INTO life (number, version, started_at) VALUES (?1, ?2, ?3)";
    // The row of this life must survive a loss of power. Otherwise nobody would know that it existed and that
    // its events are missing.
    connection.pragma_update(None, "synchronous", "full")?;
    // Never the number of a life that is missing. A damaged table may name the largest number; then that life
    // is present.
    let number = newest.max(watermark.life).saturating_add(1);
    connection.execute(insert, (number, env!("CARGO_PKG_VERSION"), schema::integer(clock::now_ms())))?;
    connection.pragma_update(None, "synchronous", "normal")?;
    Ok(SqliteLife { number, last_unsound, missing })
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
        let after = append.after.seq;
        let head = append.envelopes.last().map_or(after, |envelope| envelope.seq);
        self.queue.append(Op::Append(Arc::new(QueuedEvents::of(append))), after, head)
    }

    fn keep(&self, checkpoint: Checkpoint) -> Ticket {
        let head = checkpoint.view.seq;
        self.queue.keep(Op::Keep(Box::new(checkpoint)), head)
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

    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.queue.settle(conversation)?;
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
        self.readers.read(|connection| rows::page(connection, query).map_err(unreadable))
    }

    fn count(&self) -> u64 {
        self.conversation_count.count()
    }

    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError> {
        self.readers.read(|connection| rows::unfinished(connection).map_err(unreadable))
    }

    fn search(&self, query: &SearchQuery, stop: &QueryCancel) -> Result<SearchResults, LogError> {
        self.queue.settle_found();
        self.searchers.read(|connection| search::search(connection, query, stop))
    }

    fn tools(&self) -> Result<Vec<ToolFigures>, LogError> {
        self.queue.settle_found();
        self.searchers.read(|connection| tools::figures(connection).map_err(unreadable))
    }

    fn measured(&self, query: &MeasureQuery, stop: &QueryCancel) -> Result<Measured, LogError> {
        self.queue.settle_found();
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
        calls: Vec<EndedCall>,
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

    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError> {
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
