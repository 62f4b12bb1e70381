//! `fanlight docs`: prints a document of the built-in help, which a hub shows at `/help`. Errors of the other commands name such documents,
//! since whoever has only the binary does not have them otherwise.

use std::io::Write;

use super::{CommandError, ResultOutput};
use crate::args::DocsArgs;

/// Prints the document that `args` names, as it is written, or the names and titles of all.
pub(crate) fn run<W: Write>(args: &DocsArgs, mut output: ResultOutput<W>) -> Result<(), CommandError> {
    let texts = edge::help_texts();
    let Some(wanted) = &args.document else {
        let listed = texts.iter().filter(|(name, _)| !name.starts_with("decisions/"));
        let lines: Vec<_> = listed.map(|(name, text)| format!("{name:<36} {}", title(text))).collect();
        return output.line(&lines.join("\n"));
    };
    // As a file of the repository and as an address of the help, too.
    let name = wanted.trim_start_matches('/').trim_start_matches("help/").trim_start_matches("docs/");
    let name = name.trim_end_matches(".md").to_lowercase();
    let text = texts.get(&name).ok_or_else(|| CommandError::Usage {
        what: format!("there is no document {wanted:?}"),
        mend: String::from("`fanlight docs` lists all documents"),
    })?;
    output.bytes(text.as_bytes())
}

/// The first heading of a document.
fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! What is printed, and that errors name what there is.

    use std::path::{Path, PathBuf};

    use super::*;

    fn printed(document: Option<&str>) -> Result<String, CommandError> {
        let mut written = Vec::new();
        let args = DocsArgs { document: document.map(str::to_owned) };
        run(&args, ResultOutput::to(&mut written))?;
        Ok(String::from_utf8(written).expect("text"))
    }

    #[test]
    fn a_document_is_printed_by_each_of_its_names() {
        let operations = printed(Some("operations")).expect("a document");
        assert!(operations.starts_with("# "), "{operations}");
        for name in ["docs/operations.md", "/help/operations", "Operations"] {
            assert_eq!(printed(Some(name)).ok().as_deref(), Some(operations.as_str()), "{name}");
        }
        let refused = printed(Some("operation")).expect_err("no document").to_string();
        assert_eq!(refused, "there is no document \"operation\"\n  `fanlight docs` lists all documents");
    }

    #[test]
    fn all_documents_are_listed_with_their_titles() {
        let all = printed(None).expect("a list");
        assert!(all.lines().any(|line| line.starts_with("integrations/proxy ") && line.len() > 40), "{all}");
        assert!(!all.contains("decisions/"), "{all}");
    }

    /// The program's own files that are not tests.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let all = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
        all.filter(|path| !path.to_string_lossy().contains("tests") && !path.ends_with("docs.rs")).collect()
    }

    #[test]
    fn errors_name_documents_that_the_binary_has() {
        let texts = edge::help_texts();
        let mut named = 0;
        for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                assert!(!line.contains("docs/"), "{}: {line}", path.display());
                for behind in line.split("`fanlight docs ").skip(1) {
                    let name = behind.split('`').next().unwrap_or_default();
                    assert!(texts.contains_key(name), "{}: {name}", path.display());
                    named += 1;
                }
            }
        }
        assert!(named >= 15, "{named}");
    }
}
