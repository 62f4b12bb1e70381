//! What only the system's package manager can install: on Debian and as root it is installed, else the failure holds the
//! line to type.

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::process::{answer, run, which};
use std::process::Command;

/// A package that the system has to have.
#[derive(Debug)]
pub(crate) struct SystemPackage {
    /// Who needs it, in the plural: `the browser tests`.
    pub(crate) who: &'static str,
    /// What lacks, or nothing when all is there.
    pub(crate) missing: fn() -> Option<&'static str>,
    /// Debian's packages that hold it.
    pub(crate) packages: &'static [&'static str],
    /// How to mend it where there is no `apt-get`.
    pub(crate) elsewhere: &'static str,
}

/// Makes sure that what is needed is there. Whether it is there is asked again after the installation.
pub(crate) fn ensure(need: &SystemPackage) -> CommandResult {
    let Some(lack) = (need.missing)() else { return Ok(()) };
    let by_hand = format!("apt-get update && apt-get install -y {}", need.packages.join(" "));
    let lacking =
        |what: &str| CommandFailure::new(format!("{} need `{what}`, which is not installed", need.who));
    if which("apt-get").is_none() {
        return Err(lacking(lack).mend(need.elsewhere));
    }
    if !is_root() {
        return Err(lacking(lack).mend(format!("sudo sh -c '{by_hand}'")));
    }
    say(format!("`{lack}` is missing: installing {}", need.packages.join(" and ")));
    run(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y"]);
    run(install.args(need.packages))?;
    (need.missing)().map_or(Ok(()), |lack| Err(lacking(lack).mend(by_hand)))
}

/// Whether packages may be installed: the user id is 0.
pub(crate) fn is_root() -> bool {
    answer(Command::new("id").arg("-u")).is_ok_and(|said| said.trim() == "0")
}
