//! The table of events: blocks of packed events, and the large results beside them. A block is a row;
//! `crate::blocks` says how its body is made. All functions run in the caller's transaction.
//!
//! ```text
//! event       id, conversation, first, last, encoding, raw, body   one row for each block
//! attachment  conversation, hash, json                             one row for each large result
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use model::{Envelope, Seq};
use rusqlite::{Connection, OptionalExtension as _};

use super::ops::{Block, CompactedBlocks, Encoding};
use super::schema::{integer, natural, size};
pub(super) use crate::blocks::unreadable;
use crate::blocks::{Loose, cut, events, plain};
use crate::pack::pack;
use crate::{Attachment, LogError};

/// Writes `envelopes` as uncompressed blocks. Returns the number of blocks and their bytes. The packer
/// compresses them later.
pub(super) fn insert(
    connection: &Connection,
    key: i64,
    envelopes: &[Arc<Envelope>],
) -> rusqlite::Result<(usize, i64)> {
    let (mut written, mut bytes) = (0, 0);
    for run in cut(envelopes) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let body = pack(run);
        let block =
            Block { first: first.seq, last: last.seq, encoding: Encoding::Plain, raw: body.len(), body };
        bytes += put(connection, key, &block)?;
        written += 1;
    }
    Ok((written, bytes))
}

/// Writes one block; returns its bytes.
pub(super) fn put(connection: &Connection, key: i64, block: &Block) -> rusqlite::Result<i64> {
    let insert =
        "INSERT INTO event (conversation, first, last, encoding, raw, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = connection.prepare_cached(insert)?;
    let raw = integer(block.raw as u64);
    let encoding = block.encoding.number();
    insert.execute((key, integer(block.first), integer(block.last), encoding, raw, &block.body))?;
    Ok(integer(block.body.len() as u64))
}

/// Replaces blocks by larger ones, unless one of them is gone. Returns by how many bytes the table grows;
/// negative if it shrinks. A block can be gone because its conversation was removed, or because it was
/// replaced before.
pub(super) fn replace(connection: &Connection, compacted: &CompactedBlocks) -> rusqlite::Result<i64> {
    let mut there = connection.prepare_cached("SELECT 1 FROM event WHERE id = ?1 AND conversation = ?2")?;
    for id in &compacted.instead_of {
        if !there.exists((id, compacted.key))? {
            return Ok(0);
        }
    }
    let mut delete = connection.prepare_cached("DELETE FROM event WHERE id = ?1")?;
    for id in &compacted.instead_of {
        delete.execute([id])?;
    }
    let bytes = put(connection, compacted.key, &compacted.block)?;
    Ok(bytes - integer(compacted.bytes_before))
}

/// Stores a large result once. Returns its bytes; 0 if it was there.
pub(super) fn attach(connection: &Connection, key: i64, attachment: &Attachment) -> rusqlite::Result<i64> {
    let insert = "INSERT OR IGNORE INTO attachment (conversation, hash, json) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(insert)?;
    let new = insert.execute((key, attachment.hash.as_str(), &*attachment.json))?;
    Ok(if new == 0 { 0 } else { integer(attachment.json.len() as u64) })
}

/// Reads a large result by its hash.
pub(super) fn attached(connection: &Connection, key: i64, hash: &str) -> rusqlite::Result<Option<Arc<str>>> {
    let select = "SELECT json FROM attachment WHERE conversation = ?1 AND hash = ?2";
    let mut select = connection.prepare_cached(select)?;
    select.query_row((key, hash), |row| Ok(Arc::from(row.get_ref(0)?.as_str()?))).optional()
}

/// Passes the events after `after` to `take`, in order, until it breaks. A hole between two blocks is for
/// `take` to notice. Fails with [`LogError::Unreadable`] for a block that is damaged.
pub(super) fn read(
    connection: &Connection,
    key: i64,
    after: Seq,
    take: &mut dyn FnMut(Envelope) -> std::ops::ControlFlow<()>,
) -> Result<(), LogError> {
    let select = "SELECT encoding, body FROM event WHERE conversation = ?1 AND last > ?2 AND first >= \
                  coalesce((SELECT max(first) FROM event WHERE conversation = ?1 AND first <= ?2 + 1), 0) \
                  ORDER BY first";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let mut rows = select.query((key, integer(after))).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let encoding = row.get(0).map_err(unreadable)?;
        let body = row.get_ref(1).and_then(|body| Ok(body.as_blob()?)).map_err(unreadable)?;
        for envelope in events(encoding, body)?.into_iter().filter(|envelope| envelope.seq > after) {
            if take(envelope).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The newest range of seqs, up to `head`, that no block has although an earlier block exists; `None` if
/// there is none.
pub(super) fn gap(connection: &Connection, key: i64, head: Seq) -> rusqlite::Result<Option<(Seq, Seq)>> {
    let select = "SELECT first, last FROM event WHERE conversation = ?1 ORDER BY first DESC";
    let mut select = connection.prepare_cached(select)?;
    let mut rows = select.query([key])?;
    let mut begin = head.saturating_add(1);
    while let Some(row) = rows.next()? {
        let (first, last) = (natural(row.get(0)?), natural(row.get(1)?));
        if last.saturating_add(1) < begin {
            return Ok(Some((last + 1, begin - 1)));
        }
        begin = first;
    }
    Ok(None)
}

/// The newest blocks of a conversation, at most `limit`, the newest first.
pub(super) fn newest_first(connection: &Connection, key: i64, limit: usize) -> rusqlite::Result<Vec<Loose>> {
    let select = "SELECT id, raw, length(body), first, last FROM event WHERE conversation = ?1 ORDER BY first DESC LIMIT ?2";
    let mut select = connection.prepare_cached(select)?;
    let rows = select.query_map((key, size(limit)), |row| {
        Ok(Loose {
            id: row.get(0)?,
            raw: natural(row.get(1)?),
            bytes: natural(row.get(2)?),
            first: natural(row.get(3)?),
            last: natural(row.get(4)?),
        })
    })?;
    rows.collect()
}

/// The body of one block before compression. Fails if there is none of that id.
pub(super) fn body(connection: &Connection, id: i64) -> Result<Vec<u8>, LogError> {
    let mut select =
        connection.prepare_cached("SELECT encoding, body FROM event WHERE id = ?1").map_err(unreadable)?;
    let found = select.query_row([id], |row| {
        let encoding = row.get(0)?;
        let body = row.get_ref(1)?.as_blob()?;
        Ok(plain(encoding, body).map(Cow::into_owned))
    });
    found.map_err(unreadable)?
}
