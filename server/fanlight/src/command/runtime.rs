//! The runtimes of the commands.

use tokio::runtime::{Builder, Runtime};

use super::CommandError;

/// For a hub: as many threads as there are cores.
pub(crate) fn many_threads() -> Result<Runtime, CommandError> {
    built(&mut Builder::new_multi_thread())
}

/// For a client: all on the thread that waits for it.
pub(crate) fn one_thread() -> Result<Runtime, CommandError> {
    built(&mut Builder::new_current_thread())
}

fn built(builder: &mut Builder) -> Result<Runtime, CommandError> {
    builder.enable_all().build().map_err(|error| {
        CommandError::new(format!("cannot start: {error}"), "look at the limits of this user (`ulimit -a`)")
    })
}
