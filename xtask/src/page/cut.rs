//! Cutting the page's program into modules that a browser fetches when they are first needed (web/src/modules.rs).
//!
//! wasm-split cuts the program where its functions are marked: into the main program, a piece for each module, and a piece for each set of
//! modules that share something. These are many small files, so wasm-merge joins them: what the modules of the conversation alone
//! share goes with the conversation, everything else that is shared becomes one module of its own. All pieces use the memory, the table
//! of functions and the stack of the main program.
//!
//! ```text
//! page.wasm (linked with relocations) ─ wasm-split ─▶ main, split_<module>.wasm, chunk_<n>.wasm, __wasm_split.js
//!         Pieces::parse reads that script: which chunks each module needs, and who shares them
//!         modules joins the pieces of each module ─▶ module-<name>-<hash>_bg.wasm
//!         script puts the loaders (LOADING) into wasm-bindgen's script
//! ```
//!
//! Nothing of wasm-split's script is shipped. It is read as text, so another version of the tool may need
//! changes here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{html, read, write};
use crate::failure::{CommandFailure, CommandResult};
use crate::process::answer;

/// The script that wasm-split writes and that its main program names as the place of the loaders.
const LINK: &str = "./__wasm_split.js";

/// Where pieces import the memory, the table and the globals of the main program from.
const SHARED_IMPORTS: &str = "__wasm_split";

/// The modules that read and show a conversation: those after the first are used beside what the first one shows.
const OF_CONVERSATION: [&str; 6] = ["conversation", "snapshots", "kinds", "formulas", "panel", "compare"];

/// The module that holds what modules share.
const COMMON: &str = "common";

/// The page's program after wasm-split has cut it: the main program, and the pieces that become modules, as files in a folder.
#[derive(Debug)]
pub(super) struct CutProgram {
    /// The main program, which wasm-bindgen has to see yet.
    pub(super) main: PathBuf,
    /// The folder of the pieces.
    folder: PathBuf,
    /// The pieces of the modules.
    pieces: Pieces,
}

/// A module before it is optimised.
#[derive(Debug)]
pub(super) struct JoinedModule {
    /// The name of the module.
    pub(super) name: String,
    /// One file, or all pieces where there is no wasm-merge.
    pub(super) files: Vec<PathBuf>,
}

/// A file of a module as it is shipped.
#[derive(Debug)]
pub(super) struct ModuleFile {
    /// The name of the module.
    pub(super) module: String,
    /// The name of the file, which holds its hash.
    pub(super) name: String,
    /// The bytes of the file, optimised.
    pub(super) wasm: Vec<u8>,
}

/// The pieces of the modules, as wasm-split's script names them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pieces {
    /// The files of each module.
    of: BTreeMap<String, Vec<String>>,
    /// The modules that each loader needs.
    needs: BTreeMap<String, BTreeSet<String>>,
}

/// Cuts `wasm`, a program that was linked with its relocations. Fails if wasm-split's script is not
/// understood. What was in `folder` is removed.
pub(super) fn cut(wasm: &Path, folder: PathBuf) -> CommandResult<CutProgram> {
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .map_err(CommandFailure::io(format!("emptying {}", folder.display())))?;
    }
    let (main, whole) = (folder.join("page.wasm"), read(wasm)?);
    let mut split = wasm_split_cli_support::Options::new(&whole);
    (split.output_dir, split.main_out_path) = (&folder, &main);
    (split.link_name, split.main_module) = (LINK, "./page.js");
    wasm_split_cli_support::transform(split)
        .map_err(|error| CommandFailure::new(format!("wasm-split refused {}: {error:#}", wasm.display())))?;
    let link = String::from_utf8_lossy(&read(&folder.join(LINK))?).into_owned();
    let pieces = Pieces::parse(&link).ok_or_else(|| {
        CommandFailure::new("the script of wasm-split names no modules that are understood")
            .mend("xtask/src/page/cut.rs reads what the pinned version writes; has the version changed?")
    })?;
    Ok(CutProgram { main, folder, pieces })
}

impl CutProgram {
    /// The modules: each in one file where `wasm_merge` is there.
    pub(super) fn modules(&self, wasm_merge: Option<&Path>) -> CommandResult<Vec<JoinedModule>> {
        let mut joined = Vec::new();
        for (name, files) in &self.pieces.of {
            let paths: Vec<PathBuf> = files.iter().map(|file| self.folder.join(file)).collect();
            let files = match wasm_merge {
                Some(tool) => vec![self.merged(tool, name, &paths)?],
                None => paths,
            };
            joined.push(JoinedModule { name: name.clone(), files });
        }
        Ok(joined)
    }

