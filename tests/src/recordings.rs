//! Where the streams are that tests feed: the project's own fixtures, and recordings of others where they are at hand.

use std::path::{Path, PathBuf};

/// The project's own streams of `dialect`, sorted by name.
pub fn fixtures(dialect: &str) -> Vec<PathBuf> {
    sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dialects").join(dialect))
}

/// Recordings in `folder` of the shared collection beside the work tree, sorted by name. Empty where it is missing;
/// then the fixtures carry the tests alone.
pub fn recordings(folder: &str) -> Vec<PathBuf> {
    sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces").join(folder))
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}
