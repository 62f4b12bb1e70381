//! How programs of the project's own packages are run.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tempfile::TempDir;
use tests::wait::patiently;
use tokio::process::{Child, Command};

use tests::installed;

/// The folder of the package for `language`.
pub(crate) fn package(language: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../integrations")).join(language)
}

/// A program that finds the package and knows the hub.
pub(crate) fn told(mut command: Command, url: &str) -> Command {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("PYTHONPATH", package("python").join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("FANLIGHT_URL", url).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// An example of the Python package, for the hub at `url`.
pub(crate) fn python_example(name: &str, url: &str) -> Command {
    let mut command = told(installed::python(), url);
    command.arg(package("python").join("examples").join(name));
    command
}

/// What a program has printed, once it has ended well.
pub(crate) async fn printed(what: &str, program: Child) -> String {
    let Output { status, stdout, stderr } = patiently(what, program.wait_with_output()).await.unwrap();
    let (said, complained) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{what}: {status}\n{said}\n{complained}");
    said
}

/// The command that runs `behaves.py`.
pub(crate) fn python_behaves() -> Command {
    let mut command = told(installed::python(), "");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/clients/behaves.py"));
    command
}

/// A copy of the TypeScript package, built, with other projects' packages: its programs find it by its own name.
pub(crate) struct Installed {
    pub(crate) folder: TempDir,
}

impl Installed {
    /// Builds it, which checks all of its types.
    pub(crate) async fn build() -> Self {
        let (folder, source) = (TempDir::new().unwrap(), package("typescript"));
        // Programs and compilers look for packages from where they are up.
        std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules")).unwrap();
        for part in ["src", "examples", "tests"] {
            copy(&source.join(part), &folder.path().join(part));
        }
        for file in ["package.json", "tsconfig.json"] {
            std::fs::copy(source.join(file), folder.path().join(file)).unwrap();
        }
        let mut build = told(installed::node(), "");
        build.arg("node_modules/typescript/bin/tsc");
        printed("tsc", build.current_dir(folder.path()).spawn().unwrap()).await;
        Self { folder }
    }

    /// The command that runs `behaves.mjs`.
    pub(crate) fn behaves(&self) -> Command {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/behaves.mjs");
        std::fs::copy(program, self.folder.path().join("examples/behaves.mjs")).unwrap();
        self.example("behaves.mjs", "")
    }

    /// One of its examples, for the hub at `url`.
    pub(crate) fn example(&self, name: &str, url: &str) -> Command {
        let mut command = told(installed::node(), url);
        command.arg(self.folder.path().join("examples").join(name));
        command
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}