    /// One file of `pieces`. A module in between imports what they share, so that it is imported once. That
    /// module is made of what wasm-dis prints of the first piece, once for all.
    fn merged(&self, wasm_merge: &Path, name: &str, pieces: &[PathBuf]) -> CommandResult<PathBuf> {
        let shared = self.folder.join("shared.wat");
        if !shared.exists() {
            let first = self.folder.join(format!("split_{}.wasm", OF_CONVERSATION[0]));
            let text = answer(std::process::Command::new(wasm_merge.with_file_name("wasm-dis")).arg(first))?;
            write(&shared, shared_module(&text).as_bytes())?;
        }
        let merged = self.folder.join(format!("{name}.wasm"));
        let mut merge = std::process::Command::new(wasm_merge);
        merge.arg(&shared).arg(SHARED_IMPORTS);
        for (at, piece) in pieces.iter().enumerate() {
            merge.arg(piece).arg(format!("piece{at}"));
        }
        merge.args(super::program::WASM_FEATURES).arg("-o").arg(&merged);
        answer(&mut merge)?;
        Ok(merged)
    }

    /// wasm-bindgen's script, with the loaders of the modules in it. Its imports from wasm-split's script would be a circle: that script
    /// names this one, and both have their hash in their name.
    pub(super) fn script(&self, script: &str, files: &[ModuleFile]) -> String {
        let mut out = String::with_capacity(script.len());
        let mut is_named = false;
        for line in script.lines() {
            if line.starts_with("import ") && line.contains(LINK) {
                continue;
            }
            if line.trim_start().starts_with(&format!("\"{LINK}\":")) {
                if !std::mem::replace(&mut is_named, true) {
                    out.extend(["\"", LINK, "\": moduleLoaders,\n"]);
                }
                continue;
            }
            out.extend([line, "\n"]);
        }
        out.extend(["const MODULE_MS_MAX = ", &MODULE_MS_MAX.to_string(), ";\n", LOADING]);
        out.push_str("const moduleLoaders = {\n");
        for (loader, needs) in &self.pieces.needs {
            let needed = files.iter().filter(|file| needs.contains(&file.module));
            let names: Vec<String> = needed.map(|file| format!("'/{}'", file.name)).collect();
            out.extend(["__wasm_split_load_", loader, ": moduleLoader([", &names.join(", "), "]),\n"]);
        }
        out.push_str("};\n");
        out
    }
}

impl ModuleFile {
    /// A file of `module`, under a name with its hash.
    pub(super) fn new(module: &str, wasm: Vec<u8>) -> Self {
        let name = format!("module-{module}-{}_bg.wasm", html::hash(&wasm));
        Self { module: module.to_owned(), name, wasm }
    }
}

/// How long a file of a module may travel, in milliseconds. The largest has some 150 KB, which a line of 2 KB/s brings in that time; a
/// connection that stalls would otherwise be waited for without end.
const MODULE_MS_MAX: u32 = 120_000;

/// How modules are loaded. A file is fetched once for all modules that need it; one that failed is fetched again when it is asked for.
/// The main program is told by a call of its function at `callback`.
const LOADING: &str = "const moduleFiles = new Map();
const moduleFile = (path) => {
    if (!moduleFiles.has(path)) {
        const answer = fetch(path, { signal: AbortSignal.timeout?.(MODULE_MS_MAX) });
        const loading = WebAssembly.instantiateStreaming(answer, { __wasm_split: wasm, main: wasm });
        moduleFiles.set(path, loading);
        loading.catch(() => moduleFiles.delete(path));
    }
    return moduleFiles.get(path);
};
const moduleLoader = (paths) => async (callback, told) => {
    let isThere = false;
    try {
        await Promise.all(paths.map(moduleFile));
        isThere = true;
    } catch (error) {
        console.warn(`A part of the page cannot be loaded: ${error.message}`);
    }
    wasm.__indirect_function_table.get(callback)(told, isThere);
};
";

/// A module that imports from the main program what `piece`, as wasm-dis prints it, imports as shared, and exports it again.
fn shared_module(piece: &str) -> String {
    let mut imports = String::new();
    let mut exports = String::new();
    let begin = format!("(import \"{SHARED_IMPORTS}\" ");
    for line in piece.lines().map(str::trim) {
        let Some((name, what)) = line.strip_prefix(&begin).and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let mut words = what.trim_start_matches('(').split([' ', ')']);
        if let (Some(kind), Some(id)) = (words.next(), words.next()) {
            imports.extend(["(import \"main\" ", name, " ", what, "\n"]);
            exports.extend(["(export ", name, " (", kind, " ", id, "))\n"]);
        }
    }
    format!("(module\n{imports}{exports})\n")
}

