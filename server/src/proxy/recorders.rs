//! The threads that record calls. Threads of their own, behind those that carry the calls: what is read, joined and
//! written of one call never keeps another one waiting for a core (I12).

use std::future::Future;
use std::sync::OnceLock;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::TaskTracker;

use crate::rank::{Rank, step_back};

/// See the module. They are started with the first call.
#[derive(Debug, Default)]
pub(super) struct Recorders(OnceLock<Option<Runtime>>);

impl Recorders {
    /// Runs `recording` on them, counted among `tasks`.
    pub(super) fn spawn(&self, tasks: &TaskTracker, recording: impl Future<Output = ()> + Send + 'static) {
        match self.0.get_or_init(start) {
            Some(runtime) => tasks.spawn_on(recording, runtime.handle()),
            // No more threads can be had; then among those of the calls.
            None => tasks.spawn_on(recording, &Handle::current()),
        };
    }
}

/// Half as many threads as there are cores: beside each call that is recorded there are its caller and its upstream.
fn start() -> Option<Runtime> {
    let threads = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let built = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("recorder")
        .on_thread_start(|| step_back(Rank::Recording))
        .enable_time()
        .build();
    built.inspect_err(|error| tracing::warn!(%error, "calls are recorded beside the calls")).ok()
}

impl Drop for Recorders {
    /// By now the drain has waited for what they do; a runtime that is dropped the usual way waits, and may not be
    /// dropped where other tasks run.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
