//! What a doc comment has to say: of each item what it is or does, and not where else to look. And the vocabulary: each
//! type that it names is in the file that it names.

use super::source::{SourceFile, names};
use super::{RuleViolation, SourceTree};

/// The document with the vocabulary, and where that begins.
const VOCABULARY: (&str, &str) = ("ARCHITECTURE.md", "## Vocabulary");

/// Fewest words of the doc comment of a type or function.
const WORDS_MIN: usize = 3;

/// What no doc comment says: it sends the reader away.
const POINTERS: [&str; 2] = ["See the module", "See the head of"];

/// Doc comments that say nothing of what they stand at, also at a field or a variant.
const EMPTY: [&str; 7] = ["What.", "How many.", "All.", "It does.", "It is.", "The same.", "Which."];

/// What begins the line of an item whose doc comment is held to [`WORDS_MIN`]. Fields and variants may be shorter: their names
/// and types stand beside them.
const ITEMS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "fn "];

/// What may stand in front of an item.
const QUALIFIERS: [&str; 7] =
    ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe ", "extern "];

/// Applies the rules to one file.
pub(crate) fn check(source: &SourceFile, findings: &mut Vec<RuleViolation>) {
    let mut doc: Option<(usize, String)> = None;
    let mut is_published = false;
    for (number, line) in source.numbered() {
        if line.code.trim().is_empty()
            && let Some(text) = line.comment.strip_prefix('/')
        {
            let (_, so_far) = doc.get_or_insert_with(|| (number, String::new()));
            so_far.push_str(text);
            continue;
        }
        let code = line.code.trim();
        if code.starts_with("#[") {
            is_published |= code.contains("JsonSchema");
            continue;
        }
        // The doc comment of a type in the schemas is its description there, which clients have.
        let is_published = std::mem::take(&mut is_published);
        if let Some((first, text)) = doc.take()
            && let Some(message) =
                problem(text.trim(), code).filter(|_| !is_published || is_refused_anywhere(text.trim()))
        {
            let file = source.path.clone();
            findings.push(RuleViolation { file, line: first, rule: "doc", message: message.to_owned() });
        }
    }
}

/// Checks each row `| term | meaning | `Type`, `Other` (`path`), … |` of the vocabulary.
pub(crate) fn vocabulary(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let (file, head) = VOCABULARY;
    let Some(document) = tree.text(file) else { return };
    let lines = (1..).zip(document.lines()).skip_while(|(_, line)| *line != head).skip(1);
    let rows = lines.take_while(|(_, line)| !line.starts_with("## "));
    for (line, row) in rows.filter(|(_, row)| row.starts_with("| ") && row.contains(".rs`)")) {
        let types = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        for group in types.split("`)") {
            let Some((listed, path)) = group.split_once("(`") else { continue };
            let code = tree.source(path).map(|source| source.raw.as_str()).unwrap_or_default();
            for name in listed.split('`').skip(1).step_by(2).filter(|name| !names(code, name)) {
                let message = format!("`{name}` is not in {path}: name the type and file as they are now");
                findings.push(RuleViolation { file: file.to_owned(), line, rule: "vocabulary", message });
            }
        }
    }
}

/// What is wrong with the doc comment `text` of the item that begins with `code`.
fn problem(text: &str, code: &str) -> Option<&'static str> {
    if is_refused_anywhere(text) {
        return Some(
            "say what the item is: its meaning, unit, bound or owner, and not that it is something or where to look",
        );
    }
    // The name of a route or of a foreign event, or the variant that says what its struct is: those are whole.
    let is_name = text.starts_with('`') || text.starts_with("See [");
    let is_short = text.split_whitespace().count() < WORDS_MIN;
    (is_item(code) && is_short && !is_name).then_some("say in a sentence what the item is or does")
}

/// Whether the doc comment says nothing wherever it stands: it points elsewhere, or is one of [`EMPTY`].
fn is_refused_anywhere(text: &str) -> bool {
    EMPTY.contains(&text) || POINTERS.iter().any(|pointer| text.contains(pointer))
}

/// Whether the line of code begins a type or a function.
fn is_item(mut code: &str) -> bool {
    while let Some(rest) = QUALIFIERS.iter().find_map(|word| code.strip_prefix(word)) {
        code = rest;
    }
    ITEMS.iter().any(|word| code.starts_with(word))
}
