//! Which log a hub has, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use event_log::{EventLog, MemoryLog, PostgresLog, PostgresOptions, PostgresUrl, SqliteLog, SqliteOptions};

/// The choice of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogChoice {
    /// In memory, lost with the process.
    #[default]
    Memory,
    /// On disk, in one SQLite file and small files beside it.
    Sqlite {
        /// The file. It and its folder are made if they do not exist.
        path: PathBuf,
        /// Most bytes of the file; beyond them the log fails as on a full disk.
        max_bytes: Option<u64>,
    },
    /// In PostgreSQL, in tables of its own.
    Postgres {
        /// The address of the database.
        url: Box<PostgresUrl>,
        /// The folder of what this hub has for itself in small files.
        folder: PathBuf,
    },
}

impl LogChoice {
    /// The small file `name` that belongs to this hub, beside its log or in its own folder; `None` where
    /// everything goes with the process.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        match self {
            Self::Memory => None,
            Self::Sqlite { path, .. } => Some(path.with_file_name(name)),
            Self::Postgres { folder, .. } => Some(folder.join(name)),
        }
    }
}

/// Why a log was not opened.
pub type LogNotOpened = Box<dyn std::error::Error + Send + Sync>;

/// Opens the log that was chosen. Waits for its disk or database, and keeps every other hub out as long as it
/// is open. Dropping it without `close` is an unclean stop.
pub fn open_log(choice: &LogChoice) -> Result<Arc<dyn EventLog>, LogNotOpened> {
    open_log_as(choice, None)
}

/// Opens the log for a hub that others reach under `address`: it shares a database with them.
pub(crate) fn open_log_as(
    choice: &LogChoice,
    address: Option<String>,
) -> Result<Arc<dyn EventLog>, LogNotOpened> {
    Ok(match choice {
        LogChoice::Memory => Arc::new(MemoryLog::default()),
        LogChoice::Sqlite { path, max_bytes } => Arc::new(SqliteLog::open(
            path,
            &SqliteOptions { max_bytes: *max_bytes, ..SqliteOptions::default() },
        )?),
        LogChoice::Postgres { url, .. } => {
            let options = PostgresOptions { address, ..PostgresOptions::default() };
            Arc::new(event_log::blocking(|| PostgresLog::open(url, &options))?)
        }
    })
}
