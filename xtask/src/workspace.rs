//! Where things are: the root of the tree, cargo, the build directory.

use crate::failure::{CommandFailure, CommandResult};
use crate::process;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The work tree and its build directory.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The root of the work tree.
    root: PathBuf,
    /// The build directory, which may be outside of it.
    target: PathBuf,
    /// The cargo that runs this program, so that children use the same toolchain.
    cargo: OsString,
}

impl Workspace {
    /// Finds the tree this program was built from. Cargo is asked for the build directory, since it may be
    /// set by an environment variable or a configuration file. Fails if cargo does not answer, for example
    /// because Cargo.lock is not up to date.
    pub(crate) fn find() -> CommandResult<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .map(Path::to_path_buf)
            .ok_or_else(|| CommandFailure::new(format!("{} has no parent", manifest.display())))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut ask = Command::new(&cargo);
        ask.current_dir(&root).args(["metadata", "--no-deps", "--format-version", "1", "--locked"]);
        let metadata = process::answer(&mut ask)?;
        let target = metadata
            .split_once("\"target_directory\":\"")
            .and_then(|(_, after)| after.split_once('"'))
            .map(|(path, _)| PathBuf::from(path.replace("\\\\", "\\")))
            .ok_or_else(|| CommandFailure::new("`cargo metadata` names no target directory"))?;
        Ok(Self { root, target, cargo })
    }

    /// A path inside the tree.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    /// The root of the tree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The build directory of cargo.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The product: the hub with the page inside.
    pub(crate) fn product(&self) -> PathBuf {
        self.target.join("release").join(format!("fanlight{}", std::env::consts::EXE_SUFFIX))
    }

    /// The hub as tests start it: a debug build, which reads the page from `dist/`.
    pub(crate) fn debug_hub(&self) -> PathBuf {
        self.target.join("debug").join(format!("fanlight{}", std::env::consts::EXE_SUFFIX))
    }

    /// A command that runs in the root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Cargo in the root, with the words of `line`.
    pub(crate) fn cargo(&self, line: &str) -> Command {
        let mut command = self.command(&self.cargo);
        command.args(line.split_whitespace());
        command
    }
}

/// True on the build machine, where nothing may be left out in silence.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}
