//! What a doc comment has to say: of each item what it is or does, and not where else to look.

use super::RuleViolation;
use super::source::SourceFile;

/// Fewest words of the doc comment of a type or function.
const WORDS_MIN: usize = 3;

/// What begins the line of an item whose doc comment is held to [`WORDS_MIN`]. Fields and variants may be shorter: their names
/// and types stand beside them.
const ITEMS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "fn "];

/// What may stand in front of an item.
const QUALIFIERS: [&str; 7] =
    ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe ", "extern "];

/// Applies the rules to one file.
pub(crate) fn check(source: &SourceFile, findings: &mut Vec<RuleViolation>) {
    let mut doc: Option<(usize, String)> = None;
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
            continue;
        }
        if let Some((first, text)) = doc.take()
            && let Some(message) = problem(text.trim(), code)
        {
            let file = source.path.clone();
            findings.push(RuleViolation { file, line: first, rule: "doc", message: message.to_owned() });
        }
    }
}

/// What is wrong with the doc comment `text` of the item that begins with `code`.
fn problem(text: &str, code: &str) -> Option<&'static str> {
    if text.contains("See the module") {
        return Some("say what the item is: its meaning, unit, bound or owner, not that the module says it");
    }
    // The name of a route or of a foreign event, or the variant that says what its struct is: those are whole.
    let is_name = text.starts_with('`') || text.starts_with("See [");
    let is_short = text.split_whitespace().count() < WORDS_MIN;
    (is_item(code) && is_short && !is_name).then_some("say in a sentence what the item is or does")
}

fn is_item(mut code: &str) -> bool {
    while let Some(rest) = QUALIFIERS.iter().find_map(|word| code.strip_prefix(word)) {
        code = rest;
    }
    ITEMS.iter().any(|word| code.starts_with(word))
}
