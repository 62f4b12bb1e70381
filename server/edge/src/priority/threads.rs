//! A pool of threads with one priority. Work that takes a core for long runs on such threads, so that it never
//! keeps those that serve peers waiting.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use event_log::priority::lower_priority;

use super::ThreadPriority;

/// A pool of threads that have the priority [`ThreadPriority`]. They are started when they first have work. Dropping the
/// pool does not wait for them.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Their name, as the system's tools show it.
    name: &'static str,
    priority: ThreadPriority,
    /// The number of threads for tasks.
    tasks: usize,
    /// Most threads for closures.
    closures: usize,
    /// `None` inside if no threads could be started.
    runtime: OnceLock<Option<Runtime>>,
}

impl Threads {
    /// Makes a pool that is not started yet, with `tasks` threads for [`Threads::spawn`] and at most
    /// `closures` for [`Threads::run`].
    pub(crate) const fn new(
        name: &'static str,
        priority: ThreadPriority,
        tasks: usize,
        closures: usize,
    ) -> Self {
        Self { name, priority, tasks, closures, runtime: OnceLock::new() }
    }

    /// Runs `task` in the pool; it is counted among `tasks`.
    pub(crate) fn spawn(&self, tasks: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
        tasks.spawn_on(task, &self.handle());
    }

    /// Runs `work` in the pool as soon as a thread is free. It runs to its end even if nobody waits for it,
    /// unless the hub ends.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.handle().spawn_blocking(work)
    }

    /// The pool's runtime; that of the caller if no threads could be started.
    fn handle(&self) -> Handle {
        let runtime = self.runtime.get_or_init(|| self.start());
        runtime.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }

    /// Starts the threads. `None` if that fails.
    fn start(&self) -> Option<Runtime> {
        let priority = self.priority;
        let built = Builder::new_multi_thread()
            .worker_threads(self.tasks)
            .max_blocking_threads(self.closures)
            .thread_name(self.name)
            .on_thread_start(move || lower_priority(priority))
            .enable_time()
            .build();
        let threads = self.name;
        built.inspect_err(|error| tracing::warn!(%error, threads, "no more threads can be had")).ok()
    }
}

impl Drop for Threads {
    /// Ends the pool without waiting. The drain has waited for its work already; a runtime that is dropped in
    /// the usual way waits, which is not allowed where other tasks run.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
