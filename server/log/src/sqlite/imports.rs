//! Imports of histories: their rows are written piece by piece under a key that no conversation has, and the
//! last transaction makes the conversation. So an import is complete or absent, and no piece of it makes
//! others wait.
//!
//! ```text
//! stage, stage, … ──▶ rows under a new key, named by `gone` with the number of the import
//! adopt           ──▶ the row of `gone` goes, a row of `conversation` with that key comes, in one transaction
//! abandon, or a new start of the log ──▶ `gone` forgets the number, and the sweep deletes the rows
//! ```

use rusqlite::{Connection, OptionalExtension as _};

use super::blocks;
use super::commit::CommitEffects;
use super::documents;
use super::ops::{QueuedEvents, StagedImport};
use super::schema::{integer, natural};
use super::views;
use crate::ImportId;

/// Writes a piece. False if it does not continue what is staged, because an earlier piece is missing.
pub(super) fn stage(
    connection: &Connection,
    import: ImportId,
    events: &QueuedEvents,
    effects: &mut CommitEffects,
) -> rusqlite::Result<bool> {
    let (key, head) = match find(connection, import)? {
        Some((key, head, _bytes)) => (key, head),
        None => (make(connection, import, events.after.seq)?, events.after.seq),
    };
    if head != events.after.seq {
        return Ok(false);
    }
    let (_blocks, mut bytes) = blocks::insert(connection, key, &events.envelopes)?;
    for attachment in &events.attachments {
        bytes += blocks::attach(connection, key, attachment)?;
    }
    for document in &events.documents {
        if let Some(stored) = documents::put(connection, key, document)? {
            effects.wrote(stored);
            bytes += stored.growth();
        }
    }
    let head = events.envelopes.last().map_or(head, |envelope| envelope.seq);
    let update = "UPDATE gone SET head = ?2, bytes = bytes + ?3 WHERE key = ?1";
    connection.prepare_cached(update)?.execute((key, integer(head), bytes))?;
    Ok(true)
}

/// Makes the conversation. Returns its key; `None` if not everything was staged. The caller has made sure
/// that no conversation has the name.
pub(super) fn adopt(
    connection: &Connection,
    adoption: &StagedImport,
    life: i64,
) -> rusqlite::Result<Option<i64>> {
    let Some((key, head, bytes)) = find(connection, adoption.import)? else { return Ok(None) };
    if head != adoption.head {
        return Ok(None);
    }
    connection.prepare_cached("DELETE FROM gone WHERE key = ?1")?.execute([key])?;
    let bytes = bytes + views::put(connection, key, head, &adoption.body)?;
    let insert = "INSERT INTO conversation (key, id, epoch, head, at, life, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (id, epoch) = (adoption.row.conversation.as_str(), adoption.epoch.as_str());
    let (head, at) = (integer(head), integer(adoption.at));
    connection.prepare_cached(insert)?.execute((key, id, epoch, head, at, life, bytes))?;
    Ok(Some(key))
}

/// Leaves what was staged to be deleted. Does nothing if nothing was staged.
pub(super) fn abandon(connection: &Connection, import: ImportId) -> rusqlite::Result<()> {
    let update = "UPDATE gone SET import = NULL WHERE import = ?1";
    connection.prepare_cached(update)?.execute([integer(import.0)]).map(drop)
}

/// The key of an import, its newest seq and its bytes; `None` if nothing was staged.
fn find(connection: &Connection, import: ImportId) -> rusqlite::Result<Option<(i64, u64, i64)>> {
    let select = "SELECT key, head, bytes FROM gone WHERE import = ?1";
    let mut select = connection.prepare_cached(select)?;
    let found =
        select.query_row([integer(import.0)], |row| Ok((row.get(0)?, natural(row.get(1)?), row.get(2)?)));
    found.optional()
}

/// Takes a key that no conversation has, had or will have, except the one that this import becomes.
fn make(connection: &Connection, import: ImportId, head: u64) -> rusqlite::Result<i64> {
    let next = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'conversation' RETURNING seq";
    let next: Option<i64> = connection.prepare_cached(next)?.query_row([], |row| row.get(0)).optional()?;
    let key = if let Some(key) = next {
        key
    } else {
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('conversation', 1)", [])?;
        1
    };
    let insert = "INSERT INTO gone (key, import, head) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(insert)?.execute((key, integer(import.0), integer(head)))?;
    Ok(key)
}
