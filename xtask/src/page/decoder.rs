//! The second program of the page: what decodes recordings (the crate `decoder`). The page fetches it when a recording
//! is opened, so it is built apart from it, and only its name stands in the HTML.

use std::path::Path;

use super::{html, optimise, read, write};
use crate::failure::{Failure, Outcome};
use crate::process::run;
use crate::tools::{Toolbox, WASM};
use crate::workspace::Workspace;

/// Where the HTML names the script.
const PLACE: &str = r#"<meta name="decoder" content="">"#;

/// Builds the program into `folder`, and names it in the HTML there.
pub(super) fn build(ws: &Workspace, toolbox: &Toolbox, folder: &Path) -> Outcome {
    let line = format!("build --locked --offline -p decoder --bin decode --profile wasm --target {WASM}");
    run(&mut ws.cargo(&line))?;
    let bound = ws.target().join("page-decoder");
    let mut bind = ws.command(toolbox.wasm_bindgen(ws)?);
    bind.args(["--target", "no-modules", "--no-typescript", "--out-name", "decode", "--out-dir"]).arg(&bound);
    bind.arg(ws.target().join(WASM).join("wasm/decode.wasm"));
    run(&mut bind)?;

    let small = optimise(ws, toolbox, &bound.join("decode_bg.wasm"))?;
    let wasm_name = format!("decoder-{}_bg.wasm", html::hash(&small));
    write(&folder.join(&wasm_name), &small)?;
    let script = script(&String::from_utf8_lossy(&read(&bound.join("decode.js"))?), &wasm_name);
    let script_name = format!("decoder-{}.js", html::hash(script.as_bytes()));
    write(&folder.join(&script_name), script.as_bytes())?;

    let index = folder.join("index.html");
    let text = String::from_utf8_lossy(&read(&index)?).into_owned();
    let (before, after) = text
        .split_once(PLACE)
        .ok_or_else(|| Failure::new(format!("web/index.html must hold {PLACE}, for the decoder's name")))?;
    let text = format!(r#"{before}<meta name="decoder" content="/{script_name}">{after}"#);
    write(&index, text.as_bytes())
}

/// The glue, made to start by itself, to tell the page when it has, and to be loaded again where that failed.
fn script(glue: &str, wasm_name: &str) -> String {
    let told = "finally(() => dispatchEvent(new Event('fanlightDecoder')))";
    format!("(() => {{\n{glue}\nwasm_bindgen({{ module_or_path: '/{wasm_name}' }}).{told};\n}})();\n")
}
