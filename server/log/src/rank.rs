//! Which threads go first where there are more of them than cores: those that carry bytes between peers. What can wait
//! steps back, and the kernel then takes the core from it the moment one of the others wakes.

/// How far a thread steps back behind those that serve peers. In the units of `nice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// What viewers soon see, but nobody waits for.
    Recording = 5,
    /// What one client asked for and takes long: searches, exports, large bodies. Nobody else waits for it.
    Asked = 10,
    /// What only saves room and time later.
    Packing = 15,
}

/// Lets this thread step back for good. Where the system has no ranks for threads, or does not let it, it stays.
pub fn step_back(rank: Rank) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // Threads have numbers as processes do there, and each its own place. Counted from where the process stands: this
        // thread may have been started by one that stepped back itself, and such a one begins where that stands.
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
