//! The table of marks: how far the publishers of a conversation have come, for exactly-once (invariant I10).
//! A publisher that comes again after a restart of the hub is told how far it had come, and events that it
//! repeats are not taken twice. The table keeps [`PUBLISHERS_PER_CONVERSATION_MAX`] publishers of each
//! conversation.

use model::PublisherId;
use model::limits::PUBLISHERS_PER_CONVERSATION_MAX;
use rusqlite::Connection;

use super::schema::size;
use crate::PublisherMark;

/// The rank of the operation `ticket` among those of all lives: later ones are higher. It orders publishers
/// by when they were last heard of.
pub(super) fn turn(life: i64, ticket: u64) -> i64 {
    // 43 bits for the operations of one life, which leaves 2^20 lives.
    (life << 43).saturating_add_unsigned(ticket)
}

/// Stores a mark in the place of an older one of the same publisher.
pub(super) fn put(
    connection: &Connection,
    key: i64,
    mark: &PublisherMark,
    turn: i64,
) -> rusqlite::Result<()> {
    let put =
        "INSERT OR REPLACE INTO mark (conversation, publisher, epoch, seq, turn) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut put = connection.prepare_cached(put)?;
    // Both numbers come from the publisher and may be as large as 64 bits allow.
    put.execute((key, mark.publisher.as_str(), mark.epoch.cast_signed(), mark.seq.cast_signed(), turn))?;
    Ok(())
}

/// The marks of a conversation, the publisher that was silent longest first.
pub(super) fn read(connection: &Connection, key: i64) -> rusqlite::Result<Vec<PublisherMark>> {
    let select = "SELECT publisher, epoch, seq FROM mark WHERE conversation = ?1 ORDER BY turn DESC LIMIT ?2";
    let mut select = connection.prepare_cached(select)?;
    let rows = select.query_map((key, size(PUBLISHERS_PER_CONVERSATION_MAX)), |row| {
        Ok(PublisherMark {
            publisher: PublisherId::new(row.get_ref(0)?.as_str()?),
            epoch: row.get::<_, i64>(1)?.cast_unsigned(),
            seq: row.get::<_, i64>(2)?.cast_unsigned(),
        })
    })?;
    let mut marks = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    marks.reverse();
    Ok(marks)
}

/// Removes all marks of a conversation.
pub(super) fn clear(connection: &Connection, key: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM mark WHERE conversation = ?1")?.execute([key])?;
    Ok(())
}

/// Removes the marks beyond the limit, of the publishers that were silent longest.
pub(super) fn trim(connection: &Connection, key: i64) -> rusqlite::Result<()> {
    let delete = "DELETE FROM mark WHERE conversation = ?1 AND publisher IN \
                  (SELECT publisher FROM mark WHERE conversation = ?1 ORDER BY turn DESC LIMIT -1 OFFSET ?2)";
    connection.prepare_cached(delete)?.execute((key, size(PUBLISHERS_PER_CONVERSATION_MAX)))?;
    Ok(())
}
