//! The log on disk of a hub that is stopped. What is gone is gone from the file: freed pages are overwritten, the index is made anew, and
//! the file is written anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use model::{ConversationId, Envelope, Seq, View};
use rusqlite::Connection;

use super::blocks::{self, unreadable};
use super::private::{FileLock, lock};
use super::schema::integer;
use super::{SqliteLog, SqliteOptions, load, purge, schema, sweep, views, words};
use crate::blocks::{compress, inflate};
use crate::closed::{ClosedLog, Rewrite};
use crate::{EventLog as _, LogError, SqliteError, StoredShare};

/// A log that no hub has open. It holds the lock of the file, so no hub can open it before this is dropped.
/// Dropping it without [`ClosedLog::purge`] may leave what was changed or removed in free parts of the index.
#[derive(Debug)]
pub struct ClosedSqliteLog {
    /// The connection that writes, with `secure_delete` on.
    connection: Connection,
    /// Held as long as the file is in use.
    _lock: FileLock,
}

impl ClosedSqliteLog {
    /// Opens the log in the file `path`. What its journal holds becomes rows before. Fails with [`SqliteError`]
    /// if the file does not exist or a hub has it open. Waits for the disk.
    pub fn open(path: &Path) -> Result<Self, SqliteError> {
        if !path.exists() {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(SqliteError::File { path: path.to_path_buf(), source });
        }
        // A life in which nothing is said.
        let log = SqliteLog::open(path, &SqliteOptions::default())?;
        if let Err(error) = log.close() {
            let source = std::io::Error::other(error.to_string());
            return Err(SqliteError::File { path: path.to_path_buf(), source });
        }
        drop(log);
        let held = lock(path)?;
        let connection = schema::open_writer(path)?;
        let broken = |source| SqliteError::Database { path: path.to_path_buf(), source };
        connection.pragma_update(None, "secure_delete", "on").map_err(broken)?;
        Ok(Self { connection, _lock: held })
    }

    fn key(&self, conversation: &ConversationId) -> Result<i64, LogError> {
        Ok(load::find(&self.connection, conversation)?.ok_or(LogError::Unknown)?.key)
    }

