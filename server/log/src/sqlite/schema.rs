//! The schema of the database, its migrations, and when a file is refused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{measures, private};
pub(super) use crate::numbers::{integer, natural, size};

/// Marks the file as a log of Fanlight, so that it is not taken for another program's database: "Fanl".
const APPLICATION: i32 = 0x4661_6e6c;

/// The migrations. The version of a file is the number of those that it has seen. Never change one that was
/// released.
const MIGRATIONS: [&str; 10] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
    include_str!("schema/9.sql"),
    include_str!("schema/10.sql"),
];

/// The migration after whose statements rows are packed, which no statement can do.
const PACKS_LATENCIES: usize = 7;

/// How long a connection waits for another one of the same file.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// From so many pages on, a commit moves the write-ahead log into the file: 16 MiB.
const WAL_PAGES: i64 = 4096;

/// Most memory for pages of the connection that writes, in KiB. A commit that changes more pages than fit writes some of
/// them twice; one of a second at 20,000 events/s changes 12 MiB.
const WRITER_CACHE_KIB: i64 = 16 << 10;

/// The length of a write-ahead log without pages, in bytes.
const WAL_HEADER_BYTES: u64 = 32;

/// Most bytes of the write-ahead log that stay on the disk after that.
const WAL_BYTES_MAX: i64 = 64 << 20;

/// Why a log on disk was not opened.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// Another process has the file open.
    #[error(
        "{path} is in use by another process; stop that one, or choose another file with --log sqlite:PATH"
    )]
    InUse {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is something else than a log of Fanlight.
    #[error(
        "{path} is not a log of Fanlight; choose another file with --log sqlite:PATH; this one was not changed"
    )]
    Foreign {
        /// The path of the file.
        path: PathBuf,
    },
    /// The write-ahead log exists, but the database that it belongs to does not.
    #[error(
        "{path} {what}, and {wal} beside it holds {bytes} bytes that were written: opening would lose them; bring the database back (both files belong together), or move {wal} away to begin anew"
    )]
    Torn {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it: missing or empty.
        what: &'static str,
        /// The path of the write-ahead log.
        wal: PathBuf,
        /// The length of the write-ahead log, in bytes.
        bytes: u64,
    },
    /// A later version of Fanlight wrote the file.
    #[error(
        "{path} was written by a later version (its schema is {found}, this version knows up to {known}); start that version, or choose another file with --log sqlite:PATH"
    )]
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The version of its schema.
        found: usize,
        /// The newest version that this program knows.
        known: usize,
    },
    /// The file or its directory cannot be used.
    #[error("{path} cannot be used as a log: {source}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The database cannot be used.
    #[error("{path} cannot be used as a log: {source}")]
    Database {
        /// The path of the file.
        path: PathBuf,
        /// The error of the database.
        source: rusqlite::Error,
    },
}

/// Opens the connection that writes. The schema is up to date afterwards. Fails before anything is changed if
/// the file is no log, or one of a later version.
pub(super) fn open_writer(path: &Path) -> Result<Connection, SqliteError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check_wal(path)?;
    // If SQLite made the file, everybody could read it and the files beside it.
    private::open(path).map_err(|source| SqliteError::File { path: path.to_path_buf(), source })?;
    let broken = |source| database_error(path, source);
    let mut connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    connection.busy_timeout(BUSY).map_err(broken)?;
    let version = version(&connection, path)?;
    prepare(&connection).map_err(broken)?;
    migrate(&mut connection, version).map_err(broken)?;
    Ok(connection)
}

/// Refuses an empty or missing database beside a write-ahead log that has pages: SQLite would delete that
/// without a warning.
fn check_wal(path: &Path) -> Result<(), SqliteError> {
    let bytes = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.len()).ok();
    let what = match bytes(path) {
        None => "is missing",
        Some(0) => "is empty",
        Some(_) => return Ok(()),
    };
    let wal = private::beside(path, "-wal");
    match bytes(&wal) {
        Some(bytes) if bytes > WAL_HEADER_BYTES => {
            Err(SqliteError::Torn { path: path.to_path_buf(), what, wal, bytes })
        }
        _ => Ok(()),
    }
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// The error for a file that cannot be opened.
fn database_error(path: &Path, source: rusqlite::Error) -> SqliteError {
    let path = path.to_path_buf();
    if source.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return SqliteError::Foreign { path };
    }
    SqliteError::Database { path, source }
}

/// The version of the schema, 0 for a new file. Fails for files of others and of later versions.
fn version(connection: &Connection, path: &Path) -> Result<usize, SqliteError> {
    let number = |sql: &str| {
        let found = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        found.map_err(|source| database_error(path, source))
    };
    let found = usize::try_from(number("PRAGMA user_version")?).unwrap_or(usize::MAX);
    let ours = number("PRAGMA application_id")? == i64::from(APPLICATION);
    let empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    let fresh = found == 0 && empty;
    if !ours && !fresh {
        return Err(SqliteError::Foreign { path: path.to_path_buf() });
    }
    if found > MIGRATIONS.len() {
        return Err(SqliteError::Newer { path: path.to_path_buf(), found, known: MIGRATIONS.len() });
    }
    Ok(found)
}

/// Sets how the connection that writes uses the file.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_MAX)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "memory")
}

/// Bounds the size of the file. A commit beyond it fails as on a full disk. The journal and the write-ahead
/// log do not count.
pub(super) fn limit(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    if let Some(max_bytes) = max_bytes {
        let page_bytes: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let pages = i64::try_from(max_bytes).unwrap_or(i64::MAX) / page_bytes.max(1);
        // A bound below the present size becomes the present size.
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_row| Ok(()))?;
    }
    Ok(())
}

/// Applies the migrations after `version`, each in a transaction of its own.
fn migrate(connection: &mut Connection, version: usize) -> rusqlite::Result<()> {
    for (before, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        if before + 1 == PACKS_LATENCIES {
            measures::pack_latencies(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", i64::try_from(before + 1).unwrap_or(i64::MAX))?;
        transaction.commit()?;
        tracing::info!(schema = before + 1, "the log has a new schema");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
