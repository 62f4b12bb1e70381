//! Files that only their owner may read, because a log holds everything that was said. Directories get mode
//! 700 and files 600. On systems without such modes, files are as the system makes them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::schema::SqliteError;

/// The lock of a log's file. Dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct FileLock(File);

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that is being started at this moment holds it open too, for an instant.
        // Should this fail, closing does it.
        drop(self.0.unlock());
    }
}

/// Makes the directory and locks the file, so that no other process opens it. Fails with [`SqliteError::InUse`]
/// if another process has it. The lock is a file beside the database, so that SQLite's own locks are not
/// touched.
pub(super) fn lock(path: &Path) -> Result<FileLock, SqliteError> {
    let failed = |source| SqliteError::File { path: path.to_path_buf(), source };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        folder(directory).map_err(failed)?;
    }
    let file = open(&beside(path, ".lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(FileLock(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(SqliteError::InUse { path: path.to_path_buf() }),
        Err(std::fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// The path of a file beside `database`: its name with a suffix.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes `folder` and the folders above it, for their owner alone. Existing ones stay as they are.
pub(super) fn folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file for reading and writing, for its owner alone. It is made if it does not exist. What is in it
/// stays.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    restrict(&file)?;
    Ok(file)
}

/// Restricts a file to its owner: one that an earlier version made may be open to others.
#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn restrict(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_let_go_can_be_taken_though_a_program_that_starts_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fanlight.db");
        let first = lock(&path).unwrap();
        assert!(matches!(lock(&path), Err(SqliteError::InUse { .. })));
        let _held = first.0.try_clone().unwrap();
        drop(first);
        lock(&path).unwrap();
    }
}
