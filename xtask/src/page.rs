//! Building the page: Trunk compiles and links it, wasm-opt shrinks it, no script stays inside the HTML, and
//! each file is packed for its journey.
//!
//! Trunk writes into the build directory. Only files that differ are copied into `dist/`, which the hub embeds, so that
//! a second build of an unchanged page does not rebuild the hub.

mod decoder;
mod html;
mod packed;

use crate::console::{human_bytes, say};
use crate::failure::{Failure, Outcome};
use crate::process::{answer, run};
use crate::tools::{self, Toolbox};
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the compiler may use, and so the optimiser too: the features that every browser of the last years has.
const WASM_FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Leptos gives each piece of the page a type of its own, and all code that draws it again; with this it is one type for
/// all, and the page a fifth smaller. What grows with a stream is drawn by hand and not by Leptos.
const PAGE_FLAGS: (&str, &str) = ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "--cfg=erase_components");

/// Builds the page into `dist/`. The answer is the name of the script that starts it: it changes with everything that
/// the script loads.
pub(crate) fn build(ws: &Workspace) -> Outcome<String> {
    let toolbox = Toolbox::find()?;
    tools::wasm_target(ws)?;
    toolbox.wasm_bindgen(ws)?;
    let trunk = toolbox.trunk(ws)?;
    // Trunk builds offline, so that it fetches no tools of its own; what the page depends on comes now.
    run(&mut ws.cargo("fetch --locked"))?;

    let staging = ws.target().join("page");
    let mut build = ws.command(trunk);
    build.arg("build").arg("--dist").arg(&staging).env("PATH", toolbox.path());
    // Trunk takes the value of this variable for a boolean word and stops at `1`.
    build.env_remove("NO_COLOR");
    build.env(PAGE_FLAGS.0, PAGE_FLAGS.1);
    run(&mut build)?;

    let wasm = the_wasm(&staging)?;
    let small = optimise(ws, &toolbox, &wasm)?;
    let boot = finish(&staging, &wasm, &small)?;
    decoder::build(ws, &toolbox, &staging)?;
    packed::pack(ws, &staging)?;
    let dist = ws.path("dist");
    let changed = mirror(&staging, &dist)?;
    say(format!("the page is in {} ({changed} files changed)", dist.display()));
    Ok(boot)
}

/// The one WASM file of the page.
fn the_wasm(folder: &Path) -> Outcome<PathBuf> {
    let mut found = files(folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "wasm"));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(folder.join(one)),
        (None, _) => Err(Failure::new(format!("Trunk left no .wasm file in {}", folder.display()))),
        (Some(_), Some(_)) => {
            Err(Failure::new(format!("Trunk left several .wasm files in {}", folder.display())))
        }
    }
}

/// The bytes to ship: optimised where wasm-opt can run. The result is kept by the hash of what went in, since this
/// takes longer than the rest of an unchanged build.
fn optimise(ws: &Workspace, toolbox: &Toolbox, wasm: &Path) -> Outcome<Vec<u8>> {
    let plain = read(wasm)?;
    let before = human_bytes(plain.len());
    let program = match toolbox.wasm_opt() {
        Ok(program) => program,
        Err(why) => {
            say(format!("wasm-opt is skipped: {why}. The page works, and stays at {before}"));
            return Ok(plain);
        }
    };
    let kept = ws.target().join("page-small").join(format!("{}.wasm", html::hash(&plain)));
    if !kept.is_file() {
        let folder = kept.parent().unwrap_or(ws.target());
        fs::create_dir_all(folder).map_err(Failure::io(format!("creating {}", folder.display())))?;
        let partial = kept.with_extension("partial");
        let mut shrink = Command::new(program);
        shrink.arg("-Oz").args(WASM_FEATURES).arg(wasm).arg("-o").arg(&partial);
        say(format!("shrinking {before} of WASM"));
        answer(&mut shrink)?;
        fs::rename(&partial, &kept).map_err(Failure::io(format!("renaming {}", partial.display())))?;
    }
    let small = read(&kept)?;
    say(format!("wasm-opt: {before} became {}", human_bytes(small.len())));
    Ok(small)
}

/// Puts the shipped bytes under a name that is their hash, and the scripts of the HTML into files of their own.
fn finish(folder: &Path, wasm: &Path, small: &[u8]) -> Outcome<String> {
    let old_name = wasm.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let new_name = format!("fanlight-{}_bg.wasm", html::hash(small));
    remove(wasm)?;
    write(&folder.join(&new_name), small)?;

    let index = folder.join("index.html");
    let text = String::from_utf8_lossy(&read(&index)?).replace(&old_name, &new_name);
    let page = html::move_scripts_out(&text);
    html::check(&page.html).map_err(Failure::new)?;
    for script in &page.scripts {
        write(&folder.join(&script.name), script.body.as_bytes())?;
    }
    write(&index, page.html.as_bytes())?;
    let boot = page.scripts.into_iter().find(|script| script.body.contains(&new_name));
    boot.map(|script| script.name)
        .ok_or_else(|| Failure::new(format!("no script of the page loads {new_name}")))
}

/// Makes `to` hold what `from` holds, touching only what differs; returns how many files that were.
fn mirror(from: &Path, to: &Path) -> Outcome<usize> {
    fs::create_dir_all(to).map_err(Failure::io(format!("creating {}", to.display())))?;
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
            fs::create_dir_all(folder).map_err(Failure::io(format!("creating {}", folder.display())))?;
        }
        write(&goal, &source)?;
        changed += 1;
    }
    Ok(changed)
}

/// All files below a folder, relative to it, except those whose path has a name with a leading dot.
fn files(folder: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        let here = folder.join(&inside);
        let doing = format!("listing {}", here.display());
        for entry in fs::read_dir(&here).map_err(Failure::io(&doing))? {
            let entry = entry.map_err(Failure::io(&doing))?;
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

fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(Failure::io(format!("reading {}", path.display())))
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    fs::write(path, bytes).map_err(Failure::io(format!("writing {}", path.display())))
}

fn remove(path: &Path) -> Outcome {
    fs::remove_file(path).map_err(Failure::io(format!("removing {}", path.display())))
}