    fn events_of(&self, key: i64) -> Result<Vec<Envelope>, LogError> {
        let mut events = Vec::new();
        blocks::read(&self.connection, key, 0, &mut |envelope| {
            events.push(envelope);
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(events)
    }
}

impl ClosedLog for ClosedSqliteLog {
    fn conversations(&self) -> Result<Vec<ConversationId>, LogError> {
        let mut select =
            self.connection.prepare("SELECT id FROM conversation ORDER BY id").map_err(unreadable)?;
        let names = select.query_map([], |row| row.get::<_, String>(0)).map_err(unreadable)?;
        let names = names.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        names.iter().map(|name| ConversationId::parse(name).map_err(unreadable)).collect()
    }

    fn events(&self, conversation: &ConversationId) -> Result<Vec<Envelope>, LogError> {
        self.events_of(self.key(conversation)?)
    }

    fn view(&self, conversation: &ConversationId) -> Result<View, LogError> {
        views::read(&self.connection, self.key(conversation)?)
    }

    fn attachments(&self, conversation: &ConversationId) -> Result<Vec<(String, String)>, LogError> {
        let select = "SELECT hash, json FROM attachment WHERE conversation = ?1 ORDER BY id";
        let mut select = self.connection.prepare_cached(select).map_err(unreadable)?;
        let rows = select.query_map([self.key(conversation)?], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)
    }

    fn epoch(&self, conversation: &ConversationId) -> Result<model::Epoch, LogError> {
        Ok(load::find(&self.connection, conversation)?.ok_or(LogError::Unknown)?.epoch)
    }

    fn rewrite(&mut self, conversation: &ConversationId, with: &mut dyn Rewrite) -> Result<bool, LogError> {
        let key = self.key(conversation)?;
        let before = self.events_of(key)?;
        let mut events = before.clone();
        with.events(&mut events);
        let transaction = self.connection.transaction().map_err(unreadable)?;
        let mut changed = events != before;
        if changed {
            put_events(&transaction, key, events).map_err(unreadable)?;
        }
        changed |= rewrite_view(&transaction, key, with)?;
        let mut json = |json: &str| with.json(json);
        changed |= rewrite_texts(&transaction, &JSON_TEXTS, key, &mut json).map_err(unreadable)?;
        let mut text = |text: &str| with.text(text);
        changed |= rewrite_texts(&transaction, &TEXTS, key, &mut text).map_err(unreadable)?;
        transaction.commit().map_err(unreadable)?;
        Ok(changed)
    }

    fn remove(&mut self, conversation: &ConversationId) -> Result<(), LogError> {
        let key = self.key(conversation)?;
        sweep::mark_removed(&self.connection, key).map_err(unreadable)?;
        while sweep::step(&mut self.connection).map_err(unreadable)? {}
        Ok(())
    }

    fn purge(&mut self) -> Result<BTreeSet<String>, LogError> {
        words::rebuild(&self.connection).map_err(unreadable)?;
        purge::rewrite(&self.connection).map_err(unreadable)?;
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.query_row(checkpoint, [], |_row| Ok(())).map_err(unreadable)?;
        Ok(BTreeSet::new())
    }

    fn unpacked(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), LogError> {
        for sql in ["SELECT encoding, body FROM event", "SELECT 1, body FROM checkpoint"] {
            let mut select = self.connection.prepare(sql).map_err(unreadable)?;
            let mut rows = select.query([]).map_err(unreadable)?;
            while let Some(row) = rows.next().map_err(unreadable)? {
                let encoding: i64 = row.get(0).map_err(unreadable)?;
                let body = row.get_ref(1).and_then(|body| Ok(body.as_blob()?)).map_err(unreadable)?;
                if encoding == 0 {
                    look(body);
                } else {
                    look(&inflate(body).map_err(unreadable)?);
                }
            }
        }
        Ok(())
    }

    fn places(&self, _texts: &[String]) -> Result<BTreeSet<String>, LogError> {
        // All that is not packed stands in its files as it is.
        Ok(BTreeSet::new())
    }

    fn shares(&self) -> Result<Vec<StoredShare>, LogError> {
        Ok(Vec::new())
    }
}

/// Puts `events` in the place of all that a conversation has.
fn put_events(connection: &Connection, key: i64, events: Vec<Envelope>) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM event WHERE conversation = ?1", [key])?;
    let events: Vec<Arc<Envelope>> = events.into_iter().map(Arc::new).collect();
    for block in compress(&events) {
        blocks::put(connection, key, &block)?;
    }
    Ok(())
}

/// Rewrites the stored state. Whether it changed.
fn rewrite_view(connection: &Connection, key: i64, with: &mut dyn Rewrite) -> Result<bool, LogError> {
    let before = views::read(connection, key)?;
    let mut view = before.clone();
    with.view(&mut view);
    if view == before {
        return Ok(false);
    }
    let seq: Seq = view.seq;
    let update = "UPDATE checkpoint SET body = ?2 WHERE conversation = ?1 AND seq = ?3";
    let changed = connection.execute(update, (key, views::pack(&view), integer(seq))).map_err(unreadable)?;
    Ok(changed > 0)
}

/// Columns with texts: the table, what names a row, the column, and what names its conversation.
const TEXTS: [(&str, &str, &str, &str); 4] = [
    ("document", "id", "text", "conversation"),
    ("document", "id", "name", "conversation"),
    ("document", "id", "item", "conversation"),
    ("conversation", "key", "tags", "key"),
];

/// Columns with texts of JSON: the table, what names a row, the column, and what names its conversation.
const JSON_TEXTS: [(&str, &str, &str, &str); 2] =
    [("attachment", "id", "json", "conversation"), ("conversation", "key", "row", "key")];

/// Rewrites the texts of a conversation in `columns`. Whether any changed.
fn rewrite_texts(
    connection: &Connection,
    columns: &[(&str, &str, &str, &str)],
    key: i64,
    rewrite: &mut dyn FnMut(&str) -> Option<String>,
) -> rusqlite::Result<bool> {
    let mut any = false;
    for (table, row_name, column, owner) in columns {
        let select =
            format!("SELECT {row_name}, {column} FROM {table} WHERE {owner} = ?1 AND {column} IS NOT NULL");
        let mut select = connection.prepare(&select)?;
        let rows = select.query_map([key], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
        let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
        for (id, text) in rows {
            if let Some(text) = rewrite(&text) {
                let update = format!("UPDATE {table} SET {column} = ?2 WHERE {row_name} = ?1");
                connection.execute(&update, (id, text))?;
                any = true;
            }
        }
    }
    Ok(any)
}

#[cfg(test)]
mod tests;
