//! A server under test: its process and the processes that it starts, their CPU time and memory, and their end.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::{self, cpu, stat};
use rustix::process::{Pid, Signal, kill_process};

use super::Outcome;
use super::clock::Clock;

/// A running server. Ends with its children when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts it; what it prints goes to `log`.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn start(command: &mut Command, log: &Path) -> Outcome<Self> {
        let file = fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// The first printed line that `pick` makes something of; at most 20 s.
    ///
    /// # Errors
    /// When there is none.
    pub fn printed<T>(&mut self, pick: impl Fn(&str) -> Option<T>) -> Outcome<T> {
        self.printed_within(20, pick)
    }

    /// The first printed line that `pick` makes something of; at most so many seconds.
    ///
    /// # Errors
    /// When there is none.
    pub fn printed_within<T>(&mut self, seconds: u64, pick: impl Fn(&str) -> Option<T>) -> Outcome<T> {
        let mut found = None;
        Clock::start().wait_for(seconds, || {
            found = fs::read_to_string(&self.log).unwrap_or_default().lines().find_map(&pick);
            found.is_some() || self.child.try_wait().is_ok_and(|status| status.is_some())
        });
        found.ok_or_else(|| self.complaint())
    }

    /// Waits until `is_ready`; at most 20 s.
    ///
    /// # Errors
    /// When it does not come to be.
    pub fn wait_ready(&self, is_ready: impl FnMut() -> bool) -> Outcome<()> {
        if Clock::start().wait_for(20, is_ready) { Ok(()) } else { Err(self.complaint()) }
    }

    fn complaint(&self) -> Box<dyn std::error::Error + Send + Sync> {
        let printed = fs::read_to_string(&self.log).unwrap_or_default();
        format!("the server did not get ready; it printed:\n{printed}").into()
    }

    /// The number of the process that was started.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, and waits for that.
    ///
    /// # Errors
    /// When it does not end within so many seconds.
    pub fn stop(&mut self, seconds: u64) -> Outcome<()> {
        signal(self.child.id(), Signal::TERM);
        if Clock::start().wait_for(seconds, || self.is_over()) {
            return Ok(());
        }
        Err(format!("the server did not end within {seconds} s").into())
    }

    /// CPU time of all its processes until now, user and system, in microseconds.
    pub fn cpu_micros(&self) -> u64 {
        micros(family(self.child.id()).into_iter().map(cpu).sum())
    }

    /// Resident memory of all its processes, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        family(self.child.id()).iter().filter_map(|pid| resident(*pid)).sum()
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().map_or(true, |status| status.is_some())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let all = family(self.child.id());
        if !self.is_over() {
            signal(self.child.id(), Signal::TERM);
        }
        if !Clock::start().wait_for(3, || self.is_over()) {
            for pid in all {
                signal(pid, Signal::KILL);
            }
            drop(self.child.wait());
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already, and then there is nothing to do.
        kill_process(pid, signal).unwrap_or_default();
    }
}

/// CPU time of this process, in microseconds.
pub fn own_cpu_micros() -> u64 {
    micros(cpu(std::process::id()))
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// CPU time that the whole machine spent on anything, in microseconds; 0 when it cannot be read.
pub fn machine_cpu_micros() -> u64 {
    // cpu  user nice system idle iowait irq softirq steal
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let busy = fields.enumerate().filter(|(place, _)| !matches!(place, 3 | 4));
    let ticks: u64 = busy.map(|(_, field)| field.parse().unwrap_or(0)).sum();
    ticks * 1_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

fn resident(pid: u32) -> Option<u64> {
    let pages = *stat(pid)?.get(21)?;
    Some(pages * rustix::param::page_size() as u64)
}

/// `root` and all that descend from it.
fn family(root: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for pid in process::all() {
        if let Some(parent) = stat(pid).and_then(|fields| fields.get(1).copied()) {
            parents.push((pid, parent as u32));
        }
    }
    let mut all = BTreeSet::from([root]);
    loop {
        let before = all.len();
        all.extend(
            parents
                .iter()
                .filter(|(_, parent)| all.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if all.len() == before {
            return all;
        }
    }
}
