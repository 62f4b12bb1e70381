//! What the system says of a process: its memory, its open files, its threads. Read from `/proc`.

use std::fs;
use std::time::Duration;

/// A process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// Open files of the disk. A log opens some when it first reads.
    pub files: usize,
    /// Open sockets.
    pub sockets: usize,
    /// Whatever else is open: pipes, queues of the system.
    pub others: usize,
    /// Threads.
    pub threads: u64,
}

impl Process {
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
            files,
            sockets,
            others: targets.len() - files - sockets,
            threads: number("Threads:"),
        }
    }
}

/// CPU time of the process `pid` so far, its own and the kernel's for it, in seconds.
pub fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before may have blanks.
    let fields: Vec<_> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = [11, 12].iter().filter_map(|field| fields.get(*field)?.parse::<f64>().ok()).sum::<f64>();
    ticks / Duration::from_secs(rustix::param::clock_ticks_per_second().max(1)).as_secs_f64()
}
