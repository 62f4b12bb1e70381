//! The browsers for the end-to-end tests: Debian's chromium with its driver, and its firefox, which needs none.

use crate::debian::{self, SystemPackage};
use crate::failure::CommandResult;
use crate::process::which;

/// What the tests start; all must be on the search path.
const PROGRAMS: [&str; 3] = ["chromium", "chromedriver", "firefox"];

/// Makes sure that the browsers are there: as root it is installed, else the failure holds the line to type.
pub(crate) fn ensure() -> CommandResult {
    debian::ensure(&SystemPackage {
        who: "the browser tests",
        missing: || PROGRAMS.into_iter().find(|program| which(program).is_none()),
        packages: &["chromium", "chromium-driver", "firefox-esr"],
        elsewhere: "install chromium with its chromedriver, and firefox, and put all on the search path",
    })
}
