//! Functions with a parameter `bool`: two functions, or an enum, say at the call what is meant. Those that there were before this was
//! counted stay until somebody mends them, and their number only falls.

use super::source::SourceFile;
use super::{RuleViolation, SourceTree};

/// The file with this table.
const TABLE: &str = "xtask/src/tidy/bools.rs";

/// How many functions outside tests still have one, by the folder of the crate.
pub(super) const LEFT: [(&str, usize); 15] = [
    ("shared/model/", 10),
    ("shared/dialects/", 53),
    ("shared/encode/", 7),
    ("shared/exchange/", 14),
    ("shared/redact/", 2),
    ("server/log/", 7),
    ("server/upstream/", 1),
    ("server/access/", 0),
    ("server/client/", 0),
    ("server/hub/", 10),
    ("server/agents/", 6),
    ("server/edge/", 10),
    ("server/fanlight/", 6),
    ("web/", 39),
    ("xtask/", 0),
];

/// Each crate that has more than are left, and each that has fewer than is written. Since the name that is
/// new cannot be told from the others, all of them are listed where there are too many.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    for (home, left) in LEFT {
        let here = tree.sources.iter().filter(|source| source.path.starts_with(home) && !source.is_test());
        let found: Vec<_> =
            here.flat_map(|source| with_bool(source).into_iter().map(move |at| (source, at))).collect();
        let mut say = |file: &str, line: usize, message: String| {
            findings.push(RuleViolation { file: file.to_owned(), line, rule: "bool", message });
        };
        // Where the table is not in the tree, it is no tree of the product but one of a test.
        if found.len() < left && tree.source(TABLE).is_some() {
            let message = format!("{home} has {} functions with a bool; say so in LEFT", found.len());
            say(TABLE, 1, message);
        }
        if found.len() > left {
            for (source, (line, name)) in found {
                let message = format!(
                    "{name} takes a bool, and {home} may have {left} of them: two functions, or an enum"
                );
                say(&source.path, line, message);
            }
        }
    }
}

/// The functions of a file with a parameter `bool`: line and name. The properties of components are no parameters.
fn with_bool(source: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut is_component, mut is_inner_test) = (false, false);
    for (number, line) in source.numbered() {
        let code = line.code.as_str();
        is_inner_test |= code.contains("mod tests {");
        is_component |= code.contains("#[component");
        let Some(name) = function(code).filter(|_| !is_inner_test) else { continue };
        let rest = source.lines.get(number - 1..).unwrap_or_default();
        let head: String = rest.iter().take(30).flat_map(|line| [line.code.as_str(), "\n"]).collect();
        let is_named = !std::mem::take(&mut is_component) && has_bool(&head, name);
        if is_named {
            found.push((number, name.to_owned()));
        }
    }
    found
}

/// The name of the function that begins on this line.
fn function(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let is_start = before.chars().next_back().is_none_or(|c| c == ' ' || c == '(');
    let end = after.find(|c: char| c != '_' && !c.is_alphanumeric())?;
    after.get(..end).filter(|name| is_start && !name.is_empty())
}

/// Whether one of the parameters of the function `name`, with which `head` begins, is a `bool`. Parameters
/// are taken apart at the commas outside of all brackets; `head` may go over several lines.
fn has_bool(head: &str, name: &str) -> bool {
    let Some((_, head)) = head.split_once(&format!("fn {name}")) else { return false };
    let mut depth = 0_i32;
    let (mut parameter, mut is_inside) = (String::new(), false);
    let ends =
        |parameter: &str| parameter.trim().split_once(':').is_some_and(|(_, kind)| kind.trim() == "bool");
    let mut before = ' ';
    for c in head.chars() {
        let is_arrow = before == '-' && c == '>';
        before = c;
        match c {
            '(' if !is_inside && depth == 0 => {
                is_inside = true;
                continue;
            }
            ')' if is_inside && depth == 0 => return ends(&parameter),
            ',' if is_inside && depth == 0 => {
                if ends(&parameter) {
                    return true;
                }
                parameter.clear();
                continue;
            }
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !is_arrow => depth -= 1,
            _ => {}
        }
        if is_inside {
            parameter.push(c);
        }
        // The whole head, with what is generic about it, was read and there is not a list of parameters.
        if !is_inside && c == ';' {
            return false;
        }
    }
    false
}
