//! The log in PostgreSQL of hubs that are stopped. It is open as the log of a hub that is alone on the database, so no hub can begin
//! meanwhile, and each change is made only while that life goes on.
//!
//! ```text
//! rewrite   read ──▶ change here ──▶ one transaction: life goes on? ─▶ blocks, state, results, row, texts with their words
//! purge     rows of conversations that went ──▶ VACUUM (FULL, ANALYZE) of each table: the file, its indexes and its statistics anew
//! ```
//!
//! What PostgreSQL has besides is not in reach: its write-ahead log, standbys and backups.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ConversationId, Envelope, Epoch, View};
use tokio_postgres::types::ToSql;

use super::database::{Database, Session};
use super::text::{escape, unescape};
use super::{PostgresError, PostgresLog, PostgresOptions, PostgresUrl, read, sweep, unreadable};
use crate::blocks::inflate;
use crate::closed::{ClosedLog, Rewrite};
use crate::numbers::size;
use crate::{EventLog as _, LogError, SharedShares as _, StoredShare};

mod places;
mod rewriting;

use places::places;
use rewriting::{Change, DocumentRow, rewritten_document, rewritten_events, rewritten_view};

/// How long one change may take.
const CHANGE_WITHIN: Duration = Duration::from_hours(1);

/// Blocks or states that are read at once.
const PAGE: i64 = 16;

/// Whether the database has a log.
const FIND: &str = "SELECT to_regclass('fanlight_schema') IS NOT NULL";

/// The life that goes on. It is alone.
const LIFE: &str = "SELECT number FROM life WHERE NOT over";

/// Keeps the life from being ended before the transaction has ended; no row if it is over.
const FENCE: &str = "SELECT 1 FROM life WHERE number = $1 AND NOT over FOR SHARE";

/// What names each table of the log, and whether this role may write it anew.
const TABLES: &str = "SELECT tablename::text, pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1";

/// A log in PostgreSQL that no hub uses. Dropping it ends its life well, so that conversations keep their epochs.
#[derive(Debug)]
pub struct ClosedPostgresLog {
    log: PostgresLog,
    /// The number of the life in which it is open.
    life: i64,
}

/// Looks at one packed body, of which the encoding is given.
type PackedLook<'a> = dyn FnMut(i16, &[u8]) -> Result<(), LogError> + 'a;

impl ClosedPostgresLog {
    /// Opens the log in the database `url`. Fails with [`PostgresError::InUse`] while a hub lives there, and if there is no log.
    /// Waits for the database, and up to a lease longer after a hub that died.
    pub fn open(url: &PostgresUrl) -> Result<Self, PostgresError> {
        let database = Database::new(url.clone())?;
        let of = Arc::clone(&database);
        let found = database.wait(async move {
            let session = of.connect().await?;
            session.client.query_one(FIND, &[]).await?.try_get::<_, bool>(0)
        });
        if !found.unwrap_or(Ok(false))? {
            return Err(PostgresError::Url(String::from("there is no log in that schema of the database")));
        }
        drop(database);
        let log = PostgresLog::open(url, &PostgresOptions::default())?;
        let life = log.read_with(|session| {
            Box::pin(async {
                let row = session.client.query_one(LIFE, &[]).await.map_err(unreadable)?;
                row.try_get(0).map_err(unreadable)
            })
        });
        let life = life.map_err(|error| PostgresError::Url(error.to_string()))?;
        Ok(Self { log, life })
    }

    /// Reads with `read` of the row of `conversation`, however long that takes. Fails with [`LogError::Unknown`] if there is none.
    fn read_of<T, F>(&self, conversation: &ConversationId, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session, read::ConversationRecord) -> super::Reading<'a, T>
            + Send
            + Sync
            + 'static,
    {
        let (of, read) = (conversation.clone(), Arc::new(read));
        self.log.shared.database.read_for_upkeep(move |session| {
            let (of, read) = (of.clone(), Arc::clone(&read));
            Box::pin(async move {
                let found = read::find(session, &of).await?.ok_or(LogError::Unknown)?;
                read(session, found).await
            })
        })
    }

    fn key(&self, conversation: &ConversationId) -> Result<i64, LogError> {
        self.read_of(conversation, |_session, found| Box::pin(async move { Ok(found.key) }))
    }

    /// Makes `changes` in one transaction, if the life goes on.
    fn change(&self, changes: Vec<Change>) -> Result<(), LogError> {
        let (changes, life) = (Arc::new(changes), self.life);
        self.log.shared.database.change_until(Instant::now() + CHANGE_WITHIN, move |session| {
            let changes = Arc::clone(&changes);
            Box::pin(async move {
                if session.client.query_opt(FENCE, &[&life]).await.map_err(unreadable)?.is_none() {
                    return Err(unreadable("a hub has begun on the database meanwhile"));
                }
                for change in changes.iter() {
                    let statement = session.prepared(change.sql).await.map_err(unreadable)?;
                    let values: Vec<&(dyn ToSql + Sync)> =
                        change.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
                    session.client.execute(&statement, &values).await.map_err(unreadable)?;
                }
                Ok(())
            })
        })
    }

