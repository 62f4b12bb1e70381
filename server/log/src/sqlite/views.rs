//! The newest state of each conversation that was kept: from there it is read back quickly.

use flate2::Compression;
use model::{Seq, View, snapshot};
use rusqlite::{Connection, OptionalExtension as _};

use super::blocks::{deflate, inflate, unreadable};
use super::schema::integer;
use crate::LogError;

/// `view` as it is kept.
pub(super) fn pack(view: &View) -> Vec<u8> {
    deflate(&snapshot::encode(view), Compression::fast())
}

/// Keeps a packed state, unless a newer one is there. Returns the bytes that this takes more.
pub(super) fn put(connection: &Connection, key: i64, seq: Seq, body: &[u8]) -> rusqlite::Result<i64> {
    let select = "SELECT seq, length(body) FROM checkpoint WHERE conversation = ?1";
    let mut select = connection.prepare_cached(select)?;
    let before: Option<(i64, i64)> =
        select.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if before.is_some_and(|(kept, _)| kept > integer(seq)) {
        return Ok(0);
    }
    let put = "INSERT OR REPLACE INTO checkpoint (conversation, seq, body) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(put)?.execute((key, integer(seq), body))?;
    Ok(integer(body.len() as u64) - before.map_or(0, |(_, bytes)| bytes))
}

/// The newest state that was kept; the empty one where there is none.
pub(super) fn read(connection: &Connection, key: i64) -> Result<View, LogError> {
    let select = "SELECT body FROM checkpoint WHERE conversation = ?1";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let body: Option<Vec<u8>> = select.query_row([key], |row| row.get(0)).optional().map_err(unreadable)?;
    match body {
        Some(body) => snapshot::decode(&inflate(&body).map_err(unreadable)?).map_err(unreadable),
        None => Ok(View::default()),
    }
}
