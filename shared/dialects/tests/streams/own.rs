//! The project's own streams: fixtures by dialect, by the book and odd. With `FANLIGHT_TEST_DIALECT=ollama` in the
//! environment the tests that go through all dialects take only that one; those of one dialect, such as `agno`, run all the same.

use std::path::{Path, PathBuf};

use model::dialect::DECODED;

use crate::stream::Stream;

/// Where they are.
pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
/// The variable of the environment that names the only dialect to test.
const ONLY: &str = "FANLIGHT_TEST_DIALECT";

/// The fixtures of the tested dialects.
pub(crate) fn own() -> Vec<Stream> {
    tested().into_iter().flat_map(fixtures).collect()
}

/// The dialects that are tested: the one that `FANLIGHT_TEST_DIALECT` names, else all. Fails if there is none of that name.
pub(crate) fn tested() -> Vec<&'static str> {
    let Ok(only) = std::env::var(ONLY) else { return DECODED.to_vec() };
    let named = DECODED.iter().find(|dialect| **dialect == only);
    vec![*named.unwrap_or_else(|| panic!("{ONLY}={only} is no dialect; there are {}", DECODED.join(", ")))]
}

/// The fixtures of one dialect: those by the book, then the odd ones.
pub(crate) fn fixtures(dialect: &'static str) -> impl Iterator<Item = Stream> {
    let folder = Path::new(FIXTURES).join(dialect);
    let files = sorted(&folder).into_iter().chain(sorted(&folder.join("odd")));
    files.map(move |path| Stream::read(dialect, path))
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn each_dialect_has_fixtures() {
    let bare: Vec<_> = tested().into_iter().filter(|dialect| fixtures(dialect).next().is_none()).collect();
    assert!(bare.is_empty(), "no stream is in {FIXTURES}/NAME for {}", bare.join(", "));
}