impl Pieces {
    /// Reads wasm-split's script: a comment names the modules that share a piece, an exported constant is the
    /// loader of a module. `None` if a loader needs a piece that was not named before, or if there is no
    /// conversation.
    fn parse(link: &str) -> Option<Self> {
        let mut pieces = Self::default();
        let mut homes = BTreeMap::<&str, &str>::new();
        let mut sharing = "";
        let mut loader = "";
        for line in link.lines() {
            if let Some(names) = line.strip_prefix("/* ").and_then(|rest| rest.strip_suffix(" */")) {
                sharing = names;
            } else if let Some(chunk) = line.strip_prefix("const __chunk_") {
                let (number, _) = chunk.split_once(' ')?;
                let home = module_of_shared(sharing);
                homes.insert(number, home);
                pieces.of.entry(home.to_owned()).or_default().push(format!("chunk_{number}.wasm"));
            } else if let Some(rest) = line.strip_prefix("export const __wasm_split_load_") {
                (loader, _) = rest.split_once(' ')?;
                pieces.of.entry(loader.to_owned()).or_default().push(format!("split_{loader}.wasm"));
            } else if let Some(needed) = line.strip_prefix(", [").filter(|_| !loader.is_empty()) {
                let (numbers, _) = needed.split_once(']')?;
                let numbers = numbers.split(", ").filter_map(|it| it.strip_prefix("__chunk_"));
                let mut needs: BTreeSet<String> =
                    numbers.map(|it| homes.get(it).map(|home| (*home).to_owned())).collect::<Option<_>>()?;
                needs.insert(loader.to_owned());
                pieces.needs.insert(std::mem::take(&mut loader).to_owned(), needs);
            }
        }
        (!pieces.needs.is_empty() && pieces.of.contains_key(OF_CONVERSATION[0])).then_some(pieces)
    }
}

/// The module in which a piece goes that the modules named in `sharing` share.
fn module_of_shared(sharing: &str) -> &'static str {
    let is_of_conversation = sharing.split(", ").all(|name| OF_CONVERSATION.contains(&name));
    if is_of_conversation { OF_CONVERSATION[0] } else { COMMON }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"import { initSync } from "./page.js";
/* conversation, panel */
const __chunk_2 = makeLoad(() => {
    const src = fetch(new URL("./chunk_2.wasm", import.meta.url));
}
, []);
/* panel, wall */
const __chunk_3 = makeLoad(() => {
    const src = fetch(new URL("./chunk_3.wasm", import.meta.url));
}
, []);
export const __wasm_split_load_wall = wrapAsyncCb(makeLoad(() => {
}
, [__chunk_3]));
export const __wasm_split_load_panel = wrapAsyncCb(makeLoad(() => {
}
, [__chunk_2, __chunk_3]));
export const __wasm_split_load_conversation = wrapAsyncCb(makeLoad(() => {
}
, [__chunk_2]));
"#;

    fn files() -> Vec<ModuleFile> {
        ["common", "conversation", "panel", "wall"].map(|name| ModuleFile::new(name, vec![1])).into()
    }

    #[test]
    fn what_is_shared_goes_with_the_conversation_or_into_a_module_of_its_own() {
        let pieces = Pieces::parse(SCRIPT).unwrap();
        let of = |name: &str| pieces.of.get(name).unwrap().join(" ");
        assert_eq!(of("conversation"), "chunk_2.wasm split_conversation.wasm");
        assert_eq!((of("common"), of("wall")), ("chunk_3.wasm".to_owned(), "split_wall.wasm".to_owned()));
        let needs =
            |name: &str| pieces.needs.get(name).unwrap().iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(needs("wall"), "common wall");
        assert_eq!(needs("panel"), "common conversation panel");
        assert_eq!(needs("conversation"), "conversation");
        assert_eq!(Pieces::parse("export const other = 1;\n"), None);
    }

    #[test]
    fn the_script_holds_the_loaders_and_no_import() {
        let cut = CutProgram {
            main: PathBuf::new(),
            folder: PathBuf::new(),
            pieces: Pieces::parse(SCRIPT).unwrap(),
        };
        let script = "import * as import1 from \"./__wasm_split.js\"\nimport * as import2 from \"./__wasm_split.js\"\nf({\n        \"./__wasm_split.js\": import1,\n        \"./__wasm_split.js\": import2,\n});\n";
        let whole = cut.script(script, &files());
        assert!(whole.starts_with("f({\n\"./__wasm_split.js\": moduleLoaders,\n});\n"), "{whole}");
        let hash = html::hash(&[1]);
        let loader = format!(
            "__wasm_split_load_wall: moduleLoader(['/module-common-{hash}_bg.wasm', '/module-wall-{hash}_bg.wasm']),"
        );
        assert!(whole.contains(&loader), "{whole}");
        assert!(whole.contains("const MODULE_MS_MAX = 120000;\n"), "{whole}");
    }

    #[test]
    fn shared_imports_are_exported_again() {
        let piece = "(module\n (import \"__wasm_split\" \"memory\" (memory $m 20))\n (import \"__wasm_split\" \"g\" (global $g (mut i32)))\n (import \"other\" \"f\" (func $f))\n)";
        assert_eq!(
            shared_module(piece),
            "(module\n(import \"main\" \"memory\" (memory $m 20))\n(import \"main\" \"g\" (global $g (mut i32)))\n(export \"memory\" (memory $m))\n(export \"g\" (global $g))\n)\n"
        );
    }
}
