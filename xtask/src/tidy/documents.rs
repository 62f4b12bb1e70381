//! What ties documents and manifests to the code: invariants have tests, codes are documented, lints are inherited.

use super::source::{SourceFile, names};
use super::{RuleViolation, SourceTree};

/// The invariants that tests pin today. Whoever proves another one adds its number.
const PROVEN: [u8; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// The document that states the invariants.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// The file with the codes of the wire.
const CODES: &str = "shared/model/src/code.rs";
/// The document that explains them.
const PROTOCOL: &str = "docs/protocol.md";

/// Applies the rules that look at more than one file.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    manifests(tree, findings);
    invariants(tree, findings);
    codes(tree, findings);
}

/// Each crate inherits the workspace's lints, unless it is a workspace of its own.
fn manifests(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let manifests = tree.texts.iter().filter(|(path, _)| path.ends_with("/Cargo.toml"));
    for (path, text) in manifests.filter(|(_, text)| !text.lines().any(|line| line == "[workspace]")) {
        let mut lines = text.lines().skip_while(|line| line.trim() != "[lints]").skip(1);
        if lines.next().is_none_or(|line| line.replace(' ', "") != "workspace=true") {
            let message =
                "the crate must inherit the workspace's lints: add `[lints]` with `workspace = true`";
            findings.push(finding(path, 1, "lints", message));
        }
    }
}

/// Each proven invariant stands in the document and is named by a test.
fn invariants(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let Some(document) = tree.text(ARCHITECTURE) else { return };
    for number in PROVEN {
        let name = format!("I{number}");
        let Some((line, _)) = (1..).zip(document.lines()).find(|(_, line)| names(line, &name)) else {
            let message = format!("{name} is proven by tests and must be stated here");
            findings.push(finding(ARCHITECTURE, 1, "invariants", message));
            continue;
        };
        if !tree.sources.iter().filter(|source| source.is_test()).any(|source| names_invariant(source, &name))
        {
            let message = format!("no test names {name}: put it into a comment of the test that pins it");
            findings.push(finding(ARCHITECTURE, line, "invariants", message));
        }
    }
}

/// True when a comment or a test function of this file names the invariant.
fn names_invariant(source: &SourceFile, name: &str) -> bool {
    let function = format!("fn {}_", name.to_lowercase());
    source.lines.iter().any(|line| names(&line.comment, name) || line.code.contains(&function))
}

/// Each code that travels is explained in the protocol.
fn codes(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let (Some(source), Some(protocol)) = (tree.source(CODES), tree.text(PROTOCOL)) else { return };
    // Attributes hold words of the compiler, not of the wire.
    for (line, found) in source.numbered().filter(|(_, line)| !line.code.trim_start().starts_with("#[")) {
        for code in close_codes(&found.code).into_iter().chain(error_codes(&found.strings)) {
            if !names(protocol, &code) {
                let message =
                    format!("the code `{code}` is missing from {PROTOCOL}: say there what it means");
                findings.push(finding(CODES, line, "codes", message));
            }
        }
    }
}

/// Close codes: numbers from 4000 to 4999.
fn close_codes(code: &str) -> Vec<String> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(|word| word.replace('_', ""));
    words.filter(|word| word.parse().is_ok_and(|number: u32| (4000..5000).contains(&number))).collect()
}

/// Error codes: strings that are one lower-case word, with `_`, `-` or `.` inside.
fn error_codes(strings: &[String]) -> impl Iterator<Item = String> {
    let of_code = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    let is_code =
        move |text: &&String| text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(of_code);
    strings.iter().filter(is_code).cloned()
}

/// A finding in `file`.
fn finding(file: &str, line: usize, rule: &'static str, message: impl Into<String>) -> RuleViolation {
    RuleViolation { file: file.to_owned(), line, rule, message: message.into() }
}
