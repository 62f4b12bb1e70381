//! The second program of the page: what decodes recordings (the crate `decoder`). The page fetches it when a recording
//! is opened, so only its name stands in the HTML.

use std::path::Path;

use super::program::BuiltProgram;
use super::{html, read, write};
use crate::failure::{CommandFailure, CommandResult};

/// The tag in which the HTML names the script.
const PLACE: &str = r#"<meta name="decoder" content="">"#;

/// Puts the program into `folder`, and names it in the HTML there. Fails if the HTML has no place for the
/// name.
pub(super) fn put(built: &BuiltProgram, folder: &Path) -> CommandResult {
    let wasm_name = format!("decoder-{}_bg.wasm", html::hash(&built.wasm));
    write(&folder.join(&wasm_name), &built.wasm)?;
    let script = script(&built.script, &wasm_name);
    let script_name = format!("decoder-{}.js", html::hash(script.as_bytes()));
    write(&folder.join(&script_name), script.as_bytes())?;

    let index = folder.join("index.html");
    let text = String::from_utf8_lossy(&read(&index)?).into_owned();
    let (before, after) = text.split_once(PLACE).ok_or_else(|| {
        CommandFailure::new(format!("web/index.html must hold {PLACE}, for the decoder's name"))
    })?;
    let text = format!(r#"{before}<meta name="decoder" content="/{script_name}">{after}"#);
    write(&index, text.as_bytes())
}

/// The glue, made to start by itself, to tell the page when it has, and to be loaded again where that failed.
fn script(glue: &str, wasm_name: &str) -> String {
    let told = "finally(() => dispatchEvent(new Event('fanlightDecoder')))";
    format!("(() => {{\n{glue}\nwasm_bindgen({{ module_or_path: '/{wasm_name}' }}).{told};\n}})();\n")
}
