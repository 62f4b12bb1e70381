//! The connections that read: a few, opened when they are first needed, each used by one reader at a time.

use std::path::PathBuf;

use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, Transaction};

use super::blocks::unreadable;
use super::schema;
use crate::LogError;

/// Most readers of conversations and of the list at a time. Others wait for their turn.
pub(super) const READERS_MAX: usize = 4;

/// Most searches and figures of tools at a time. They have connections of their own, so that however long
/// they take, conversations and the list can be read.
pub(super) const SEARCHERS_MAX: usize = model::limits::SEARCHES_AT_ONCE_MAX;

/// A pool of read-only connections, at most `max` of them. A reader waits while none is free; its connection
/// returns to the pool when it ends.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    /// Most connections at a time.
    max: usize,
    pool: Mutex<ReaderPool>,
    /// Notified when a connection returns.
    back: Condvar,
}

/// The connections of a pool, under its lock.
#[derive(Debug, Default)]
struct ReaderPool {
    /// Connections that nobody uses. They stay open until the pool is closed.
    idle: Vec<Connection>,
    /// The number of connections that are lent.
    busy: usize,
}

impl Readers {
    /// Makes a pool for the file `path` with at most `max` connections. Opens nothing yet.
    pub(super) fn new(path: PathBuf, max: usize) -> Self {
        Self { path, max, pool: Mutex::default(), back: Condvar::new() }
    }

    /// Calls `read` in one transaction, so that everything it reads is from one moment. Waits while all
    /// connections are lent. Fails with [`LogError::Unreadable`] if no connection can be opened.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut lent = self.acquire()?;
        let Some(connection) = lent.connection.as_mut() else { return Err(unreadable("no connection")) };
        let transaction = connection.transaction().map_err(unreadable)?;
        read(&transaction)
    }

    /// Takes a connection from the pool, or opens one.
    fn acquire(&self) -> Result<PooledConnection<'_>, LogError> {
        let mut pool = self.pool.lock();
        while pool.busy >= self.max {
            self.back.wait(&mut pool);
        }
        pool.busy += 1;
        let idle = pool.idle.pop();
        drop(pool);
        let mut lent = PooledConnection { readers: self, connection: idle };
        if lent.connection.is_none() {
            lent.connection = Some(schema::open_reader(&self.path).map_err(|error| {
                // Whoever asked may be anybody, so where the file is stands in the trace alone.
                tracing::warn!(path = %self.path.display(), %error, "the file of the log cannot be opened");
                unreadable("its file cannot be opened")
            })?);
        }
        Ok(lent)
    }

    /// Closes all connections that nobody uses.
    pub(super) fn close(&self) {
        self.pool.lock().idle.clear();
    }
}

/// A connection that returns to the pool when it is dropped.
struct PooledConnection<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.pool.lock();
        pool.busy -= 1;
        pool.idle.extend(self.connection.take());
        drop(pool);
        self.readers.back.notify_one();
    }
}
