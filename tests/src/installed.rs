//! Where the packages of `tests/clients` are: `cargo xtask test` installs them and says so in the environment.

use std::path::PathBuf;

use tokio::process::Command;

/// An interpreter with the packages of `tests/clients/requirements.txt`.
///
/// # Panics
/// When it is not installed.
pub fn python() -> Command {
    Command::new(python_program())
}

/// Its program.
///
/// # Panics
/// When it is not installed.
pub fn python_program() -> PathBuf {
    place("FANLIGHT_PYTHON")
}

/// The runtime of JavaScript. It looks for packages beside the program: link [`node_modules`] there.
pub fn node() -> Command {
    Command::new("node")
}

/// A folder with the packages of `tests/clients/package.json`.
///
/// # Panics
/// When it is not installed.
pub fn node_modules() -> PathBuf {
    place("FANLIGHT_NODE_MODULES")
}

/// The browser, for programs that start one themselves.
///
/// # Panics
/// When there is none on the search path.
pub fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file());
    found.expect("chromium is on the search path (apt-get install chromium)")
}

fn place(name: &str) -> PathBuf {
    let place = std::env::var_os(name).map(PathBuf::from);
    let place = place
        .unwrap_or_else(|| panic!("{name} is not set: `cargo xtask test` installs the packages and sets it"));
    assert!(place.exists(), "{name}: there is no {}; `cargo xtask test` installs it", place.display());
    place
}
