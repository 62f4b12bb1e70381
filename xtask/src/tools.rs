//! The pinned tools: installed once into a cache outside the build directory, found again by their version.
//!
//! `cargo clean` does not throw them away, and two clones share them. Nothing is taken from the search path, so that
//! every machine builds with the same tools.

use crate::console::{human, say};
use crate::failure::{CommandFailure, CommandResult};
use crate::process::{answer, run, which};
use crate::workspace::Workspace;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// cargo-deny: licences, bans and sources.
const CARGO_DENY: &str = "0.20.2";
/// cargo-fuzz: drives the random bytes.
const CARGO_FUZZ: &str = "0.13.2";
/// Binaryen, as its authors publish it for node: `wasm-opt`. Distributions carry versions too old for our compiler.
const BINARYEN: &str = "132.0.0";
/// Mermaid in its smaller form, as its authors publish it for npm: draws diagrams in the page. And the SHA-256 of its file.
const MERMAID: (&str, &str) = ("12.0.0", "9f2807e402479d2864bfd9a95052076fc69d0ff45a0b25148b84b70fc33425b9");
/// What the page is compiled for.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// The cache of tools. Cargo's tools are in its `bin`; what npm installs has a folder for each version.
#[derive(Debug)]
pub(crate) struct ToolCache {
    /// The folder of the cache, which may not be there yet.
    root: PathBuf,
}

impl ToolCache {
    /// Where the tools are, or will be. `$FANLIGHT_TOOLS`, else `$XDG_CACHE_HOME/fanlight/tools`, else
    /// `~/.cache/fanlight/tools`; fails if none of the three variables is set.
    pub(crate) fn find() -> CommandResult<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("FANLIGHT_TOOLS")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fanlight/tools")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/fanlight/tools")))
            .ok_or_else(|| {
                CommandFailure::new("no place for the tools")
                    .mend("set FANLIGHT_TOOLS to a folder that may be written")
            })?;
        Ok(Self { root })
    }

    /// A folder of the cache, be it there or not.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The path of cargo-deny; installs it where it is missing.
    pub(crate) fn cargo_deny(&self, ws: &Workspace) -> CommandResult<PathBuf> {
        let pin =
            PinnedTool { package: "cargo-deny", program: "cargo-deny", version: CARGO_DENY, locked: true };
        self.cargo_tool(ws, &pin)
    }

    /// The path of cargo-fuzz; installs it where it is missing.
    pub(crate) fn cargo_fuzz(&self, ws: &Workspace) -> CommandResult<PathBuf> {
        let pin =
            PinnedTool { package: "cargo-fuzz", program: "cargo-fuzz", version: CARGO_FUZZ, locked: true };
        self.cargo_tool(ws, &pin)
    }

    /// wasm-bindgen for `trunk serve`, at the version that the page is locked to, since the two must be equal. The page itself is built with the
    /// library of the same name.
    pub(crate) fn wasm_bindgen(&self, ws: &Workspace) -> CommandResult<PathBuf> {
        let lock = std::fs::read_to_string(ws.path("Cargo.lock"))
            .map_err(CommandFailure::io("reading Cargo.lock"))?;
        match locked_version(&lock, "wasm-bindgen") {
            // Without --locked: the lock file that this tool ships does not always resolve.
            Some(version) => {
                let pin = PinnedTool {
                    package: "wasm-bindgen-cli",
                    program: "wasm-bindgen",
                    version,
                    locked: false,
                };
                self.cargo_tool(ws, &pin)
            }
            None => Err(CommandFailure::new(
                "Cargo.lock has no wasm-bindgen, and the page cannot be built without it",
            )),
        }
    }

    /// wasm-opt, where node and npm are there to run it; else why not. Without it the page works and is
    /// larger, so this is no failure of a command.
    pub(crate) fn wasm_opt(&self) -> Result<PathBuf, String> {
        if which("node").is_none() {
            return Err("node and npm are not on the search path".to_owned());
        }
        self.npm_file(&format!("binaryen-{BINARYEN}"), "binaryen", BINARYEN, ".bin/wasm-opt")
    }

    /// The file of Mermaid, where npm is there to fetch it or has done so before; else why not. Without it the page works and shows diagrams as
    /// code. Fails if the file has another hash: then it is removed, so that the next command fetches it again.
    pub(crate) fn mermaid(&self) -> CommandResult<Result<PathBuf, String>> {
        let (version, hash) = MERMAID;
        let inside = "@mermaid-js/tiny/dist/mermaid.tiny.js";
        let folder = format!("mermaid-{version}");
        let file = match self.npm_file(&folder, "@mermaid-js/tiny", version, inside) {
            Ok(file) => file,
            Err(why) => return Ok(Err(why)),
        };
        let bytes =
            std::fs::read(&file).map_err(CommandFailure::io(format!("reading {}", file.display())))?;
        let found = Sha256::digest(&bytes).iter().fold(String::new(), |found, byte| {
            let digits =
                [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('?'));
            found + &String::from_iter(digits)
        });
        if found != hash {
            let folder = self.folder(&folder);
            std::fs::remove_dir_all(&folder)
                .map_err(CommandFailure::io(format!("removing {}", folder.display())))?;
            return Err(CommandFailure::new(format!(
                "{} had the SHA-256 {found}, not {hash}, and was removed",
                file.display()
            ))
            .mend("run the command again, which fetches it again; if it fails again, look at what npm fetches from"));
        }
        Ok(Ok(file))
    }

    /// The file `inside` the modules of an npm package, which is installed into `folder` of the cache where the file is missing. The error
    /// says why it cannot be had.
    fn npm_file(&self, folder: &str, package: &str, version: &str, inside: &str) -> Result<PathBuf, String> {
        let home = self.root.join(folder);
        let file = home.join("node_modules").join(inside);
        if !file.is_file() {
            if which("npm").is_none() {
                return Err("npm is not on the search path".to_owned());
            }
            std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"])
                .arg(&home)
                .arg(format!("{package}@{version}"));
            run(&mut npm).map_err(|failure| failure.to_string())?;
        }
        Ok(file)
    }

    /// Whether a tool is there at its version: it says so itself, or cargo does of one that has no such option.
    fn has(&self, program: &Path, pin: &PinnedTool<'_>) -> bool {
        has_version(program, pin.version)
            || program.is_file()
                && std::fs::read_to_string(self.root.join(".crates.toml"))
                    .is_ok_and(|list| is_listed(&list, pin.package, pin.version))
    }

    /// The path of a tool that cargo installs; it is installed where it is missing or has another version.
    fn cargo_tool(&self, ws: &Workspace, pin: &PinnedTool<'_>) -> CommandResult<PathBuf> {
        let program = self.root.join("bin").join(format!("{}{}", pin.program, std::env::consts::EXE_SUFFIX));
        if self.has(&program, pin) {
            return Ok(program);
        }
        say(format!("installing {} {} into {} (once)", pin.package, pin.version, self.root.display()));
        let started = Instant::now();
        let mut install = ws.cargo("install --force");
        install.args([pin.package, "--version", pin.version]).arg("--root").arg(&self.root);
        if pin.locked {
            install.arg("--locked");
        }
        // The tool is no part of our build directory, and our compiler flags are not meant for it.
        install.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
        // Each tool runs for seconds and compiles for minutes: a light optimisation is the shorter way in all.
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        run(&mut install)?;
        if !self.has(&program, pin) {
            return Err(CommandFailure::new(format!(
                "{} does not call itself {}",
                program.display(),
                pin.version
            )));
        }
        say(format!("{} {} installed in {}", pin.package, pin.version, human(started.elapsed())));
        Ok(program)
    }
}

