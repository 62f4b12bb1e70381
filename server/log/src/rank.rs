//! Ranks: which threads run first if there are more of them than cores. Threads that carry bytes between
//! peers come first. Work that can wait runs at a lower rank, and the kernel takes the core from it as soon
//! as one of the others wakes.

/// How far a thread steps back behind those that serve peers, in units of `nice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Work whose result viewers soon see, but nobody waits for.
    Recording = 5,
    /// Work that one client asked for and that takes long: searches, exports, large bodies.
    Asked = 10,
    /// Work that only saves space and time later.
    Packing = 15,
}

/// Lowers the rank of this thread for good. Where the system has no ranks for threads, or forbids the change,
/// the rank stays.
pub fn step_back(rank: Rank) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // On Linux, threads have ids as processes do, and each its own nice value. The new value counts from
        // the process's, because a thread inherits the value of the thread that started it, which may have
        // stepped back itself.
        let (this, process) = (rustix::thread::gettid(), rustix::process::getpid());
        let placed = rustix::process::getpriority_process(Some(process)).and_then(|now| {
            rustix::process::setpriority_process(Some(this), now.saturating_add(rank as i32))
        });
        if let Err(error) = placed {
            tracing::debug!(%error, ?rank, "this thread stays among the others");
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _: Rank = rank;
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests;
