//! What draws diagrams: Mermaid, as its authors publish it in its smaller form, and `web/diagrams.js`, which tells it what to draw. Together they
//! are one script, which the page fetches when a diagram is shown and hands to a frame without rights. So only its name stands in the
//! HTML, and the script in one packed form alone: it is large, and the page unpacks nothing else that large.
//!
//! Without npm there is no Mermaid: the page works, and shows diagrams as code. On the build machine that is a failure.

use std::path::{Path, PathBuf};

use super::{html, packed, read, write};
use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::tools::ToolCache;
use crate::workspace::{Workspace, in_ci};

/// The tag in which the HTML names the script.
const PLACE: &str = r#"<meta name="diagrams" content="">"#;

/// Most bytes of the script, packed with gzip: 800 KiB.
const DIAGRAMS_BYTES_MAX: usize = 800 << 10;

/// Puts the script into `folder`, packed alone, and names it in the HTML there. Nothing if Mermaid cannot be had, which is said. Fails if it
/// cannot be had on the build machine or is another one, if the HTML has no place for the name, or if the script is over its budget.
pub(super) fn put(ws: &Workspace, toolbox: &ToolCache, folder: &Path) -> CommandResult {
    let library = match toolbox.mermaid()? {
        Ok(library) => library,
        Err(why) if in_ci() => {
            return Err(CommandFailure::new(format!("Mermaid is missing: {why}"))
                .mend("install npm, or unset CI to build the page without diagrams"));
        }
        Err(why) => {
            say(format!("diagrams stay code: {why}. The page works"));
            return Ok(());
        }
    };
    let text = |path: PathBuf| Ok(String::from_utf8_lossy(&read(&path)?).into_owned());
    let licence = text(library.with_file_name("../LICENSE"))?;
    let script = script(&licence, &text(library)?, &text(ws.path("web/diagrams.js"))?);
    let name = format!("diagrams-{}.js", html::hash(script.as_bytes()));

    let packed = packed::gzipped(ws, script.as_bytes())?;
    say(format!("{name}: {} bytes, gzip {} of {DIAGRAMS_BYTES_MAX}", script.len(), packed.len()));
    if packed.len() > DIAGRAMS_BYTES_MAX {
        let over = packed.len() - DIAGRAMS_BYTES_MAX;
        return Err(CommandFailure::new(format!("{name} is {over} bytes over its budget")).mend(
            "take the version of Mermaid back (MERMAID in xtask/src/tools.rs), or raise DIAGRAMS_BYTES_MAX",
        ));
    }
    write(&folder.join(format!("{name}.gz")), &packed)?;

    let index = folder.join("index.html");
    let text = String::from_utf8_lossy(&read(&index)?).into_owned();
    let (before, after) = text.split_once(PLACE).ok_or_else(|| {
        CommandFailure::new(format!("web/index.html must hold {PLACE}, for the name of what draws diagrams"))
    })?;
    write(&index, format!(r#"{before}<meta name="diagrams" content="/{name}">{after}"#).as_bytes())
}

/// One script of the licence, the library and our own. It is written between the tags of a `script` element, so none of it may end one.
fn script(licence: &str, library: &str, own: &str) -> String {
    let licence = licence.replace("*/", "* /");
    let own: Vec<&str> = own.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    format!("/* Mermaid:\n{licence}*/\n{library}\n{}\n", own.join("\n")).replace("</script", "<\\/script")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_ends_no_element_and_keeps_the_licence() {
        let script = script("MIT */ (c)", "a('</script>');", "// why\n(() => {\n  b();\n})();");
        assert_eq!(script, "/* Mermaid:\nMIT * / (c)*/\na('<\\/script>');\n(() => {\nb();\n})();\n");
    }
}
