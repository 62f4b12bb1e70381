//! A program that runs until it is told to end.

use super::ClusterEvent;
use crate::failure::{CommandFailure, CommandResult};
use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeReader, Write as _, pipe};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// How long a program may take until it says that it is ready.
const START: Duration = Duration::from_mins(1);

/// How long a program may take to end before it is killed.
const END: Duration = Duration::from_secs(20);

/// How many of the last lines of a program that does not start are shown.
const LAST_LINES: usize = 8;

/// A running program in a process group of its own. Dropping it asks it to end, waits up to [`END`], and then kills it.
#[derive(Debug)]
pub(super) struct ChildServer {
    pid: u32,
    /// The name of the signal that asks it to end.
    end_signal: &'static str,
    is_asked: bool,
    /// Closed when it has ended and was waited for, which a thread does that has the process.
    ended: Receiver<()>,
}

/// The start of a program: its name, what it says and where.
#[derive(Debug)]
pub(super) struct ServerStart<'a> {
    pub(super) name: &'a str,
    /// A part of the line with which it says that it is ready.
    pub(super) ready: &'static str,
    pub(super) end_signal: &'static str,
    /// The folder of the file `NAME.log`, which gets what it says.
    pub(super) folder: &'a Path,
}

impl ServerStart<'_> {
    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name.replace(' ', "-")))
    }

    /// Starts `command` and waits until it is ready. With the program comes the line that says so.
    pub(super) fn start(
        &self,
        mut command: Command,
        events: &Sender<ClusterEvent>,
    ) -> CommandResult<(ChildServer, String)> {
        let starting = || CommandFailure::io(format!("starting {}", self.name));
        let path = self.log();
        let log = File::create(&path).map_err(CommandFailure::io(format!("writing {}", path.display())))?;
        let (reader, writer) = pipe().map_err(starting())?;
        command.stdin(Stdio::null()).process_group(0);
        command.stderr(writer.try_clone().map_err(starting())?).stdout(writer);
        let mut child = command.spawn().map_err(starting())?;
        // It holds our ends of the pipe.
        drop(command);
        let (ready_sender, ready) = channel();
        let (alive, ended) = channel();
        let (mark, name, events) = (self.ready, self.name.to_owned(), events.clone());
        let pid = child.id();
        thread::spawn(move || {
            copy(reader, log, mark, &ready_sender);
            drop(ready_sender);
            // Waited for at once, so that no dead process stays in the list of the system.
            let _status = child.wait();
            drop(alive);
            // The command is over and nobody waits any more.
            let _gone = events.send(ClusterEvent::Ended(name));
        });
        let server = ChildServer { pid, end_signal: self.end_signal, is_asked: false, ended };
        let Ok(line) = ready.recv_timeout(START) else {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            let what = format!("{} does not start; the last it said:\n{}", self.name, last_lines(&said));
            return Err(CommandFailure::new(what));
        };
        Ok((server, line))
    }
}

/// Copies what a program says into its file until nobody is left who could say something. `ready` gets the first line
/// with `mark`.
fn copy(reader: PipeReader, mut log: File, mark: &str, ready: &Sender<String>) {
    let mut reader = BufReader::new(reader);
    let (mut line, mut is_ready) = (Vec::new(), false);
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // A full disk: the program goes on, and its lines are lost.
        let _lost = log.write_all(&line);
        let text = String::from_utf8_lossy(&line);
        if !is_ready && text.contains(mark) {
            is_ready = true;
            // Whoever waited has given up.
            let _gone = ready.send(text.trim_end().to_owned());
        }
        line.clear();
    }
}

/// The end of what a program said.
pub(super) fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines.get(from..).unwrap_or_default().join("\n")
}

impl ChildServer {
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Asks it to end, once, also when it is paused.
    pub(super) fn ask_to_end(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.signal(self.end_signal);
            self.signal("CONT");
        }
    }

    fn signal(&self, name: &str) {
        if self.ended.try_recv() == Err(TryRecvError::Disconnected) {
            // Its number may be that of another process by now.
            return;
        }
        let mut kill = Command::new("kill");
        kill.args(["-s", name]).arg(self.pid.to_string()).stderr(Stdio::null());
        // One that ended in the meantime needs no signal.
        let _sent = kill.status();
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        self.ask_to_end();
        if self.ended.recv_timeout(END) == Err(RecvTimeoutError::Timeout) {
            self.signal("KILL");
            // Only one that the kernel cannot end outlives this.
            let _ended = self.ended.recv_timeout(END);
        }
    }
}

/// `program`, which the kernel asks to end by `end_signal` when this process dies without having done so. It becomes
/// the user `user`, if one is given.
pub(super) fn bound_to_us(program: &Path, end_signal: &str, user: Option<&str>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(user) = user {
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
    }
    command.arg("--pdeathsig").arg(end_signal).arg("--").arg(program);
    command
}
