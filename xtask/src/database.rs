//! PostgreSQL of this machine, Debian's: for the tests of the log, which start servers of their own, and for `cargo xtask cluster`.

use crate::debian::{self, SystemPackage};
use crate::failure::CommandResult;
use std::path::{Path, PathBuf};

/// Where Debian has the programs of each version, in a folder of its number.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The oldest version that the hub's log works with.
const OLDEST: u32 = 15;

/// Makes sure that PostgreSQL is there: as root it is installed, else the failure holds the line to type. `who`
/// needs it, in the plural.
pub(crate) fn ensure(who: &'static str) -> CommandResult {
    debian::ensure(&SystemPackage {
        who,
        missing: || programs().is_none().then_some("initdb"),
        packages: &["postgresql"],
        elsewhere: "install PostgreSQL 15 or later, with its programs below /usr/lib/postgresql",
    })
}

/// The folder with the programs of the newest version; nothing when there is none that the log works with.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = Path::new(VERSIONS).read_dir().ok()?.flatten();
    let names = versions.filter_map(|version| version.file_name().into_string().ok());
    let bin = Path::new(VERSIONS).join(newest(names)?.to_string()).join("bin");
    bin.join("initdb").exists().then_some(bin)
}

/// The highest of these names of folders that is a version from [`OLDEST`] on.
fn newest(names: impl Iterator<Item = String>) -> Option<u32> {
    names.filter_map(|name| name.parse().ok()).filter(|version| *version >= OLDEST).max()
}

#[cfg(test)]
mod tests;
