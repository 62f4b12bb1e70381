//! Where the streams are that tests feed: the project's own fixtures, and recordings of others where they are at hand.

use std::path::{Path, PathBuf};

/// The project's own streams of `dialect`, sorted by name.
pub fn fixtures(dialect: &str) -> Vec<PathBuf> {
    sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/dialects/fixtures").join(dialect))
}

/// Recordings in `folder` of the shared collection beside the work tree, sorted by name. Empty where it is missing;
/// then the fixtures carry the tests alone.
pub fn recordings(folder: &str) -> Vec<PathBuf> {
    sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces").join(folder))
}

/// The seed document of that number beside the work tree. Nothing where the documents are missing; where they are, each
/// must be there.
pub fn seed(number: u32) -> Option<PathBuf> {
    let files = sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds"));
    let prefix = format!("seed-{number}-");
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let found = files.iter().find(|path| is_it(path)).cloned();
    assert!(files.is_empty() || found.is_some(), "no seed {number} beside the others");
    found
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}
