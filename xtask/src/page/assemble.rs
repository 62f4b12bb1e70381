//! The HTML of the pages and the files that it names. `web/index.html` marks with `data-trunk` what is put in: styles, the icon, the
//! program; so `trunk serve` can read it as well. The operator's pages are made of the same HTML, with another program and the styles that
//! are marked for it.
//!
//! ```text
//! <link data-trunk rel="css" href="a/b.css" data-only="page">  ─▶  <link rel="stylesheet" href="/b-HASH.css">   in index.html alone
//! <link data-trunk rel="rust">                                 ─▶  preloads and a script, which moves into boot-HASH.js
//! ```

use std::path::Path;

use super::program::BuiltProgram;
use super::{html, read, write};
use crate::failure::{CommandFailure, CommandResult};

/// What marks a tag that stands for a file or for the program.
const MARK: &str = "<link data-trunk ";

/// One of the documents that are made of `web/index.html`.
#[derive(Debug)]
pub(super) struct HtmlDocument {
    /// The name of its file.
    file: &'static str,
    /// How the names of its program's files begin.
    wasm: &'static str,
    /// The beginning of its script's name.
    script: &'static str,
    /// What `data-only` says of what is put into this document and no other.
    mark: &'static str,
}

/// The page of the conversations.
pub(super) const PAGE: HtmlDocument =
    HtmlDocument { file: "index.html", wasm: "fanlight", script: "page", mark: "page" };

/// The document of the operator's pages.
pub(super) const OVERVIEW: HtmlDocument =
    HtmlDocument { file: "overview.html", wasm: "overview", script: "overview", mark: "overview" };

/// Puts a document into `folder`: each file under a name that holds its hash, so that it may be cached for ever. The answer is the name of
/// the script that starts the page.
pub(super) fn put(
    web: &Path,
    document: &HtmlDocument,
    page: &BuiltProgram,
    folder: &Path,
) -> CommandResult<String> {
    let wasm = format!("{}-{}_bg.wasm", document.wasm, html::hash(&page.wasm));
    write(&folder.join(&wasm), &page.wasm)?;
    let script = format!("{}-{}.js", document.script, html::hash(page.script.as_bytes()));
    write(&folder.join(&script), page.script.as_bytes())?;
    for module in &page.modules {
        write(&folder.join(&module.name), &module.wasm)?;
    }

    let file = |name: &str| {
        let bytes = read(&web.join(name))?;
        let renamed = named(name, &bytes);
        write(&folder.join(&renamed), &bytes)?;
        Ok(renamed)
    };
    let index = String::from_utf8_lossy(&read(&web.join("index.html"))?).into_owned();
    let whole = html::move_scripts_out(&assembled(&index, document.mark, &program(&script, &wasm), file)?);
    html::check(&whole.html).map_err(CommandFailure::new)?;
    for moved in &whole.scripts {
        write(&folder.join(&moved.name), moved.body.as_bytes())?;
    }
    write(&folder.join(document.file), whole.html.as_bytes())?;
    let boot = whole.scripts.into_iter().find(|moved| moved.body.contains(&wasm));
    boot.map(|moved| moved.name).ok_or_else(|| {
        CommandFailure::new(format!("no script of the page loads {wasm}: {MARK}rel=\"rust\"> is missing"))
    })
}

/// The HTML with what its marked tags stand for, those that are meant for the document `mark` alone or for
/// all. `file` ships a file and gives back its new name. Fails at a marked tag that is not closed or not
/// known.
fn assembled(
    index: &str,
    mark: &str,
    program: &str,
    mut file: impl FnMut(&str) -> CommandResult<String>,
) -> CommandResult<String> {
    let mut whole = String::with_capacity(index.len());
    let mut rest = index;
    while let Some((before, after)) = rest.split_once(MARK) {
        whole.push_str(before);
        let (tag, behind) = after
            .split_once('>')
            .ok_or_else(|| CommandFailure::new(format!("web/index.html: `{MARK}` is not closed")))?;
        rest = behind;
        if attribute(tag, "data-only").is_some_and(|only| only != mark) {
            continue;
        }
        let href = attribute(tag, "href");
        match (attribute(tag, "rel"), href) {
            (Some("css"), Some(name)) => {
                whole.extend(["<link rel=\"stylesheet\" href=\"/", &file(name)?, "\">"]);
            }
            (Some("icon"), Some(name)) => {
                whole.extend(["<link rel=\"icon\" href=\"/", &file(name)?, "\">"]);
            }
            (Some("rust"), _) => whole.push_str(program),
            _ => {
                return Err(CommandFailure::new(format!(
                    "web/index.html: nothing is known of `{MARK}{tag}>`"
                )));
            }
        }
    }
    whole.push_str(rest);
    Ok(whole)
}

/// What loads and starts the program. It is fetched while the HTML is still read.
fn program(script: &str, wasm: &str) -> String {
    format!(
        "<link rel=\"modulepreload\" href=\"/{script}\" crossorigin=\"anonymous\">\n\
         <link rel=\"preload\" href=\"/{wasm}\" crossorigin=\"anonymous\" as=\"fetch\" type=\"application/wasm\">\n\
         <script type=\"module\">\nimport init from '/{script}';\nawait init({{ module_or_path: '/{wasm}' }});\n</script>"
    )
}

/// The value of an attribute, in double quotes.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut attributes = tag.split_whitespace();
    attributes.find_map(|it| it.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

/// A file's name with its hash in front of the ending, without its folder.
fn named(path: &str, bytes: &[u8]) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("{stem}-{}.{ending}", html::hash(bytes))
}

#[cfg(test)]
mod tests;
