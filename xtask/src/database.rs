//! The database for the tests of the log in PostgreSQL: Debian's. The tests start servers of their own.

use crate::debian::{self, SystemPackage};
use crate::failure::CommandResult;
use std::path::Path;

/// Makes sure that PostgreSQL is there: as root it is installed, else the failure holds the line to type.
pub(crate) fn ensure() -> CommandResult {
    debian::ensure(&SystemPackage {
        who: "the tests of the log in PostgreSQL",
        missing: || (!is_there()).then_some("initdb"),
        packages: &["postgresql"],
        elsewhere: "install PostgreSQL 15 or later, with its programs below /usr/lib/postgresql",
    })
}

/// Whether a version has its programs where the tests look for them.
fn is_there() -> bool {
    let versions = Path::new("/usr/lib/postgresql").read_dir();
    versions
        .is_ok_and(|mut versions| versions.any(|it| it.is_ok_and(|it| it.path().join("bin/initdb").exists())))
}
