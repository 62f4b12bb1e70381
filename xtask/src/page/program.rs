//! A program for the browser: cargo compiles it, wasm-bindgen writes the script that loads it, wasm-opt shrinks it.

use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use super::cut::{self, CutProgram, ModuleFile};
use super::{PAGE_FLAGS, glue, html, read, write};
use crate::console::{human_bytes, say};
use crate::failure::{CommandFailure, CommandResult};
use crate::process::{answer, run};
use crate::tools::{ToolCache, WASM};
use crate::workspace::Workspace;

/// What the compiler may use, and so the optimiser too: the features that every browser of the last years has.
pub(super) const WASM_FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// What wasm-opt does. The lowest KiB of the memory is the end of the stack, which nothing reaches by an offset from another address,
/// and the memory is the program's own, so it is zeroed. A function with one caller goes into it only if it is small: the pieces of many small
/// functions are alike, which brotli sees (2.5 KB of the first list). For the same reason similar functions are not merged.
/// Functions stay in the compiler's order, in which those of one source file are beside each other: by how often they are called, they pack worse.
const SHRINK: [&str; 6] = [
    "--low-memory-unused",
    "--zero-filled-memory",
    "--one-caller-inline-max-function-size",
    "30",
    "-Oz",
    "-Oz",
];

/// A program of the page that is built for the browser.
#[derive(Debug)]
pub(super) struct WasmProgram {
    /// The name of the crate.
    pub(super) package: &'static str,
    /// The binary of the crate.
    pub(super) bin: &'static str,
    /// The kind of script that loads it.
    pub(super) script: LoaderScript,
    /// Whether it stays in one file.
    pub(super) form: ProgramForm,
}

/// A kind of script that loads a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoaderScript {
    /// A module of JavaScript.
    Module,
    /// A script that can be put into another one.
    Plain,
}

/// The number of files in which a program is shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramForm {
    /// In one file.
    Whole,
    /// In a main program and modules, where its functions are marked.
    Cut,
}

/// The files of a program that was built. Everything is in memory; the caller names and writes the files.
#[derive(Debug)]
pub(super) struct BuiltProgram {
    /// The script that loads the program.
    pub(super) script: String,
    /// The program, as it is shipped.
    pub(super) wasm: Vec<u8>,
    /// The modules of the program, if it is cut.
    pub(super) modules: Vec<ModuleFile>,
}

impl WasmProgram {
    /// Builds it. What it depends on is there already: nothing is fetched.
    pub(super) fn build(&self, ws: &Workspace, toolbox: &ToolCache) -> CommandResult<BuiltProgram> {
        let folder = ws.target().join("page-bound").join(self.bin);
        let compiled = self.compile(ws)?;
        let cut = match self.form {
            ProgramForm::Whole => None,
            ProgramForm::Cut => Some(cut::cut(&compiled, folder.join("cut"))?),
        };
        let (script, wasm) = self.bind(cut.as_ref().map_or(&compiled, |cut| &cut.main), &folder)?;
        let modules = cut.as_ref().map(|cut| modules(ws, toolbox, cut)).transpose()?.unwrap_or_default();
        let script = cut.map_or(script.clone(), |cut| cut.script(&script, &modules));
        let wasm = optimise(ws, toolbox, &wasm)?;
        Ok(BuiltProgram { script: glue::without_comments(script), wasm, modules })
    }

    /// Compiles it. The same flags serve all programs, so that crates which they share are compiled once; what only the cut needs is given to
    /// the last compiler and the linker alone.
    fn compile(&self, ws: &Workspace) -> CommandResult<PathBuf> {
        let Self { package, bin, .. } = self;
        let line =
            format!("rustc --locked --offline -p {package} --bin {bin} --profile wasm --target {WASM}");
        let mut compile = ws.cargo(&line);
        if self.form == ProgramForm::Cut {
            compile.args(["--features", "split", "--", "-C", "link-arg=--emit-relocs"]);
        }
        run(compile.env(PAGE_FLAGS.0, PAGE_FLAGS.1))?;
        Ok(ws.target().join(WASM).join(format!("wasm/{bin}.wasm")))
    }

