//! The log that `fanlight scan` and `fanlight erase` look into, wherever it is, and the files beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use edge::LogChoice;
use event_log::{ClosedLog, ClosedPostgresLog, ClosedSqliteLog, PostgresError, SqliteError};
use redact::holds_any;

use crate::args::StoredArgs;
use crate::command::CommandError;
use crate::command::serve::log::choice;

/// A log that is open for this process alone.
#[derive(Debug)]
pub(super) struct StoredLog {
    /// Where it is, by which the key of marks is found.
    pub(super) choice: LogChoice,
    /// What it holds.
    pub(super) log: Box<dyn ClosedLog>,
    /// The directory of what the hub keeps; there may be none beside a database.
    data_dir: PathBuf,
}

impl StoredLog {
    /// Opens the log that the arguments name. Fails while a hub uses it, and where there is none.
    pub(super) fn open(stored: &StoredArgs) -> Result<Self, CommandError> {
        let choice = choice(&stored.log, &stored.data_dir, None)?;
        let log: Box<dyn ClosedLog> = match &choice {
            LogChoice::Memory => {
                return Err(CommandError::Usage {
                    what: String::from("a log in memory goes with its hub"),
                    mend: String::from("name a log that lasts with --log"),
                });
            }
            LogChoice::Sqlite { path, .. } => Box::new(on_disk(path)?),
            LogChoice::Postgres { url, .. } => {
                Box::new(ClosedPostgresLog::open(url).map_err(|error| in_database(&url.to_string(), &error))?)
            }
        };
        Ok(Self { choice, log, data_dir: stored.data_dir.clone() })
    }

    /// Where it is, for people.
    pub(super) fn place(&self) -> String {
        match &self.choice {
            LogChoice::Sqlite { path, .. } => path.display().to_string(),
            LogChoice::Postgres { url, .. } => url.to_string(),
            LogChoice::Memory => String::from("memory"),
        }
    }

    /// Whether it is a database, of which this program sees the rows and not the files.
    pub(super) fn is_database(&self) -> bool {
        matches!(self.choice, LogChoice::Postgres { .. })
    }

    /// Closes it and gives the files that hold one of `texts`: those below the data directory, and those of a log on disk that is elsewhere.
    pub(super) fn close_and_look(self, texts: &[String]) -> Result<BTreeSet<String>, CommandError> {
        let Self { choice, log, data_dir } = self;
        drop(log);
        let mut found = BTreeSet::new();
        if data_dir.exists() {
            found.extend(files_with(&data_dir, "", texts)?);
        }
        if let LogChoice::Sqlite { path, .. } = &choice
            && let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && folder != data_dir
        {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            found.extend(files_with(folder, &name.to_string_lossy(), texts)?);
        }
        Ok(found)
    }
}

/// Opens a log on disk.
fn on_disk(path: &Path) -> Result<ClosedSqliteLog, CommandError> {
    ClosedSqliteLog::open(path).map_err(|error| {
        let mend = match &error {
            SqliteError::InUse { .. } => "stop the hub first: what it has in memory would be written again",
            _ => "name the directory of the hub with --data-dir, or its log with --log; nothing was changed",
        };
        CommandError::new(format!("{} was not opened: {error}", path.display()), mend)
    })
}

/// The failure to open a log in a database.
fn in_database(place: &str, error: &PostgresError) -> CommandError {
    let mend = match error {
        PostgresError::InUse => "stop all hubs first: what they have in memory would be written again",
        _ => "name the database of the hubs with --log; nothing was changed",
    };
    CommandError::new(format!("{place} was not opened: {error}"), mend)
}

/// The files below `folder` that hold one of `texts`; directly in it, those alone whose names begin with `name`. Reads each file as a whole.
fn files_with(folder: &Path, name: &str, texts: &[String]) -> Result<BTreeSet<String>, CommandError> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(looked_in) = folders.pop() {
        let wrong = |error: std::io::Error| {
            CommandError::new(
                format!("{} cannot be read: {error}", looked_in.display()),
                "it was not looked at whether anything is left",
            )
        };
        for entry in std::fs::read_dir(&looked_in).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            if looked_in == folder && !entry.file_name().to_string_lossy().starts_with(name) {
                continue;
            }
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if holds_any(&std::fs::read(&path).map_err(wrong)?, texts) {
                found.insert(path.display().to_string());
            }
        }
    }
    Ok(found)
}
