//! Files that are full are renamed, and the oldest removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Renames a file that is full, and those before it: `path.1` is the newest of them. `keep` of them stay.
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

/// The name of an older file; the newest of them is 1.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}
