//! Where the packages of `tests/clients` are: `cargo xtask test` installs them and says so in the environment.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tokio::process::Command;

/// An interpreter with the packages of `tests/clients/requirements.txt`.
///
/// # Panics
/// When it is not installed.
pub fn python() -> Command {
    Command::new(python_program())
}

/// The program of that interpreter.
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

/// The folder of [`node_modules`], or one found without the variable in the cache of tools where `cargo xtask tools` has installed the packages.
/// Nothing where they are not installed; then it says on stderr what to type, and on a build machine (`CI`) it is a failure.
///
/// # Panics
/// On a build machine without them.
pub fn node_modules_or_advice() -> Option<PathBuf> {
    if std::env::var_os("FANLIGHT_NODE_MODULES").is_some() {
        return Some(node_modules());
    }
    let found = in_cache();
    if found.is_none() {
        let advice = "left out: the packages of tests/clients are not installed; type `cargo xtask tools`, which installs them once";
        let is_ci = std::env::var("CI").is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()));
        assert!(!is_ci, "{advice}");
        // Past the harness, which keeps what tests that pass print. Without a stderr nobody is there to be told.
        let _unheard = writeln!(std::io::stderr(), "{advice}");
    }
    found
}

/// The `node_modules` in the cache of tools that was filled to its end with the versions of the lock file.
fn in_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let tools = set("FANLIGHT_TOOLS")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fanlight/tools")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/fanlight/tools")))?;
    let lock = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/package-lock.json")).ok()?;
    let is_it = |home: &PathBuf| {
        home.join("whole").is_file()
            && std::fs::read(home.join("package-lock.json")).is_ok_and(|it| it == lock)
    };
    let homes = std::fs::read_dir(tools).ok()?.flatten().map(|entry| entry.path());
    homes.into_iter().find(is_it).map(|home| home.join("node_modules"))
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
