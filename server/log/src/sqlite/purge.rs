//! A purge: the files are written anew without what removed conversations have left in them. It begins when the sweep has deleted all
//! their rows.
//!
//! ```text
//! words, merge   the index of words becomes one segment, which has no words of deleted texts; in small steps
//! rewrite        the file is written anew: free pages, and free parts of pages, are gone
//! files          the write-ahead log is moved into the file and cut, the journal is emptied
//! ```
//!
//! Writing the file anew takes as long as copying it twice, and nothing becomes rows meanwhile: events are stored in the journal. SQLite
//! offers nothing less: `secure_delete` zeroes rows that are deleted, but not copies of them that stay behind when a page is divided; in a
//! trial two were still there. A row of the table `gone` with a key that no conversation has says that a purge is not done: the next life
//! begins it again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::schema::BUSY;
use super::sweep;
use super::writer::SqliteWriter;
use crate::Ticket;
use crate::ops::{Op, Queued};

/// The key of the row that says that a purge is not done.
const MARKER: i64 = -1;

/// Pages of the index of words that a step merges: about 1 MiB.
const STEP_PAGES: i64 = 256;

/// How long a step waits for readers before it is tried again.
const READERS_BUSY: Duration = Duration::from_millis(50);

/// The pause before it is looked again whether the write-ahead log and the journal can be emptied.
const AGAIN: Duration = Duration::from_millis(200);

/// The pause after a step that failed, for example because the disk has no room for a second copy of the file.
const AFTER_FAILURE: Duration = Duration::from_mins(1);

/// The purge that is being done. Owned by the writer.
#[derive(Debug, Default)]
pub(super) struct PendingPurge {
    /// The newest ticket of those that ask for it; `None` while nothing is to be purged.
    until: Option<u64>,
    stage: PurgeStep,
}

/// The step that is done next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum PurgeStep {
    /// Begin to merge the index of words.
    #[default]
    Words,
    /// Go on merging the index of words.
    Merge,
    /// Write the file anew.
    Rewrite,
    /// Empty the files beside the database.
    Files,
}

/// The outcome of a step.
enum PurgeStepResult {
    /// Another step is due.
    Step(PurgeStep),
    /// The same step is due again, a little later: somebody reads.
    Again,
    /// Nothing is left to do.
    Done,
}

impl PendingPurge {
    /// What an earlier life has left to do.
    pub(super) fn left(connection: &Connection) -> rusqlite::Result<Self> {
        let is_left = connection.prepare("SELECT 1 FROM gone WHERE key = ?1")?.exists([MARKER])?;
        Ok(Self { until: is_left.then_some(0), stage: PurgeStep::Words })
    }
}

/// Notes in the transaction that a purge is to be done.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    let insert = "INSERT OR IGNORE INTO gone (key, import) VALUES (?1, ?1)";
    connection.prepare_cached(insert)?.execute([MARKER]).map(drop)
}

impl SqliteWriter {
    /// Begins the purge that a group asks for which is written. One that goes on begins again.
    pub(super) fn ask_to_purge(&mut self, group: &[Queued]) {
        for queued in group {
            if let Op::Purge(conversation) = &queued.op {
                let until = self.purging.until.unwrap_or(0).max(queued.ticket);
                self.purging = PendingPurge { until: Some(until), stage: PurgeStep::Words };
                self.aside.forget_purged(conversation);
            }
        }
    }

    /// Does a step of the purge, if one is due and the sweep has nothing to do, and plans the next one.
    pub(super) fn purge(&mut self) {
        let Some(until) = self.purging.until else { return };
        let began = Instant::now();
        let step = match sweep::is_due(&self.connection) {
            // The sweep plans its next step itself.
            Ok(true) => return,
            Ok(false) => self.purge_step(until),
            Err(error) => Err(error),
        };
        match step {
            Ok(PurgeStepResult::Step(next)) => {
                self.purging.stage = next;
                self.queue.sweep_after(began.elapsed());
            }
            Ok(PurgeStepResult::Again) => self.queue.sweep_after(AGAIN),
            Ok(PurgeStepResult::Done) => {
                self.purging = PendingPurge::default();
                self.queue.progress.send_modify(|it| {
                    (it.purged, it.purge_fault) = (it.purged.max(Ticket(until)), None);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "what removed conversations have left is still in the files");
                let fault = Arc::from(error.to_string());
                self.queue.progress.send_modify(|it| it.purge_fault = Some(fault));
                self.queue.sweep_after(AFTER_FAILURE);
            }
        }
    }

    /// Does a step of the purge of everything that was removed up to `until`.
    fn purge_step(&self, until: u64) -> rusqlite::Result<PurgeStepResult> {
        let connection = &self.connection;
        Ok(PurgeStepResult::Step(match self.purging.stage {
            PurgeStep::Words => {
                // The minus puts all segments on one level, so that all are merged.
                merge(connection, -STEP_PAGES)?;
                PurgeStep::Merge
            }
            PurgeStep::Merge if merge(connection, STEP_PAGES)? => PurgeStep::Merge,
            PurgeStep::Merge => PurgeStep::Rewrite,
            PurgeStep::Rewrite => {
                rewrite(connection)?;
                PurgeStep::Files
            }
            PurgeStep::Files => {
                let is_held = self.journal.as_ref().is_some_and(|journal| journal.holds(until));
                if is_held || !truncate_write_ahead_log(connection)? {
                    return Ok(PurgeStepResult::Again);
                }
                connection.execute("DELETE FROM gone WHERE key = ?1", [MARKER])?;
                return Ok(PurgeStepResult::Done);
            }
        }))
    }
}

/// Merges about that many pages of the index of words. Whether there was anything to merge.
fn merge(connection: &Connection, pages: i64) -> rusqlite::Result<bool> {
    let changes = || connection.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
    let before = changes()?;
    connection.execute("INSERT INTO word (word, rank) VALUES ('merge', ?1)", [pages])?;
    // The command itself counts as one, as SQLite documents it.
    Ok(changes()? - before >= 2)
}

/// Writes the file anew, without free pages. Takes up to twice its size of disk, besides.
pub(super) fn rewrite(connection: &Connection) -> rusqlite::Result<()> {
    // The copy is a file without a name: in memory it would take as much as the log is large.
    connection.pragma_update(None, "temp_store", "file")?;
    let written = connection.execute_batch("VACUUM");
    connection.pragma_update(None, "temp_store", "memory")?;
    written
}

/// Moves the write-ahead log into the file and cuts it. False if somebody reads an older state; then nothing is cut.
fn truncate_write_ahead_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(READERS_BUSY)?;
    let is_busy =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? != 0));
    connection.busy_timeout(BUSY)?;
    is_busy.map(|is_busy| !is_busy)
}

#[cfg(test)]
mod tests;
