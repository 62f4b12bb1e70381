//! Opening a log: the lock of the file, the journal of the life before, the row of the new life, and the threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::OptionalExtension as _;

use super::aside::AsideFile;
use super::journal::Journal;
use super::readers::{READERS_MAX, Readers, SEARCHERS_MAX};
use super::watermark::WatermarkWriter;
use super::writer::SqliteWriter;
use super::{
    SqliteError, SqliteLog, SqliteOptions, SqliteThreads, blocks, known, private, purge, replay, rows,
    schema, sweep, watermark, words,
};
use crate::blocks::unreadable;
use crate::conversation_count::ConversationCount;
use crate::packer::{BlockSource, Packer};
use crate::priority::{ThreadPriority, lower_priority};
use crate::queue::Queue;
use crate::{LogError, LostCommits, clock};

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
        if let Some(documents) = words::unindexed(&writer.connection).map_err(broken)? {
            queue.has_documents_of_an_earlier_life(documents);
        }
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let spawned = std::thread::Builder::new().name(String::from(name)).spawn(run);
            spawned.map(Some).map_err(|source| SqliteError::File { path: path.to_path_buf(), source })
        };
        let packing = {
            let (packer, queue, path) = (Arc::clone(&packer), Arc::clone(&queue), path.to_path_buf());
            move || {
                lower_priority(ThreadPriority::Packing);
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

/// A connection that reads blocks for the packer; `None` if it cannot be opened. Blocks then stay small.
fn open_source(path: &Path) -> Option<rusqlite::Connection> {
    let opened = schema::open_reader(path);
    opened.inspect_err(|error| tracing::warn!(%error, "the log cannot be compacted")).ok()
}

impl BlockSource for rusqlite::Connection {
    fn newest_first(&mut self, key: i64, limit: usize) -> Result<Vec<crate::blocks::Loose>, LogError> {
        blocks::newest_first(self, key, limit).map_err(unreadable)
    }

    fn bodies(&mut self, _key: i64, rows: &[crate::blocks::Loose]) -> Result<Vec<Vec<u8>>, LogError> {
        // In one transaction, so that what was written meanwhile does not empty the cache for each row.
        let transaction = self.transaction().map_err(unreadable)?;
        let bodies =
            rows.iter().rev().map(|row| blocks::body(&transaction, row.id)).collect::<Result<_, _>>()?;
        transaction.commit().map_err(unreadable)?;
        Ok(bodies)
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
    let Some(journal) = journal else { return queue.go_without_journal() };
    while let Some(entry) = queue.next_entry() {
        match journal.write(&entry.ops, clock::now_ms()) {
            Ok(()) => queue.journaled(&entry),
            Err(error) => {
                tracing::warn!(%error, "the journal of the log cannot be written");
                queue.go_without_journal();
            }
        }
    }
}
