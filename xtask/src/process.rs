//! Running children: their output streams through as it comes, and a failure names the command line.

use crate::console::{pass_on, say};
use crate::failure::{CommandFailure, CommandResult};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Runs a child to its end with our stdin, stdout and stderr. The command line is printed before it, with a
/// `$`.
pub(crate) fn run(command: &mut Command) -> CommandResult {
    start(command)?.finish()
}

/// A child that runs beside this program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    line: String,
}

/// Starts a child with our stdin, stdout and stderr, and goes on. The command line is printed before it, with a `$`.
pub(crate) fn start(command: &mut Command) -> CommandResult<Running> {
    let line = line(command);
    say(format!("$ {line}"));
    let child = command.spawn().map_err(CommandFailure::io(format!("starting `{line}`")))?;
    Ok(Running { child, line })
}

impl Running {
    /// Waits for its end.
    pub(crate) fn finish(mut self) -> CommandResult {
        let status = self.child.wait().map_err(CommandFailure::io(format!("waiting for `{}`", self.line)))?;
        if status.success() {
            Ok(())
        } else {
            Err(CommandFailure::new(format!("`{}` ended with {status}", self.line)))
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Does nothing to a child that has been waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How long a child may say nothing, and who is killed then.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// The programs that the child has started; the child itself goes on.
    WithChildrenOf(Duration),
    /// The child itself.
    WithItself(Duration),
}

/// Runs a child, passes its stdout on, and shows each line of it to `see`. The answer is whether it ended
/// well. Bytes that are no UTF-8 are passed on as they are, and shown to `see` with replacements.
///
/// From the first line on, a silence longer than that of `patience` is shown to `see` as `None`, and what `patience` names is killed.
pub(crate) fn run_seeing(
    command: &mut Command,
    patience: Patience,
    mut see: impl FnMut(Option<&str>),
) -> CommandResult<bool> {
    say(format!("$ {}", line(command)));
    let starting = CommandFailure::io(format!("starting `{}`", line(command)));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(starting)?;
    if let Some(stdout) = child.stdout.take() {
        let (lines, read) = mpsc::channel();
        let reader = std::thread::spawn(move || send_lines(stdout, &lines));
        let (Patience::WithChildrenOf(silence_max) | Patience::WithItself(silence_max)) = patience;
        let mut silence = Duration::MAX;
        loop {
            match read.recv_timeout(silence) {
                Ok(bytes) => {
                    pass_on(&bytes);
                    see(Some(String::from_utf8_lossy(&bytes).trim_end()));
                    silence = silence_max;
                }
                Err(RecvTimeoutError::Timeout) => {
                    see(None);
                    match patience {
                        Patience::WithChildrenOf(_) => kill_children(child.id()),
                        Patience::WithItself(_) => {
                            child.kill().map_err(CommandFailure::io("killing a silent child"))?;
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Ok(ended) = reader.join() {
            ended.map_err(CommandFailure::io("reading a child's output"))?;
        }
    }
    let status = child.wait().map_err(CommandFailure::io("waiting for a child"))?;
    Ok(status.success())
}

/// Sends each line of `stdout`, with its end, until there are no more.
fn send_lines(stdout: ChildStdout, lines: &mpsc::Sender<Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut bytes = Vec::new();
        if reader.read_until(b'\n', &mut bytes)? == 0 || lines.send(bytes).is_err() {
            return Ok(());
        }
    }
}

/// Kills the programs that the process `parent` has started. Does nothing where the system does not list them.
fn kill_children(parent: u32) {
    let listed = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    for child in listed.unwrap_or_default().split_whitespace() {
        // A child that has just ended is no failure.
        drop(Command::new("kill").args(["-s", "KILL", child]).stderr(Stdio::null()).status());
    }
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

#[cfg(test)]
mod tests;
