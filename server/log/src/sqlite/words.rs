//! The index of words. A document becomes a row with the event that completes it; its words are added to the index
//! afterwards, in steps, each a transaction of its own. So a commit takes no longer for the texts that end in it, and the
//! words of many texts go into the index together, which is cheaper than one text at a time.
//!
//! ```text
//! documents   1 … through            through + 1 … newest
//!             words in the index     words are added by the next steps
//! ```
//!
//! `word_index.through` is the newest document whose words are in the index. It changes in the transaction that adds
//! words, so after a crash the steps go on where they were. A search first waits until the words of everything that was
//! written before it are in the index.

use std::sync::Arc;
use std::time::Instant;

use rusqlite::{Connection, TransactionBehavior};

use super::pace::WriterPace;
use super::schema::{natural, size};
use super::writer::SqliteWriter;
use crate::queue::{DOCUMENT_BYTES, Queue, STEP_BYTES, UnindexedDocuments};

/// About how many instructions of the database add one document.
const OPS_OF_A_ROW: i32 = 8;

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexedWords {
    /// The words of every document up to this one are in the index.
    pub(super) through: i64,
    /// The bytes of the texts that were added, and [`DOCUMENT_BYTES`] for each.
    pub(super) bytes: usize,
}

/// Documents whose words an earlier life has not added; `None` if there are none.
pub(super) fn unindexed(connection: &Connection) -> rusqlite::Result<Option<UnindexedDocuments>> {
    let sums = "SELECT max(id), sum(octet_length(text) + ?1) FROM document WHERE id > (SELECT through FROM word_index)";
    connection.query_row(sums, [size(DOCUMENT_BYTES)], |row| {
        let newest: Option<i64> = row.get(0)?;
        let bytes =
            usize::try_from(natural(row.get::<_, Option<i64>>(1)?.unwrap_or(0))).unwrap_or(usize::MAX);
        Ok(newest.map(|newest| UnindexedDocuments { newest, bytes }))
    })
}

impl SqliteWriter {
    /// Adds words of some documents, and reports that.
    pub(super) fn index_words(&mut self) {
        let began = Instant::now();
        match self.step_words() {
            Ok(indexed) => self.queue.has_words(indexed.through, indexed.bytes, began.elapsed()),
            Err(error) => {
                if self.queue.failed_words() {
                    tracing::warn!(%error, "searches do not find the newest texts");
                }
            }
        }
    }

    /// Takes a step.
    fn step_words(&mut self) -> rusqlite::Result<IndexedWords> {
        #[cfg(any(test, feature = "testkit"))]
        super::writer::full(&self.queue)?;
        step(&mut self.connection, WriterPace::of(Arc::clone(&self.queue)))
    }
}

/// Adds the words of the oldest documents that are not in the index, about [`STEP_BYTES`] of text and at least one
/// document, in one transaction. Rests between two documents as `pace` says.
pub(super) fn step(
    connection: &mut Connection,
    mut pace: WriterPace<Arc<Queue>>,
) -> rusqlite::Result<IndexedWords> {
    let rests = move || {
        pace.step();
        false
    };
    connection.progress_handler(OPS_OF_A_ROW, Some(rests))?;
    let stepped = add_words(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    stepped
}

/// As [`step`], without rest.
fn add_words(connection: &mut Connection) -> rusqlite::Result<IndexedWords> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (through, next) = next_documents(&transaction)?;
    // Where nothing was left, the documents that waited are removed by now, all of them.
    let Some(next) = next else { return Ok(IndexedWords { through: i64::MAX, bytes: 0 }) };
    // One statement, since the index writes what it has collected at the end of each.
    let insert = "INSERT INTO word (rowid, text, place) SELECT id, text, place FROM document WHERE id > ?1 AND id <= ?2";
    transaction.prepare_cached(insert)?.execute((through, next.through))?;
    transaction.prepare_cached("UPDATE word_index SET through = ?1")?.execute([next.through])?;
    transaction.commit()?;
    Ok(next)
}

/// The newest document whose words are in the index, and what a step adds; `None` if nothing is left.
fn next_documents(connection: &Connection) -> rusqlite::Result<(i64, Option<IndexedWords>)> {
    let through = "SELECT through FROM word_index";
    let through = connection.prepare_cached(through)?.query_row([], |row| row.get(0))?;
    let select = "SELECT id, octet_length(text) + ?2 FROM document WHERE id > ?1 ORDER BY id";
    let mut select = connection.prepare_cached(select)?;
    let mut found = select.query((through, size(DOCUMENT_BYTES)))?;
    let mut next = None;
    let mut bytes = 0;
    while bytes < STEP_BYTES
        && let Some(row) = found.next()?
    {
        bytes += usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        next = Some(IndexedWords { through: row.get(0)?, bytes });
    }
    Ok((through, next))
}

/// Makes the index anew from the documents, with the words of all of them.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "BEGIN IMMEDIATE; INSERT INTO word (word) VALUES ('rebuild'); \
         UPDATE word_index SET through = (SELECT coalesce(max(id), 0) FROM document); COMMIT",
    )
}
