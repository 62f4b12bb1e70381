//! Building the page: its three programs, the files that its HTML names, and the HTML itself, in which no script stays; each file is
//! packed for its journey.
//!
//! All of it is put together in the build directory. Only files that differ are copied into `dist/`, which the binary embeds, so that
//! a second build of an unchanged page does not rebuild the binary. Trunk is not needed: `trunk serve` reads the same `web/index.html`.
//!
//! ```text
//! WasmProgram::build   cargo rustc ─▶ (cut: wasm-split) ─▶ wasm-bindgen ─▶ glue ─▶ wasm-opt   (the first two are libraries of xtask)
//! assemble::put        web/index.html, styles, icon, program ─▶ files with their hash in the name, inline scripts moved out
//! diagrams::put          Mermaid and web/diagrams.js: one script, packed alone
//! packed::pack         .br and .gz beside each file, budgets
//! mirror               target/page ─▶ dist/, only what differs
//! ```

mod assemble;
mod cut;
mod decoder;
mod diagrams;
mod glue;
mod html;
mod packed;
mod program;

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::process::run;
use crate::tools::{self, ToolCache};
use crate::workspace::Workspace;
use program::{LoaderScript, ProgramForm, WasmProgram};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Leptos gives each piece of the page a type of its own, and all code that draws it again; with this it is one type for
/// all, and the page a fifth smaller. What grows with a stream is drawn by hand and not by Leptos.
const PAGE_FLAGS: (&str, &str) = ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "--cfg=erase_components");

/// The program of the page itself.
const PAGE: WasmProgram =
    WasmProgram { package: "web", bin: "page", script: LoaderScript::Module, form: ProgramForm::Cut };

/// The operator's pages, the table of runs and the dashboard, which browsers fetch when they are opened.
const OVERVIEW: WasmProgram =
    WasmProgram { package: "web", bin: "overview", script: LoaderScript::Module, form: ProgramForm::Whole };

/// What decodes recordings: the page fetches it when one is opened.
const DECODER: WasmProgram =
    WasmProgram { package: "decoder", bin: "decode", script: LoaderScript::Plain, form: ProgramForm::Whole };

/// A page that is complete and not in `dist/` yet.
#[derive(Debug)]
pub(crate) struct StagedPage {
    folder: PathBuf,
    boot: String,
}

/// Builds the page into `dist/`. Fails if a part is larger than its budget. Only the step `cargo fetch`
/// and what npm brings need a network.
pub(crate) fn build(ws: &Workspace) -> CommandResult {
    fetch(ws)?;
    stage(ws)?.ship(ws).map(drop)
}

/// Fetches what the page and the hub are compiled from.
pub(crate) fn fetch(ws: &Workspace) -> CommandResult {
    tools::wasm_target(ws)?;
    run(&mut ws.cargo("fetch --locked"))
}

/// Builds the page and leaves `dist/` as it is. What it is compiled from has been fetched.
pub(crate) fn stage(ws: &Workspace) -> CommandResult<StagedPage> {
    let toolbox = ToolCache::find()?;
    let page = PAGE.build(ws, &toolbox)?;
    let overview = OVERVIEW.build(ws, &toolbox)?;
    let decoder = DECODER.build(ws, &toolbox)?;
    let staging = ws.target().join("page");
    if staging.exists() {
        fs::remove_dir_all(&staging)
            .map_err(CommandFailure::io(format!("emptying {}", staging.display())))?;
    }
    fs::create_dir_all(&staging).map_err(CommandFailure::io(format!("creating {}", staging.display())))?;
    let boot = assemble::put(&ws.path("web"), &assemble::PAGE, &page, &staging)?;
    assemble::put(&ws.path("web"), &assemble::OVERVIEW, &overview, &staging)?;
    decoder::put(&decoder, &staging)?;
    diagrams::put(ws, &toolbox, &staging)?;
    packed::pack(ws, &staging)?;
    Ok(StagedPage { folder: staging, boot })
}

impl StagedPage {
    /// Copies into `dist/` what differs there. The answer is the name of the script that starts the page: it changes with everything that
    /// the script loads.
    pub(crate) fn ship(self, ws: &Workspace) -> CommandResult<String> {
        let dist = ws.path("dist");
        let changed = mirror(&self.folder, &dist)?;
        say(format!("the page is in {} ({changed} files changed)", dist.display()));
        Ok(self.boot)
    }
}

/// Makes `to` hold what `from` holds, touching only what differs; returns how many files that were. Files of
/// `to` that `from` does not have are removed.
fn mirror(from: &Path, to: &Path) -> CommandResult<usize> {
    fs::create_dir_all(to).map_err(CommandFailure::io(format!("creating {}", to.display())))?;
    let (wanted, there) = (files(from)?, files(to)?);
    let mut changed = 0;
    for gone in there.difference(&wanted) {
        remove(&to.join(gone))?;
        changed += 1;
    }
    for file in &wanted {
        let (source, goal) = (read(&from.join(file))?, to.join(file));
        if fs::read(&goal).is_ok_and(|same| same == source) {
            continue;
        }
        if let Some(folder) = goal.parent() {
            fs::create_dir_all(folder)
                .map_err(CommandFailure::io(format!("creating {}", folder.display())))?;
        }
        write(&goal, &source)?;
        changed += 1;
    }
    Ok(changed)
}

/// All files below a folder, relative to it, except those whose path has a name with a leading dot.
fn files(folder: &Path) -> CommandResult<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        let here = folder.join(&inside);
        let doing = format!("listing {}", here.display());
        for entry in fs::read_dir(&here).map_err(CommandFailure::io(&doing))? {
            let entry = entry.map_err(CommandFailure::io(&doing))?;
            let path = inside.join(entry.file_name());
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if here.join(entry.file_name()).is_dir() {
                open.push(path);
            } else {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// The bytes of a file; a failure names it. So the two below.
fn read(path: &Path) -> CommandResult<Vec<u8>> {
    fs::read(path).map_err(CommandFailure::io(format!("reading {}", path.display())))
}

fn write(path: &Path, bytes: &[u8]) -> CommandResult {
    fs::write(path, bytes).map_err(CommandFailure::io(format!("writing {}", path.display())))
}

fn remove(path: &Path) -> CommandResult {
    fs::remove_file(path).map_err(CommandFailure::io(format!("removing {}", path.display())))
}