    /// The row of the list and the tags of a conversation, as they are stored.
    fn row(&self, conversation: &ConversationId) -> Result<(Option<String>, String), LogError> {
        self.read_of(conversation, |session, found| {
            Box::pin(async move {
                let select = "SELECT row, tags FROM conversation WHERE key = $1";
                let row = session.client.query_one(select, &[&found.key]).await.map_err(unreadable)?;
                Ok((row.try_get(0).map_err(unreadable)?, row.try_get(1).map_err(unreadable)?))
            })
        })
    }

    /// The texts by which a conversation is found.
    fn documents(&self, conversation: &ConversationId) -> Result<Vec<DocumentRow>, LogError> {
        self.read_of(conversation, |session, found| {
            Box::pin(async move {
                let select =
                    "SELECT id, kind, item, name, text FROM document WHERE conversation = $1 ORDER BY id";
                let rows = session.client.query(select, &[&found.key]).await.map_err(unreadable)?;
                let document = |row: &tokio_postgres::Row| {
                    let text = |at| row.try_get(at).map(|text| unescape(text).into_owned());
                    let (id, kind) = (row.try_get(0)?, row.try_get(1)?);
                    Ok(DocumentRow { id, kind, item: text(2)?, name: text(3)?, text: text(4)? })
                };
                let rows: Result<Vec<_>, tokio_postgres::Error> = rows.iter().map(document).collect();
                rows.map_err(unreadable)
            })
        })
    }

    /// Runs `statement` by itself, outside of a transaction and without a limit of time. The error says why the database refused.
    fn alone(&self, statement: String) -> Result<(), String> {
        let database = Arc::clone(&self.log.shared.database);
        let done = self.log.shared.database.wait(async move {
            let session = database.connect().await?;
            session.client.batch_execute("SET lock_timeout = '60s'").await?;
            session.client.batch_execute(&statement).await
        });
        let done = done.ok_or_else(|| String::from("the log has ended"))?;
        done.map_err(|error| super::failure::said(&error))
    }

    /// Gives `look` what `select` finds, page by page: of each row two numbers that order it, the encoding and the body.
    fn pages(&self, select: &'static str, look: &mut PackedLook<'_>) -> Result<(), LogError> {
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let page = self.log.shared.database.read_for_upkeep(move |session| {
                Box::pin(async move {
                    let select = session.prepared(select).await.map_err(unreadable)?;
                    let values: [&(dyn ToSql + Sync); 3] = [&after.0, &after.1, &PAGE];
                    session.client.query(&select, &values).await.map_err(unreadable)
                })
            })?;
            for row in &page {
                after = (row.try_get(0).map_err(unreadable)?, row.try_get(1).map_err(unreadable)?);
                look(row.try_get(2).map_err(unreadable)?, row.try_get(3).map_err(unreadable)?)?;
            }
            if size(page.len()) < PAGE {
                return Ok(());
            }
        }
    }
}

impl Drop for ClosedPostgresLog {
    fn drop(&mut self) {
        // Nothing was queued; a life that does not end well only gives conversations new epochs.
        self.log.close().ok();
    }
}

impl ClosedLog for ClosedPostgresLog {
    fn conversations(&self) -> Result<Vec<ConversationId>, LogError> {
        self.log.shared.database.read_for_upkeep(|session| {
            Box::pin(async {
                let rows = session.client.query("SELECT id FROM conversation ORDER BY id", &[]).await;
                rows.map_err(unreadable)?.iter().map(|row| read::conversation(row, 0)).collect()
            })
        })
    }

    fn events(&self, conversation: &ConversationId) -> Result<Vec<Envelope>, LogError> {
        self.read_of(conversation, |session, found| Box::pin(read::all_events(session, found.key)))
    }

    fn view(&self, conversation: &ConversationId) -> Result<View, LogError> {
        self.read_of(conversation, |session, found| Box::pin(read::view(session, found.key)))
    }

    fn attachments(&self, conversation: &ConversationId) -> Result<Vec<(String, String)>, LogError> {
        self.read_of(conversation, |session, found| {
            Box::pin(async move {
                let select = "SELECT hash, json FROM attachment WHERE conversation = $1 ORDER BY hash";
                let rows = session.client.query(select, &[&found.key]).await.map_err(unreadable)?;
                let attachment = |row: &tokio_postgres::Row| {
                    let json: &[u8] = row.try_get(1).map_err(unreadable)?;
                    let json = std::str::from_utf8(json).map_err(unreadable)?;
                    let hash = unescape(row.try_get(0).map_err(unreadable)?).into_owned();
                    Ok((hash, json.to_owned()))
                };
                rows.iter().map(attachment).collect()
            })
        })
    }

