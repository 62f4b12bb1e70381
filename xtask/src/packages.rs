//! Other projects' packages for the tests: a venv and a `node_modules` with the versions of the lock files in
//! `tests/clients/`, in the cache of tools.
//!
//! Each is a folder named by a hash of what it holds. It is filled once; a lock file that changes gets a folder of its
//! own. A folder that was not filled to its end has no mark, and is filled anew.

use crate::console::{human, say};
use crate::debian::{self, SystemPackage};
use crate::failure::{CommandFailure, CommandResult};
use crate::process::{answer, run, which};
use crate::tools::ToolCache;
use crate::workspace::Workspace;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The folder of the lock files.
const FOLDER: &str = "tests/clients";
/// The file that says that a folder is whole.
const MARK: &str = "whole";

/// What the Python packages need of the system.
const PYTHON: SystemPackage = SystemPackage {
    who: "the tests with other projects' packages",
    missing: || (!has_venv()).then_some("python3 with venv"),
    packages: &["python3", "python3-venv"],
    elsewhere: "install python3 with its modules venv and ensurepip, and put it on the search path",
};

/// What the JavaScript packages need of the system.
const NODE: SystemPackage = SystemPackage {
    who: "the tests with other projects' packages",
    missing: || ["node", "npm"].into_iter().find(|program| which(program).is_none()),
    packages: &["nodejs", "npm"],
    elsewhere: "install node and npm, and put both on the search path",
};

/// What makes machines of network namespaces.
const NETWORK: SystemPackage = SystemPackage {
    who: "the tests with several machines",
    missing: || which("ip").is_none().then_some("ip"),
    packages: &["iproute2"],
    elsewhere: "install iproute2, and put ip on the search path",
};

/// The reverse proxies for which the documents have files.
const FRONT_PROXIES: SystemPackage = SystemPackage {
    who: "the tests with a reverse proxy before the hub",
    missing: || [("nginx", "/usr/sbin/nginx"), ("caddy", "/usr/bin/caddy")].into_iter().find_map(lacks),
    packages: &["nginx", "caddy"],
    elsewhere: "install nginx and caddy, and put both on the search path",
};

/// The name of a program that is neither on the search path nor where Debian has it.
fn lacks((name, usual): (&'static str, &str)) -> Option<&'static str> {
    (which(name).is_none() && !Path::new(usual).is_file()).then_some(name)
}

/// Makes sure that there is what makes machines of network namespaces.
pub(crate) fn ensure_network() -> CommandResult {
    debian::ensure(&NETWORK)
}

/// The places of the packages.
#[derive(Debug)]
pub(crate) struct Packages {
    /// The interpreter of the venv.
    python: PathBuf,
    /// The folder with the JavaScript packages.
    node_modules: PathBuf,
}

impl Packages {
    /// Makes sure that all packages are there, and says where. The first time it installs them, which needs a
    /// network.
    pub(crate) fn ensure(ws: &Workspace) -> CommandResult<Self> {
        let tools = ToolCache::find()?;
        debian::ensure(&PYTHON)?;
        debian::ensure(&NODE)?;
        ensure_network()?;
        debian::ensure(&FRONT_PROXIES)?;
        Ok(Self { python: venv(ws, &tools)?, node_modules: node_modules(ws, &tools)? })
    }

    /// What tests find in their environment: where the packages are.
    pub(crate) fn told(&self) -> [(&'static str, &Path); 2] {
        [("FANLIGHT_PYTHON", &self.python), ("FANLIGHT_NODE_MODULES", &self.node_modules)]
    }
}

/// The interpreter of a venv with the packages of `requirements.lock`.
fn venv(ws: &Workspace, tools: &ToolCache) -> CommandResult<PathBuf> {
    let lock = ws.path(FOLDER).join("requirements.lock");
    // A venv belongs to the interpreter that made it.
    let made_of = format!("{}{}", answer(Command::new("python3").arg("--version"))?, read(&lock)?);
    let home = tools.folder(&format!("python-{}", hash(&made_of)));
    let python = home.join("bin/python");
    fill(&home, "Python", || {
        run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        run(pip.arg(&lock))
    })?;
    Ok(python)
}

/// A `node_modules` with the packages of `package-lock.json`; no script of a package is run.
fn node_modules(ws: &Workspace, tools: &ToolCache) -> CommandResult<PathBuf> {
    const FILES: [&str; 2] = ["package.json", "package-lock.json"];
    let made_of =
        FILES.into_iter().map(|name| read(&ws.path(FOLDER).join(name))).collect::<CommandResult<String>>()?;
    let home = tools.folder(&format!("node-{}", hash(&made_of)));
    fill(&home, "JavaScript", || {
        for name in FILES {
            fs::copy(ws.path(FOLDER).join(name), home.join(name))
                .map_err(CommandFailure::io(format!("copying {name}")))?;
        }
        let mut npm = Command::new("npm");
        run(npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&home))
    })?;
    Ok(home.join("node_modules"))
}

/// Fills the folder `home` unless it is whole. What an earlier try left there is removed first. The mark is
/// written last.
fn fill(home: &Path, language: &str, install: impl FnOnce() -> CommandResult) -> CommandResult {
    let mark = home.join(MARK);
    if mark.is_file() {
        return Ok(());
    }
    say(format!("installing the {language} packages of {FOLDER} into {} (once)", home.display()));
    let started = Instant::now();
    if home.exists() {
        fs::remove_dir_all(home).map_err(CommandFailure::io(format!("removing {}", home.display())))?;
    }
    fs::create_dir_all(home).map_err(CommandFailure::io(format!("making {}", home.display())))?;
    install()?;
    fs::write(&mark, "").map_err(CommandFailure::io(format!("writing {}", mark.display())))?;
    say(format!("the {language} packages are installed in {}", human(started.elapsed())));
    Ok(())
}

/// Whether python3 can make a venv with pip in it.
fn has_venv() -> bool {
    answer(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_ok()
}

/// The text of a file; a failure names it.
fn read(file: &Path) -> CommandResult<String> {
    fs::read_to_string(file).map_err(CommandFailure::io(format!("reading {}", file.display())))
}

/// A name for what `text` says. Another toolchain may give another one; then the folder is filled once more.
fn hash(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
