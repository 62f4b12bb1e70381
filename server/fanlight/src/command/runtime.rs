//! The tokio runtimes of the commands.

use tokio::runtime::{Builder, Runtime};

use super::CommandError;

/// A runtime for a hub, with one thread per core.
pub(crate) fn many_threads() -> Result<Runtime, CommandError> {
    built(&mut Builder::new_multi_thread())
}

/// A runtime for a client, which uses only the waiting thread.
pub(crate) fn one_thread() -> Result<Runtime, CommandError> {
    built(&mut Builder::new_current_thread())
}

fn built(builder: &mut Builder) -> Result<Runtime, CommandError> {
    builder.enable_all().build().map_err(|error| {
        CommandError::new(format!("cannot start: {error}"), "look at the limits of this user (`ulimit -a`)")
    })
}
