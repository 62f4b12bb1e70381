//! The sweep: rows of removed conversations are deleted in steps, each small compared with a commit. So
//! whoever waits for the log waits for one step at most, however large the conversation was. A removed
//! conversation is invisible from the moment of its removal.

use model::limits::LOG_SWEEP_BYTES;
use rusqlite::{Connection, OptionalExtension as _};

use super::documents;
use super::schema::size;

/// Most rows of one table that a step deletes.
const STEP_ROWS_MAX: usize = 1_000;

/// The tables in which a conversation may have many rows, and the expression for the size of a row.
const MANY: [(&str, &str); 2] = [("event", "length(body)"), ("attachment", "octet_length(json)")];

/// Marks the conversation `key` as removed. Its row must still exist. All further rows of it are found by its
/// key and go step by step.
pub(super) fn mark_removed(connection: &Connection, key: i64) -> rusqlite::Result<()> {
    let insert = "INSERT INTO gone (key, bytes) SELECT key, bytes FROM conversation WHERE key = ?1";
    connection.prepare_cached(insert)?.execute([key])?;
    connection.prepare_cached("DELETE FROM conversation WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// About how many bytes are still to be deleted.
pub(super) fn bytes(connection: &Connection) -> rusqlite::Result<i64> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM gone WHERE import IS NULL";
    connection.prepare_cached(sum)?.query_row([], |row| row.get(0))
}

/// Gives up imports of the previous life that did not finish. Called once when the log is opened.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE gone SET import = NULL WHERE import IS NOT NULL AND key >= 0", []).map(drop)
}

/// Whether there are rows to delete.
pub(super) fn is_due(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM gone WHERE import IS NULL LIMIT 1")?.exists([])
}

/// Deletes some rows in one transaction: about [`LOG_SWEEP_BYTES`], and at least one row. Returns whether
/// there are more.
pub(super) fn step(connection: &mut Connection) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let select = "SELECT key FROM gone WHERE import IS NULL ORDER BY key LIMIT 1";
    let key: Option<i64> = transaction.prepare_cached(select)?.query_row([], |row| row.get(0)).optional()?;
    let Some(key) = key else { return Ok(false) };
    let mut left = LOG_SWEEP_BYTES;
    let is_done = texts(&transaction, key, &mut left)? && rows(&transaction, key, &mut left)?;
    if is_done {
        for table in ["checkpoint", "mark"] {
            let delete = format!("DELETE FROM {table} WHERE conversation = ?1");
            transaction.prepare_cached(&delete)?.execute([key])?;
        }
        transaction.prepare_cached("DELETE FROM gone WHERE key = ?1")?.execute([key])?;
    } else {
        let update = "UPDATE gone SET bytes = max(0, bytes - ?2) WHERE key = ?1";
        let freed = LOG_SWEEP_BYTES.saturating_sub(left);
        transaction.prepare_cached(update)?.execute((key, size(freed)))?;
    }
    let more = is_due(&transaction)?;
    transaction.commit()?;
    Ok(more)
}

/// Deletes documents of `key` while bytes are `left`. Returns whether all are deleted.
fn texts(connection: &Connection, key: i64, left: &mut usize) -> rusqlite::Result<bool> {
    let select = "SELECT id, octet_length(text) FROM document WHERE conversation = ?1 LIMIT ?2";
    let ids = within(connection, select, key, left)?;
    for id in &ids.0 {
        documents::forget(connection, *id)?;
    }
    Ok(ids.1)
}

/// Deletes events and results of `key` while bytes are `left`. Returns whether all are deleted.
fn rows(connection: &Connection, key: i64, left: &mut usize) -> rusqlite::Result<bool> {
    for (table, bytes) in MANY {
        let select = format!("SELECT id, {bytes} FROM {table} WHERE conversation = ?1 LIMIT ?2");
        let (ids, is_all) = within(connection, &select, key, left)?;
        let mut delete = connection.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?;
        for id in ids {
            delete.execute([id])?;
        }
        if !is_all {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The ids of the rows that `select` finds, as many as the bytes in `left` allow and at least one, and
/// whether these are all.
fn within(
    connection: &Connection,
    select: &str,
    key: i64,
    left: &mut usize,
) -> rusqlite::Result<(Vec<i64>, bool)> {
    let mut select = connection.prepare_cached(select)?;
    let mut rows = select.query((key, size(STEP_ROWS_MAX)))?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        if *left == 0 {
            return Ok((ids, false));
        }
        *left = left.saturating_sub(bytes);
        ids.push(row.get(0)?);
    }
    let is_all = ids.len() < STEP_ROWS_MAX;
    Ok((ids, is_all))
}
