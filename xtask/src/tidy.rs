//! The rules of this project that no compiler and no lint knows: layers, budgets, invariants, codes.
//!
//! Each finding names the file and line, the rule, and how to mend it. A rule about a file that does not exist yet is
//! silent; once the file is there, the rule holds.
//!
//! | module | holds |
//! |---|---|
//! | `rust_files` | the head and length of each file, what may not be left behind |
//! | `layers` | which words may not stand where |
//! | `words` | what doc comments say; the types of the vocabulary |
//! | `bools` | how many functions with a `bool` each crate still has |
//! | `whole_state` | how many files of `edge` still take the whole state |
//! | `rooms` | in which order the rooms of a crate are, and that none names one above it |
//! | `circles` | no circle of imports of more than six files |
//! | `documents` | invariants have tests, codes are documented, lints are inherited |
//! | `manifests` | which crate may name which |
//! | `fields` | every field of the wire has a bound, and the bound a test |
//!
//! The rules are pure: they look at a [`SourceTree`], which tests make of texts.

mod bools;
mod circles;
mod documents;
mod fields;
mod layers;
mod manifests;
mod rooms;
mod rust_files;
mod source;
mod whole_state;
mod words;

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use source::SourceFile;
use std::fmt;
use std::fs;
use std::path::Path;

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuleViolation {
    /// Path from the root of the tree, with `/`.
    pub(crate) file: String,
    /// The line in the file, from 1.
    pub(crate) line: usize,
    /// The name of the rule.
    pub(crate) rule: &'static str,
    /// What is wrong and how to mend it.
    pub(crate) message: String,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.file, self.line, self.rule, self.message)
    }
}

/// Everything that the rules look at, read once.
#[derive(Debug, Default)]
pub(crate) struct SourceTree {
    /// Every Rust file of the tree.
    pub(crate) sources: Vec<SourceFile>,
    /// Every manifest, and the documents that rules read: path and text.
    pub(crate) texts: Vec<(String, String)>,
}

impl SourceTree {
    /// The text of one manifest or document, if it exists.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| name == path).map(|(_, text)| text.as_str())
    }

    /// The Rust file at `path`, if it exists.
    pub(crate) fn source(&self, path: &str) -> Option<&SourceFile> {
        self.sources.iter().find(|source| source.path == path)
    }
}

/// Reads the tree below `root` and applies every rule. Prints each finding; fails if there is one.
pub(crate) fn run(root: &Path) -> CommandResult {
    let mut tree = SourceTree::default();
    read(root, "", &mut tree)?;
    let findings = check(&tree);
    for finding in &findings {
        say(finding);
    }
    match findings.len() {
        0 => {
            say(format!("tidy: {} Rust files keep the rules", tree.sources.len()));
            Ok(())
        }
        n => Err(CommandFailure::new(format!("tidy has {n} findings"))),
    }
}

/// All findings, by file and line.
pub(crate) fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        rust_files::check(source, &mut findings);
        layers::check(source, &mut findings);
        words::check(source, &mut findings);
    }
    bools::check(tree, &mut findings);
    circles::check(tree, &mut findings);
    documents::check(tree, &mut findings);
    manifests::check(tree, &mut findings);
    rooms::check(tree, &mut findings);
    fields::check(tree, &mut findings);
    whole_state::check(tree, &mut findings);
    words::vocabulary(tree, &mut findings);
    findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
    findings
}

/// Folders that hold no text of ours.
const SKIPPED: [&str; 3] = ["target", "dist", "node_modules"];

/// Reads Rust files, Markdown, manifests and schemas of the folder `inside` and below it. Names with a
/// leading dot are left out.
fn read(root: &Path, inside: &str, tree: &mut SourceTree) -> CommandResult {
    let folder = root.join(inside);
    let doing = || format!("reading {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(CommandFailure::io(doing()))? {
        names.push(entry.map_err(CommandFailure::io(doing()))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in names {
        if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = if inside.is_empty() { name.clone() } else { format!("{inside}/{name}") };
        let full = root.join(&path);
        let kind = Path::new(&name).extension().unwrap_or_default();
        if full.is_dir() {
            read(root, &path, tree)?;
        } else if kind == "rs" || kind == "md" || name == "Cargo.toml" || inside == "schema" {
            let text = fs::read_to_string(&full).map_err(CommandFailure::io(format!("reading {path}")))?;
            if kind == "rs" {
                tree.sources.push(SourceFile::new(path, text));
            } else {
                tree.texts.push((path, text));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
