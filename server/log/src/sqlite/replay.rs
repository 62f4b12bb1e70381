//! Replay of the journal when the log is opened: what the previous life has left in it becomes rows, as the
//! work of that life. Its conversations go on in a new epoch, as after every life that did not end well
//! (invariant I9).
//!
//! ```text
//! entry of the newest life, ticket above what it applied   becomes rows
//! ticket at or below that                                  rows already: skipped
//! conversation removed after that ticket (table `void`)    skipped
//! entry of an older life                                   rows already: skipped
//! entry of a life that the database does not know          the files are renamed to `….unknown` and kept
//! ```

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::aside::AsideFile;
use super::commit::Commit;
use super::journal::{self, JournalEntry};
use super::known::ConversationCache;
use super::ops::{Op, Queued, WritePath};
use super::pace::WriterPace;
use super::schema::{integer, natural};
use super::{SqliteError, private};

/// Most operations in one transaction.
const GROUP: usize = 10_000;

/// Makes rows of what the journal beside `path` has and the database has not. The journal stays as it is; the
/// next life empties it. Returns how many appends do not continue what is in the database.
pub(super) fn replay(
    connection: &mut Connection,
    path: &Path,
    aside: &AsideFile,
) -> Result<u64, SqliteError> {
    let found =
        journal::read(path).map_err(|source| SqliteError::File { path: path.to_path_buf(), source })?;
    if found.torn > 0 {
        tracing::warn!(path = %path.display(), bytes = found.torn, "an entry of the journal is not whole");
    }
    let broken = |source| SqliteError::Database { path: path.to_path_buf(), source };
    let newest = "SELECT number, applied, commits FROM life ORDER BY number DESC LIMIT 1";
    let newest =
        connection.query_row(newest, [], |row| Ok((row.get(0)?, natural(row.get(1)?), natural(row.get(2)?))));
    let (life, applied, commits): (i64, u64, u64) = newest.optional().map_err(broken)?.unwrap_or_default();
    let (entries, strange): (Vec<JournalEntry>, Vec<JournalEntry>) =
        found.entries.into_iter().partition(|entry| entry.head.life == life);
    if strange.iter().any(|entry| entry.head.life > life) {
        keep_strange(path);
    }
    let commit = entries.iter().map(|entry| entry.head.commit).max().unwrap_or(0).max(commits);
    let void = recorded_removals(connection).map_err(broken)?;
    let is_new = |ticket: u64, op: &Op| {
        let went = op.conversation().and_then(|conversation| void.get(conversation.as_str()));
        ticket > applied && went.is_none_or(|went| ticket > *went)
    };
    let ops = entries.into_iter().flat_map(|entry| entry.ops).map(|(ticket, op)| (ticket, Op::from(op)));
    let group: Vec<Queued> = ops
        .filter(|(ticket, op)| is_new(*ticket, op))
        .map(|(ticket, op)| Queued { ticket, bytes: 0, shared_bytes: 0, write_path: WritePath::Journal, op })
        .collect();
    if !group.is_empty() {
        tracing::info!(operations = group.len(), "what the journal has is written into the log");
    }
    let mut left_out = 0;
    for group in group.chunks(GROUP) {
        left_out += apply(connection, group, life, aside).map_err(broken)?;
    }
    let count = "UPDATE life SET commits = max(commits, ?2) WHERE number = ?1";
    connection.execute(count, (life, integer(commit))).map(drop).map_err(broken)?;
    connection.execute("DELETE FROM void", []).map_err(broken)?;
    Ok(left_out)
}

/// Writes a group as one transaction of the previous life. If the database refuses it, each half is tried,
/// down to the single operation, which is set aside. Returns how many appends do not continue what is there.
fn apply(
    connection: &mut Connection,
    group: &[Queued],
    life: i64,
    aside: &AsideFile,
) -> rusqlite::Result<u64> {
    let mut known = ConversationCache::default();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut commit = Commit::new(&transaction, &mut known, life, true, WriterPace::restless());
    let applied = group.iter().try_for_each(|queued| commit.apply(queued)).and_then(|()| commit.finish());
    let outcome = match (applied, group) {
        (Ok(outcome), _) => outcome,
        (Err(error), [only]) if super::writer::is_refusal(&error) => {
            aside.put([(&only.op, error.to_string())]);
            return Ok(0);
        }
        (Err(error), _) if super::writer::is_refusal(&error) && group.len() > 1 => {
            drop(transaction);
            let (first, second) = group.split_at(group.len() / 2);
            let left_out = apply(connection, first, life, aside)?;
            return Ok(left_out + apply(connection, second, life, aside)?);
        }
        (Err(error), _) => return Err(error),
    };
    let misfits = outcome.misfits.iter().filter_map(|(ticket, head)| {
        let queued = group.iter().find(|queued| queued.ticket == *ticket)?;
        Some((&queued.op, format!("the events do not continue the log, which ends at {head}")))
    });
    aside.put(misfits);
    let last = group.last().map_or(0, |queued| queued.ticket);
    let note = "UPDATE life SET applied = max(applied, ?2) WHERE number = ?1";
    transaction.execute(note, (life, integer(last)))?;
    transaction.commit()?;
    for queued in group {
        if let Op::Purge(conversation) = &queued.op {
            aside.forget_purged(conversation);
        }
    }
    Ok(outcome.misfits.len() as u64)
}

/// Conversations that were removed before older operations on them were written, each with the ticket of the
/// removal. Those operations must not bring them back.
fn recorded_removals(connection: &Connection) -> rusqlite::Result<HashMap<String, u64>> {
    let mut select = connection.prepare("SELECT conversation, ticket FROM void")?;
    select.query_map([], |row| Ok((row.get(0)?, natural(row.get(1)?))))?.collect()
}

/// Renames a journal of a life that the database does not know: it belongs to another state of the file.
fn keep_strange(path: &Path) {
    for suffix in journal::SUFFIXES {
        let (from, to) = (private::beside(path, suffix), private::beside(path, &format!("{suffix}.unknown")));
        match std::fs::rename(&from, &to) {
            Ok(()) => {
                tracing::error!(path = %to.display(), "the journal is of a later state of the log than the database, and is kept as it is");
            }
            Err(error) => {
                tracing::error!(%error, path = %from.display(), "a journal of another state of the log is lost");
            }
        }
    }
}
