//! The browser for the end-to-end tests: Debian's chromium and its driver.

use crate::console::say;
use crate::failure::{Failure, Outcome};
use crate::process::{answer, run, which};
use std::process::Command;

const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Makes sure that a browser is there: as root it is installed, else the failure holds the line to type.
pub(crate) fn ensure() -> Outcome {
    let missing = || PROGRAMS.into_iter().find(|program| which(program).is_none());
    let Some(program) = missing() else { return Ok(()) };
    let by_hand = format!("apt-get update && apt-get install -y {}", PACKAGES.join(" "));
    let lacking =
        |program: &str| Failure::new(format!("the browser tests need `{program}`, which is not installed"));
    if which("apt-get").is_none() {
        return Err(
            lacking(program).mend("install chromium and its chromedriver, and put both on the search path")
        );
    }
    if !is_root() {
        return Err(lacking(program).mend(format!("sudo sh -c '{by_hand}'")));
    }
    say(format!("`{program}` is missing: installing {}", PACKAGES.join(" and ")));
    run(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y"]);
    run(install.args(PACKAGES))?;
    missing().map_or(Ok(()), |program| Err(lacking(program).mend(by_hand)))
}

fn is_root() -> bool {
    answer(Command::new("id").arg("-u")).is_ok_and(|said| said.trim() == "0")
}
