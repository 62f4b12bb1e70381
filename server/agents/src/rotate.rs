//! Rotation of files: a full file is renamed, and the oldest is deleted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Renames a full file and those before it: `path.1` is the newest of them. Keeps `keep` of them; with 0 the
/// file is deleted. Files that do not exist are skipped. Any other error stops it half-way: then a number may
/// be missing.
pub fn rotate(path: &Path, keep: usize) -> io::Result<()> {
    let exists = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    exists(fs::remove_file(numbered(path, keep)))?;
    for number in (1..keep).rev() {
        exists(fs::rename(numbered(path, number), numbered(path, number + 1)))?;
    }
    exists(match keep {
        0 => fs::remove_file(path),
        _ => fs::rename(path, numbered(path, 1)),
    })?;
    Ok(())
}

/// The path of an older file; number 1 is the newest.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}
