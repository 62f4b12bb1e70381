//! The part of redaction with a file and randomness: the key of the marks, which stays the same over restarts, so that one secret has one
//! mark in all that is stored.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redact::{Builtin, MarkKey, PatternError, Redactor};

use crate::access::{private, random};
use crate::log_choice::LogChoice;

/// The file of the key, beside the log.
const FILE: &str = "redact.key";

/// The kinds and patterns that are redacted.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// The kinds that are built in.
    pub builtin: Builtin,
    /// Patterns of the operator's own.
    pub patterns: Vec<String>,
}

/// Why nothing can be redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactionError {
    /// The file of the key cannot be read or made.
    #[error("{path} cannot be used as the key of the marks: {source}")]
    Key {
        /// The path of the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A pattern is not taken.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl Redaction {
    /// The redactor of these settings. Reads the key that stands beside the log, or in the hub's own folder where
    /// the log is in a database, and makes it where there is none; that of a log in memory goes with the process. Fails if the file cannot be
    /// used or a pattern is not taken.
    pub fn redactor(&self, log: &LogChoice) -> Result<Arc<Redactor>, RedactionError> {
        Ok(Arc::new(Redactor::new(self.key(log)?, self.builtin, &self.patterns)?))
    }

    /// The key of the marks: the same secret has the same mark under it. Fails if the file cannot be read,
    /// made, or has a wrong length.
    pub fn key(&self, log: &LogChoice) -> Result<MarkKey, RedactionError> {
        let key = match log.file(FILE) {
            Some(path) => key(&path).map_err(|source| RedactionError::Key { path, source })?,
            None => random(),
        };
        Ok(MarkKey::new(key))
    }
}

/// The key in the file; a new one where there is none.
fn key(path: &Path) -> io::Result<[u8; 32]> {
    match fs::read(path) {
        Ok(bytes) => bytes.try_into().map_err(|_bytes: Vec<u8>| {
            io::Error::other("it does not have 32 bytes; a key is not made anew by itself")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = random();
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                private_folder(folder)?;
            }
            let mut file = private().write(true).create_new(true).open(path)?;
            file.write_all(&key)?;
            file.sync_all()?;
            Ok(key)
        }
        Err(error) => Err(error),
    }
}

/// Makes a folder that its owner alone may look into; one that is there stays as it is.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
