//! Circles of imports: files of one crate that import each other in a loop, which nobody can read one after the other.
//!
//! What counts is what `use` names. A file and the files of its own folder are one room: imports between a module and the
//! modules inside of it are not counted.
//!
//! ```text
//! use lines ─▶ imports (paths) ─▶ resolve (from the root of the crate) ─▶ arrows: file → files ─▶ circles
//! ```

use super::source::SourceFile;
use super::{RuleViolation, SourceTree};
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle that may be, in files.
const FILES_MAX: usize = 6;

/// The name of a module: the path of its crate's source folder, then its modules.
type ModulePath = Vec<String>;

/// Applies the rule to every crate; test files are not looked at.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for source in tree.sources.iter().filter(|source| !source.is_test()) {
        if let Some((place, _)) = source.path.split_once("/src/") {
            crates.entry(place).or_default().push(source);
        }
    }
    for sources in crates.values() {
        for circle in circles(&arrows(sources)) {
            let [first, ..] = circle.as_slice() else { continue };
            if circle.len() > FILES_MAX {
                let message = format!(
                    "{} files import each other in a circle, and {FILES_MAX} may: {}; move what they share into a module below them",
                    circle.len(),
                    circle.join(", "),
                );
                findings.push(RuleViolation { file: first.clone(), line: 1, rule: "circle", message });
            }
        }
    }
}

/// The imports of each file, by path. An import counts for the deepest module of the path that is a file.
fn arrows(sources: &[&SourceFile]) -> BTreeMap<String, BTreeSet<String>> {
    let files: BTreeMap<ModulePath, &str> =
        sources.iter().map(|source| (module_of(&source.path), source.path.as_str())).collect();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let own = module_of(&source.path);
        let targets = arrows.entry(source.path.clone()).or_default();
        for path in imports(source) {
            let Some(absolute) = resolve(&own, &path) else { continue };
            let known = (0..=absolute.len()).rev().find_map(|n| {
                let prefix = absolute.get(..n)?;
                Some((prefix, *files.get(prefix)?))
            });
            if let Some((module, file)) = known
                && !own.starts_with(module)
                && !module.starts_with(&own)
            {
                targets.insert(file.to_owned());
            }
        }
    }
    arrows
}

/// The module that a file is: `a/src/b/c.rs` is `b`, `c`; the root of a crate is nothing.
fn module_of(path: &str) -> ModulePath {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let name = inside.trim_end_matches(".rs");
    let mut module: ModulePath = name.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    module
}

/// The path of `import`, as it stands in the module `own`, from the root of the crate; `None` where it names
/// another crate.
fn resolve(own: &[String], import: &[String]) -> Option<ModulePath> {
    let mut at: ModulePath = match import.first()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => own.to_vec(),
        _ => return None,
    };
    for part in import {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            part => at.push(part.to_owned()),
        }
    }
    Some(at)
}

/// Every path that a `use` of the file names, one for each leaf of its braces. A statement may go over
/// several lines.
pub(super) fn imports(source: &SourceFile) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut statement: Option<String> = None;
    for (_, line) in source.numbered() {
        let code = line.code.trim();
        let begins = code.strip_prefix("use ").or_else(|| {
            let rest = code.strip_prefix("pub")?;
            let rest = rest.strip_prefix('(').and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(rest);
            rest.trim_start().strip_prefix("use ")
        });
        match (&mut statement, begins) {
            (Some(open), _) => open.push_str(code),
            (None, Some(rest)) => statement = Some(rest.to_owned()),
            (None, None) => continue,
        }
        if statement.as_deref().is_some_and(|open| open.contains(';')) {
            let whole = statement.take().unwrap_or_default();
            leaves(&[], whole.split(';').next().unwrap_or_default(), &mut found);
        }
    }
    found
}

/// Takes `tree`, the part of a `use` after `prefix`, apart at its braces and commas.
fn leaves(prefix: &[String], tree: &str, found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let (head, inside) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.rsplit_once('}').map(|(inside, _)| inside)),
        None => (tree, None),
    };
    let head = head.split(" as ").next().unwrap_or_default();
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty());
    let path: Vec<String> = prefix.iter().cloned().chain(names.map(str::to_owned)).collect();
    let Some(inside) = inside else {
        if !tree.is_empty() {
            found.push(path);
        }
        return;
    };
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                leaves(&path, inside.get(from..at).unwrap_or_default(), found);
                from = at.saturating_add(1);
            }
            _ => {}
        }
    }
    leaves(&path, inside.get(from..).unwrap_or_default(), found);
}

/// The files that reach each other, each group sorted: the strongly connected parts of more than one file.
/// Two files are in one circle if each can be reached from the other.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (file.as_str(), reach(arrows, file))).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut circles = Vec::new();
    for (file, there) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|theirs| theirs.contains(file));
        let circle: Vec<&str> = there.iter().filter(back).copied().collect();
        if circle.len() > 1 && !seen.contains(file) {
            seen.extend(&circle);
            circles.push(circle.iter().map(|&it| it.to_owned()).collect());
        }
    }
    circles
}

/// Every file that `from` imports, also by way of others. `from` itself is among them only if it is in a
/// circle.
fn reach<'a>(arrows: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut there: BTreeSet<&str> = BTreeSet::new();
    let mut next: Vec<&str> = arrows.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(file) = next.pop() {
        if there.insert(file) {
            next.extend(arrows.get(file).into_iter().flatten().map(String::as_str));
        }
    }
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> SourceTree {
        let sources = files.iter().map(|(path, text)| SourceFile::new(*path, *text)).collect();
        SourceTree { sources, ..SourceTree::default() }
    }

    fn found(files: &[(&str, &str)]) -> Vec<RuleViolation> {
        let mut findings = Vec::new();
        check(&tree(files), &mut findings);
        findings
    }

    /// A ring of `n` files, each of which imports the next.
    fn ring(n: usize) -> Vec<(String, String)> {
        let file = |i: usize| {
            let next = (i + 1) % n;
            (format!("server/x/src/m{i}.rs"), format!("use crate::{{\n    m{next}::Thing,\n}};"))
        };
        (0..n).map(file).collect()
    }

    #[test]
    fn a_circle_of_seven_files_is_refused_and_one_of_six_is_not() {
        for (n, refused) in [(FILES_MAX, 0), (FILES_MAX + 1, 1)] {
            let files = ring(n);
            let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            assert_eq!(found(&files).len(), refused, "{n} files");
        }
    }

    #[test]
    fn paths_are_resolved_from_where_they_stand() {
        let file = SourceFile::new(
            "web/src/a/b.rs",
            "use super::c::{D, e::F as G};\npub(crate) use crate::h;\nuse std::fmt;",
        );
        let own = module_of(&file.path);
        let all: Vec<_> =
            imports(&file).iter().filter_map(|path| resolve(&own, path)).map(|it| it.join("::")).collect();
        assert_eq!(all, ["a::c::D", "a::c::e::F", "h"]);
    }

    #[test]
    fn a_module_and_what_is_inside_of_it_are_one_room() {
        let inside = "use super::Hub;";
        let mut files = vec![("server/x/src/hub.rs".to_owned(), String::from("use self::m0::A;"))];
        files.extend((0..9).map(|i| (format!("server/x/src/hub/m{i}.rs"), inside.to_owned())));
        let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found(&files), []);
    }
}