    /// Lets wasm-bindgen write the script of `compiled`. The answer is the script and the path of the program that goes with it.
    fn bind(&self, compiled: &Path, folder: &Path) -> CommandResult<(String, PathBuf)> {
        let Self { package, bin, .. } = self;
        self.generate(compiled, folder)
            .map_err(|error| CommandFailure::new(format!("wasm-bindgen refused {bin}: {error:#}")))?;
        if folder.join("snippets").exists() {
            return Err(CommandFailure::new(format!(
                "{package} brings scripts of its own, which the page does not ship"
            ))
            .mend("write what they do in Rust, or ship the folder `snippets` too (xtask/src/page.rs)"));
        }
        let wasm = folder.join(format!("{bin}_bg.wasm"));
        let script = String::from_utf8_lossy(&read(&folder.join(format!("{bin}.js")))?).into_owned();
        let (script, numbered) = glue::number_imports(&script, &read(&wasm)?);
        write(&wasm, &numbered)?;
        Ok((script, wasm))
    }

    /// Lets wasm-bindgen write script and program into `folder`.
    fn generate(&self, compiled: &Path, folder: &Path) -> anyhow::Result<()> {
        let mut bindgen = Bindgen::new();
        match self.script {
            LoaderScript::Module => bindgen.web(true)?,
            LoaderScript::Plain => bindgen.no_modules(true)?,
        };
        // The modules of a program that is cut import the table of functions.
        bindgen.keep_lld_exports(self.form == ProgramForm::Cut);
        bindgen.input_path(compiled).out_name(self.bin).generate(folder)
    }
}

/// The modules of a program that is cut, as they are shipped.
fn modules(ws: &Workspace, toolbox: &ToolCache, cut: &CutProgram) -> CommandResult<Vec<ModuleFile>> {
    let wasm_merge = toolbox.wasm_opt().ok().map(|program| program.with_file_name("wasm-merge"));
    let mut files = Vec::new();
    for module in cut.modules(wasm_merge.as_deref())? {
        for file in &module.files {
            files.push(ModuleFile::new(&module.name, optimise(ws, toolbox, file)?));
        }
    }
    Ok(files)
}

/// The bytes to ship: optimised where wasm-opt can run. The result is kept by the hash of what went in, since
/// this takes longer than the rest of an unchanged build. Without wasm-opt they are the bytes of `wasm`.
fn optimise(ws: &Workspace, toolbox: &ToolCache, wasm: &Path) -> CommandResult<Vec<u8>> {
    let plain = read(wasm)?;
    let before = human_bytes(plain.len());
    let program = match toolbox.wasm_opt() {
        Ok(program) => program,
        Err(why) => {
            say(format!("wasm-opt is skipped: {why}. The page works, and stays at {before}"));
            return Ok(plain);
        }
    };
    let kept = ws
        .target()
        .join("page-small")
        .join(format!("{}.wasm", html::hash(&[SHRINK.concat().as_bytes(), &plain].concat())));
    if !kept.is_file() {
        let folder = kept.parent().unwrap_or(ws.target());
        std::fs::create_dir_all(folder)
            .map_err(CommandFailure::io(format!("creating {}", folder.display())))?;
        let partial = kept.with_extension("partial");
        let mut shrink = Command::new(program);
        shrink.args(SHRINK).args(WASM_FEATURES).arg(wasm).arg("-o").arg(&partial);
        say(format!("shrinking {before} of WASM"));
        answer(&mut shrink)?;
        std::fs::rename(&partial, &kept)
            .map_err(CommandFailure::io(format!("renaming {}", partial.display())))?;
    }
    let small = read(&kept)?;
    say(format!("wasm-opt: {before} became {}", human_bytes(small.len())));
    Ok(small)
}
