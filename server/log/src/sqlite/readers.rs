//! The connections that read: a few, opened when they are needed, each used by one reader at a time.

use std::path::PathBuf;

use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, Transaction};

use super::blocks::unreadable;
use super::schema;
use crate::LogError;

/// Most readers of conversations and of the list at a time; the others wait.
pub(super) const READERS_MAX: usize = 4;

/// Most searches and figures of tools at a time. They have connections of their own: whatever they take, conversations and the
/// list are read.
pub(super) const SEARCHERS_MAX: usize = model::limits::SEARCHES_AT_ONCE_MAX;

/// A pool of read-only connections, at most `max` of them. A reader that finds none free waits for one; a connection goes back to
/// the pool when its reader ends.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    /// Most at a time.
    max: usize,
    pool: Mutex<Pool>,
    back: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Connection>,
    busy: usize,
}

impl Readers {
    /// A pool for the file `path` with at most `max` readers at a time. Opens nothing yet.
    pub(super) fn new(path: PathBuf, max: usize) -> Self {
        Self { path, max, pool: Mutex::default(), back: Condvar::new() }
    }

    /// Calls `read` in one transaction, so that all it reads is as of one moment. Waits while all connections are lent.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut lent = self.lend()?;
        let Some(connection) = lent.connection.as_mut() else { return Err(unreadable("no connection")) };
        let transaction = connection.transaction().map_err(unreadable)?;
        read(&transaction)
    }

    fn lend(&self) -> Result<Lent<'_>, LogError> {
        let mut pool = self.pool.lock();
        while pool.busy >= self.max {
            self.back.wait(&mut pool);
        }
        pool.busy += 1;
        let idle = pool.idle.pop();
        drop(pool);
        let mut lent = Lent { readers: self, connection: idle };
        if lent.connection.is_none() {
            lent.connection = Some(schema::open_reader(&self.path).map_err(unreadable)?);
        }
        Ok(lent)
    }

    /// Lets go of all connections that nobody uses.
    pub(super) fn close(&self) {
        self.pool.lock().idle.clear();
    }
}

/// A connection that comes back by itself.
struct Lent<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.pool.lock();
        pool.busy -= 1;
        pool.idle.extend(self.connection.take());
        drop(pool);
        self.readers.back.notify_one();
    }
}
