//! The project's own streams: fixtures by dialect, by the book and odd.

use std::path::{Path, PathBuf};

use model::dialect::DECODED;

use crate::stream::Stream;

/// Where they are.
pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// All of them; each dialect that can be decoded has some.
pub(crate) fn own() -> Vec<Stream> {
    let streams = DECODED.iter().flat_map(|dialect| {
        let folder = Path::new(FIXTURES).join(dialect);
        let files = sorted(&folder).into_iter().chain(sorted(&folder.join("odd")));
        files.map(|path| Stream::read(dialect, path))
    });
    streams.collect()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}
