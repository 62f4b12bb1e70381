//! Where the packages are: `cargo xtask test` installs them and says so in the environment.

use std::path::PathBuf;

use tokio::process::Command;

/// An interpreter with the packages of `tests/clients/requirements.txt`.
pub(crate) fn python() -> Command {
    Command::new(python_program())
}

/// Its program.
pub(crate) fn python_program() -> PathBuf {
    place("FANLIGHT_PYTHON")
}

/// The runtime of JavaScript. It looks for packages beside the program: link [`node_modules`] there.
pub(crate) fn node() -> Command {
    Command::new("node")
}

/// A folder with the packages of `tests/clients/package.json`.
pub(crate) fn node_modules() -> PathBuf {
    place("FANLIGHT_NODE_MODULES")
}

fn place(name: &str) -> PathBuf {
    let place = std::env::var_os(name).map(PathBuf::from);
    let place = place
        .unwrap_or_else(|| panic!("{name} is not set: `cargo xtask test` installs the packages and sets it"));
    assert!(place.exists(), "{name}: there is no {}; `cargo xtask test` installs it", place.display());
    place
}
