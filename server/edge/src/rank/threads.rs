//! Threads of one rank. What takes a core for long runs on them, and so never keeps those that serve peers waiting for one.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use event_log::rank::step_back;

use super::Rank;

/// Some threads that stand where [`Rank`] says. They are started when they first have something to do.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Their name, as tools of the system show it.
    name: &'static str,
    rank: Rank,
    /// How many there are for tasks.
    tasks: usize,
    /// How many there are at most for closures.
    closures: usize,
    /// Nothing in it: no threads could be had.
    runtime: OnceLock<Option<Runtime>>,
}

impl Threads {
    /// Threads that are not started yet: `tasks` of them for [`Threads::spawn`], at most `closures` for [`Threads::run`].
    pub(crate) const fn new(name: &'static str, rank: Rank, tasks: usize, closures: usize) -> Self {
        Self { name, rank, tasks, closures, runtime: OnceLock::new() }
    }

    /// Runs `task` on them, counted among `tasks`.
    pub(crate) fn spawn(&self, tasks: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
        tasks.spawn_on(task, &self.handle());
    }

    /// Runs `work` on one of them, as soon as one has nothing else to do. It is seen to its end whoever waits for it, unless the
    /// hub ends.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.handle().spawn_blocking(work)
    }

    /// Where they take work. Where no more threads can be had, that is among those of the caller.
    fn handle(&self) -> Handle {
        let runtime = self.runtime.get_or_init(|| self.start());
        runtime.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }

    fn start(&self) -> Option<Runtime> {
        let rank = self.rank;
        let built = Builder::new_multi_thread()
            .worker_threads(self.tasks)
            .max_blocking_threads(self.closures)
            .thread_name(self.name)
            .on_thread_start(move || step_back(rank))
            .enable_time()
            .build();
        let threads = self.name;
        built.inspect_err(|error| tracing::warn!(%error, threads, "no more threads can be had")).ok()
    }
}

impl Drop for Threads {
    /// By now the drain has waited for what they do; a runtime that is dropped the usual way waits, and may not be
    /// dropped where other tasks run.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
