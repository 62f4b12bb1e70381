//! The browser for the end-to-end tests: Debian's chromium and its driver.

use crate::debian::{self, SystemPackage};
use crate::failure::CommandResult;
use crate::process::which;

/// What the tests start; both must be on the search path.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// Makes sure that a browser is there: as root it is installed, else the failure holds the line to type.
pub(crate) fn ensure() -> CommandResult {
    debian::ensure(&SystemPackage {
        who: "the browser tests",
        missing: || PROGRAMS.into_iter().find(|program| which(program).is_none()),
        packages: &["chromium", "chromium-driver"],
        elsewhere: "install chromium and its chromedriver, and put both on the search path",
    })
}
