//! The newest state of each conversation that was kept: from there it is read back quickly. One row for each
//! conversation in `checkpoint`; a load folds only the events after it.

use model::{Seq, View};
use rusqlite::{Connection, OptionalExtension as _};

use super::schema::integer;
use crate::LogError;
use crate::blocks::unreadable;
pub(super) use crate::views::pack;
use crate::views::unpack;

/// Stores a packed state, unless a newer one is there. Returns by how many bytes the table grows. `body` is
/// what [`pack`] returns.
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

/// The newest stored state; the empty one if none was stored. Fails with [`LogError::Unreadable`] for one
/// that is damaged.
pub(super) fn read(connection: &Connection, key: i64) -> Result<View, LogError> {
    let select = "SELECT body FROM checkpoint WHERE conversation = ?1";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let view = select.query_row([key], |row| Ok(unpack(row.get_ref(0)?.as_blob()?)));
    view.optional().map_err(unreadable)?.unwrap_or_else(|| Ok(View::default()))
}
