//! Priorities: which threads run first if there are more of them than cores. Threads that carry bytes between
//! peers come first. Work that can wait runs at a lower priority, and the kernel takes the core from it as soon
//! as one of the others wakes.

use crate::blocking;

/// How far a thread steps back behind those that serve peers, in units of `nice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadPriority {
    /// Work whose result viewers soon see, but nobody waits for.
    Recording = 5,
    /// Work that one client asked for and that takes long: searches, exports, large bodies.
    Asked = 10,
    /// Work that only saves space and time later.
    Packing = 15,
}

/// Lowers the priority of this thread for good. Where the system has no priorities for threads, or forbids the change,
/// the priority stays.
pub fn lower_priority(priority: ThreadPriority) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // On Linux, threads have ids as processes do, and each its own nice value. The new value counts from
        // the process's, because a thread inherits the value of the thread that started it, which may have
        // stepped back itself.
        let (this, process) = (rustix::thread::gettid(), rustix::process::getpid());
        let placed = rustix::process::getpriority_process(Some(process)).and_then(|now| {
            rustix::process::setpriority_process(Some(this), now.saturating_add(priority as i32))
        });
        if let Err(error) = placed {
            tracing::debug!(%error, ?priority, "this thread stays among the others");
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _: ThreadPriority = priority;
}

/// Does `work` in a thread of the lower priority `priority`, and waits for it. For work of milliseconds that a thread which
/// serves peers cannot do without: the others that serve peers keep their cores meanwhile. Starting the thread
/// takes some tens of microseconds. Call it where this thread may wait, and never with a lock that those who serve
/// peers take: the holder would wait behind them. A panic of `work` goes on in the caller.
pub fn run_at_priority<T: Send>(priority: ThreadPriority, work: impl FnOnce() -> T + Send) -> T {
    let done = std::thread::scope(|scope| {
        let ranked = scope.spawn(|| {
            lower_priority(priority);
            work()
        });
        ranked.join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Does `work` on something of `bytes` bytes: here up to `here_bytes_max`, and with more of them [`run_at_priority`] at the lower priority `priority`,
/// as [`blocking`] allows it in a task. Below that bound, starting a thread takes a good part of the time of the work.
pub fn run_at_priority_if_large<T: Send>(
    priority: ThreadPriority,
    bytes: u64,
    here_bytes_max: u64,
    work: impl FnOnce() -> T + Send,
) -> T {
    if bytes > here_bytes_max { blocking(|| run_at_priority(priority, work)) } else { work() }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests;
