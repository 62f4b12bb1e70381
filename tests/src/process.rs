//! What the system says of a process: its memory, its open files, its threads. Read from `/proc`.

use std::fs;
use std::time::Duration;

/// A process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildProcess {
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// The most resident memory that it ever had, in bytes.
    pub peak_bytes: u64,
    /// Open files of the disk. A log opens some when it first reads.
    pub files: usize,
    /// The number of open sockets.
    pub sockets: usize,
    /// Whatever else is open: pipes, queues of the system.
    pub others: usize,
    /// The number of threads.
    pub threads: u64,
}

impl ChildProcess {
    /// The process `pid` as it is now.
    ///
    /// # Panics
    /// When it is gone, or the system has no `/proc`.
    pub fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0_u64)
        };
        let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours");
        // One that was closed since has no target any more.
        let targets: Vec<_> = files.flatten().filter_map(|file| fs::read_link(file.path()).ok()).collect();
        let count = |kind: &str| targets.iter().filter(|to| to.to_string_lossy().starts_with(kind)).count();
        let (files, sockets) = (count("/"), count("socket:"));
        Self {
            resident_bytes: number("VmRSS:") * 1024,
            peak_bytes: number("VmHWM:") * 1024,
            files,
            sockets,
            others: targets.len() - files - sockets,
            threads: number("Threads:"),
        }
    }
}

/// Lets the peak of memory of the process `pid` begin anew with what it has now.
///
/// # Panics
/// When it is no process of ours, or the system cannot do that.
pub fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("a process of ours");
}

/// CPU time of the process `pid` so far, its own and the kernel's for it; none when it is gone.
pub fn cpu(pid: u32) -> Duration {
    let ticks = stat(pid).and_then(|fields| Some(fields.get(11)? + fields.get(12)?));
    Duration::from_micros(ticks.unwrap_or(0) * 1_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// CPU time of the calling thread so far, its own and the kernel's for it; none where the system does not tell.
pub fn own_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// The numbers of `/proc/PID/stat` after the name, which may hold anything; 0 for what is no number. Nothing when the
/// process is gone.
pub fn stat(pid: u32) -> Option<Vec<u64>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect())
}

/// The ids of all processes that there are.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
