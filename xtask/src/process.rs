//! Running children: their output streams through as it comes, and a failure names the command line.

use crate::console::{pass_on, say};
use crate::failure::{CommandFailure, CommandResult};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a child to its end with our stdin, stdout and stderr. The command line is printed before it, with a
/// `$`.
pub(crate) fn run(command: &mut Command) -> CommandResult {
    say(format!("$ {}", line(command)));
    let status = command.status().map_err(CommandFailure::io(format!("starting `{}`", line(command))))?;
    if status.success() {
        Ok(())
    } else {
        Err(CommandFailure::new(format!("`{}` ended with {status}", line(command))))
    }
}

/// Runs a child, passes its stdout on, and shows each line of it to `see`. The answer is whether it ended
/// well. Bytes that are no UTF-8 are passed on as they are, and shown to `see` with replacements.
pub(crate) fn run_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> CommandResult<bool> {
    say(format!("$ {}", line(command)));
    let starting = CommandFailure::io(format!("starting `{}`", line(command)));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(starting)?;
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).map_err(CommandFailure::io("reading a child's output"))?
            > 0
        {
            pass_on(&bytes);
            see(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
    }
    let status = child.wait().map_err(CommandFailure::io("waiting for a child"))?;
    Ok(status.success())
}

/// Runs a child quietly; the answer is its stdout. A failure holds its stderr.
pub(crate) fn answer(command: &mut Command) -> CommandResult<String> {
    let output = command.output().map_err(CommandFailure::io(format!("starting `{}`", line(command))))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CommandFailure::new(format!(
            "`{}` ended with {}\n{}",
            line(command),
            output.status,
            said.trim_end()
        )))
    }
}

/// Where `program` is on the search path; `None` if it is nowhere. Whether it may be executed is not looked
/// at.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The command line as it is printed: the name of the program without its folder, and the arguments.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let name = |word: &OsStr| word.to_string_lossy().into_owned();
    let mut words = words.map(name);
    let program = words.next().unwrap_or_default();
    let short = Path::new(&program).file_name().map_or(program.clone(), name);
    std::iter::once(short).chain(words).collect::<Vec<_>>().join(" ")
}
