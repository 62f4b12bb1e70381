//! `fanlight alongside PROCESS COMMAND…`: becomes another program, which is killed when the hub that started
//! it dies, however it dies. Only the hub uses it.

use std::ffi::OsString;

use super::CommandError;
use crate::args::AlongsideArgs;

/// The words that the hub puts before a command that must die with it; empty if the system does not support
/// that.
pub(super) fn launcher() -> Vec<OsString> {
    // This program itself, even if its file was moved.
    if cfg!(target_os = "linux") { vec!["/proc/self/exe".into(), "alongside".into()] } else { Vec::new() }
}

/// Becomes the given program.
#[cfg(target_os = "linux")]
pub(super) fn run(args: &AlongsideArgs) -> Result<(), CommandError> {
    use std::os::unix::process::CommandExt as _;

    let gone = || CommandError::new("the hub that starts this program is gone", "there is nothing to fix");
    let failed = |what: String| CommandError::new(what, "see whether the program can be started by hand");
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(
        |error| failed(format!("the system cannot end the program together with the hub: {error}")),
    )?;
    // The parent may have died before the signal was set.
    let parent = rustix::process::getppid().ok_or_else(gone)?;
    if u32::try_from(parent.as_raw_nonzero().get()).ok() != Some(args.process) {
        return Err(gone());
    }
    let (program, arguments) = args.command.split_first().ok_or_else(gone)?;
    let error = std::process::Command::new(program).args(arguments).exec();
    Err(failed(format!("{} cannot be started: {error}", program.display())))
}

/// Other systems have no such signal.
#[cfg(not(target_os = "linux"))]
pub(super) fn run(_args: &AlongsideArgs) -> Result<(), CommandError> {
    Err(CommandError::new("this system has no such thing", "start the program by itself"))
}
