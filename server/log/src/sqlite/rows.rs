//! The list of conversations: rows in the table of conversations.

use model::frame::ConversationRow;
use model::{ConversationId, Epoch};
use rusqlite::{Connection, Row, ToSql};

use super::schema::{integer, natural, size};
use crate::ListQuery;
use crate::rows::{StoredRow, nameless, narrowed, tag_piece, word};

/// Stores a row of the list, unless a newer one is there.
pub(super) fn put(connection: &Connection, key: i64, row: &ConversationRow) -> rusqlite::Result<()> {
    let update = "UPDATE conversation SET row = ?2, state = ?3, row_head = ?4, pinned = ?5, archived = ?6, tags = ?7 \
                  WHERE key = ?1 AND row_head <= ?4";
    let StoredRow { head, json, state, pinned, archived, tags } = StoredRow::of(row);
    let values = (key, json, state, integer(head), pinned, archived, tags);
    connection.prepare_cached(update)?.execute(values)?;
    Ok(())
}

/// A page of the list, the newest activity first.
pub(super) fn page(connection: &Connection, query: &ListQuery) -> rusqlite::Result<Vec<ConversationRow>> {
    let after = query.after.as_ref();
    let limit = size(query.limit);
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (integer(*at), id.as_str()));
    let tag_at = if query.state.is_some() { 5 } else { 4 };
    let narrowed = narrowed(query, "state = ?4", &format!("instr(tags, ?{tag_at}) > 0"));
    let select = format!(
        "SELECT id, epoch, head, at, row FROM conversation \
         WHERE at <= ?1 AND (at < ?1 OR id > ?2){narrowed} ORDER BY at DESC, id LIMIT ?3"
    );
    let (state, tag) = (query.state.map(word), query.tag.as_deref().map(tag_piece));
    let mut values: Vec<&dyn ToSql> = vec![&at, &id, &limit];
    values.extend(state.as_ref().map(|state| state as &dyn ToSql));
    values.extend(tag.as_ref().map(|tag| tag as &dyn ToSql));
    let mut select = connection.prepare_cached(&select)?;
    select.query_map(&*values, row)?.collect()
}

/// Reads a row. Events may have come since it was stored, so position and time are those of the conversation.
/// A row that was never stored, or that cannot be read, has only name, epoch, head and time.
fn row(found: &Row<'_>) -> rusqlite::Result<ConversationRow> {
    let id = conversation(found, 0)?;
    let kept = found.get_ref(4)?.as_str_or_null()?.and_then(|json| serde_json::from_str(json).ok());
    let mut row: ConversationRow = kept.unwrap_or_else(|| nameless(&id));
    row.conversation = id;
    row.epoch = Epoch::new(found.get_ref(1)?.as_str()?);
    row.head = natural(found.get(2)?);
    row.at = natural(found.get(3)?);
    row.viewers = 0;
    Ok(row)
}

/// Reads the name of a conversation from the column with the index `at`.
pub(super) fn conversation(found: &Row<'_>, at: usize) -> rusqlite::Result<ConversationId> {
    let text = found.get_ref(at)?.as_str()?;
    ConversationId::parse(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// The conversations whose newest run goes on according to their rows, and those with events that are newer
/// than their rows. The hub looks at them when it starts.
pub(super) fn unfinished(connection: &Connection) -> rusqlite::Result<Vec<ConversationId>> {
    let select = "SELECT id FROM conversation WHERE state = 'running' OR row_head < head ORDER BY key";
    connection.prepare_cached(select)?.query_map([], |found| conversation(found, 0))?.collect()
}

/// Conversations, with their keys, that have many unpacked blocks from earlier lives. At most 10,000, the
/// newest first.
pub(super) fn loose(connection: &Connection) -> rusqlite::Result<Vec<(ConversationId, i64)>> {
    let select = "SELECT id, key FROM conversation WHERE loose > 8 ORDER BY at DESC LIMIT 10000";
    connection.prepare(select)?.query_map([], |found| Ok((conversation(found, 0)?, found.get(1)?)))?.collect()
}

/// The number of conversations in the database.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM conversation", [], |row| row.get(0)).map(natural)
}