    fn epoch(&self, conversation: &ConversationId) -> Result<Epoch, LogError> {
        self.read_of(conversation, |_session, found| Box::pin(async move { Ok(found.epoch) }))
    }

    fn rewrite(&mut self, conversation: &ConversationId, with: &mut dyn Rewrite) -> Result<bool, LogError> {
        let key = self.key(conversation)?;
        let mut changes = rewritten_events(key, &self.events(conversation)?, with);
        changes.extend(rewritten_view(key, &self.view(conversation)?, with));
        for (hash, json) in self.attachments(conversation)? {
            if let Some(json) = with.json(&json) {
                let sql = "UPDATE attachment SET json = $3 WHERE conversation = $1 AND hash = $2";
                let values: Vec<Box<dyn ToSql + Send + Sync>> =
                    vec![Box::new(key), Box::new(escape(&hash).into_owned()), Box::new(json.into_bytes())];
                changes.push(Change::new(sql, values));
            }
        }
        let (row, tags) = self.row(conversation)?;
        if let Some(row) = row.and_then(|row| with.json(&row)) {
            let sql = "UPDATE conversation SET row = $2 WHERE key = $1";
            changes.push(Change::new(sql, vec![Box::new(key), Box::new(row)]));
        }
        if let Some(tags) = with.text(&unescape(&tags)) {
            let sql = "UPDATE conversation SET tags = $2 WHERE key = $1";
            changes.push(Change::new(sql, vec![Box::new(key), Box::new(escape(&tags).into_owned())]));
        }
        for document in self.documents(conversation)? {
            changes.extend(rewritten_document(key, document, with));
        }
        if changes.is_empty() {
            return Ok(false);
        }
        self.change(changes)?;
        Ok(true)
    }

    fn remove(&mut self, conversation: &ConversationId) -> Result<(), LogError> {
        let key = self.key(conversation)?;
        let of_key = [
            "DELETE FROM event WHERE conversation = $1",
            "DELETE FROM document WHERE conversation = $1",
            "DELETE FROM attachment WHERE conversation = $1",
            "DELETE FROM checkpoint WHERE conversation = $1",
            "DELETE FROM mark WHERE conversation = $1",
            "DELETE FROM conversation WHERE key = $1",
        ];
        let mut changes: Vec<Change> =
            of_key.into_iter().map(|sql| Change::new(sql, vec![Box::new(key)])).collect();
        let name = conversation.as_str().to_owned();
        changes.push(Change::new("DELETE FROM owner WHERE conversation = $1", vec![Box::new(name)]));
        self.change(changes)
    }

    fn purge(&mut self) -> Result<BTreeSet<String>, LogError> {
        let deadline = Instant::now() + CHANGE_WITHIN;
        let database = &self.log.shared.database;
        while database.change_until(deadline, |session| {
            Box::pin(async { sweep::step(session).await.map_err(unreadable) })
        })? {}
        let tables = database.read_for_upkeep(|session| {
            Box::pin(async {
                let rows = session.client.query(TABLES, &[]).await.map_err(unreadable)?;
                let table = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
                let tables: Result<Vec<(String, bool)>, tokio_postgres::Error> =
                    rows.iter().map(table).collect();
                tables.map_err(unreadable)
            })
        })?;
        let mut refused = BTreeSet::new();
        for (table, is_own) in tables {
            // PostgreSQL skips a table of others with a warning alone.
            let done = if is_own {
                self.alone(format!("VACUUM (FULL, ANALYZE) {}", quoted(&table)))
            } else {
                Err(String::from("it belongs to another role"))
            };
            if let Err(why) = done {
                refused.insert(format!("dead rows of the table {table} ({why})"));
            }
        }
        Ok(refused)
    }

    fn unpacked(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), LogError> {
        let blocks = "SELECT conversation, first, encoding, body FROM event WHERE (conversation, first) > ($1, $2) ORDER BY 1, 2 LIMIT $3";
        self.pages(blocks, &mut |encoding, body| {
            if encoding == 0 {
                look(body);
            } else {
                look(&inflate(body).map_err(unreadable)?);
            }
            Ok(())
        })?;
        let states = "SELECT conversation, seq, 1::smallint, body FROM checkpoint WHERE (conversation, seq) > ($1, $2) ORDER BY 1, 2 LIMIT $3";
        self.pages(states, &mut |_zlib, body| {
            look(&inflate(body).map_err(unreadable)?);
            Ok(())
        })
    }

    fn places(&self, texts: &[String]) -> Result<BTreeSet<String>, LogError> {
        let texts: Arc<Vec<String>> = Arc::new(texts.iter().map(|text| escape(text).into_owned()).collect());
        self.log.shared.database.read_for_upkeep(move |session| {
            let texts = Arc::clone(&texts);
            Box::pin(async move { places(session, &texts).await.map_err(unreadable) })
        })
    }

    fn shares(&self) -> Result<Vec<StoredShare>, LogError> {
        self.log.shares()
    }
}

/// `name` as an identifier in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