/// Whether cargo's list of what it installed, as text, has this version of this package.
fn is_listed(list: &str, package: &str, version: &str) -> bool {
    list.lines().any(|line| line.starts_with(&format!("\"{package} {version} (")))
}

/// A tool that cargo installs, at one version.
struct PinnedTool<'a> {
    /// The package that cargo installs.
    package: &'a str,
    /// The program that the package brings.
    program: &'a str,
    /// The version that is wanted.
    version: &'a str,
    /// Whether the lock file that the package ships is used.
    locked: bool,
}

/// Adds the compile target of the page to the toolchain when it is missing.
pub(crate) fn wasm_target(ws: &Workspace) -> CommandResult {
    let libraries = answer(ws.command("rustc").args(["--print", "target-libdir", "--target", WASM]))?;
    if Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    if which("rustup").is_none() {
        return Err(CommandFailure::new(format!(
            "the toolchain has no {WASM}, and there is no rustup to add it"
        ))
        .mend("install the target as your distribution does, or install rustup"));
    }
    run(ws.command("rustup").args(["target", "add", WASM]))
}

/// Whether a program says of itself that it has this version.
fn has_version(program: &Path, version: &str) -> bool {
    program.is_file()
        && answer(Command::new(program).arg("--version"))
            .is_ok_and(|said| said.split_whitespace().any(|word| word == version))
}

/// The version of `package` in a lock file; the last where there are several.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines();
    let mut found = None;
    while let Some(line) = lines.next() {
        if line == name {
            let version = lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?;
            found = Some(version);
        }
    }
    found
}

#[cfg(test)]
mod tests;
