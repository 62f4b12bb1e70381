//! `docs/seeds.md` lists every point of the seed documents. Each row names tests that there are, or says why the point is
//! not done. `docs/attacks.md` lists the attacks of the wall in the same way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where tests are.
const ROOMS: [&str; 6] = ["tests", "shared", "server", "web/src", "web/decoder/src", "integrations"];

/// The row of a point: its number, and who shows it.
struct Row<'a> {
    number: &'a str,
    shown_by: &'a str,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let cells = |line: &'_ str| -> Option<(usize, usize)> {
        let first = line.strip_prefix("| ")?.find(" | ")?;
        Some((first + 2, line.strip_suffix(" |")?.rfind(" | ")?))
    };
    let row = |line| {
        let (first, last) = cells(line)?;
        let number = line.get(2..first)?;
        number.starts_with(|sign: char| sign.is_ascii_digit()).then_some(())?;
        Some(Row { number, shown_by: line.get(last + 3..line.len() - 2)? })
    };
    page.lines().filter_map(row).collect()
}

/// The files with sources below `folder`, at any depth; packages that are installed there are not ours.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "node_modules" && name != "target" {
            sources(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "py") {
            files.push(path);
        }
    }
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for room in ROOMS {
        sources(&root.join(room), &mut files);
    }
    let mut names = BTreeSet::new();
    for file in files {
        let (text, mut is_test) = (std::fs::read_to_string(&file).unwrap(), false);
        for line in text.lines().map(str::trim) {
            let line = line.strip_prefix("pub(super) ").unwrap_or(line);
            let line = line.strip_prefix("async ").unwrap_or(line);
            let name = line
                .strip_prefix("fn ")
                .or_else(|| line.strip_prefix("def ").filter(|it| it.starts_with("test_")));
            if let Some(name) = name {
                if is_test || line.starts_with("def ") {
                    names.extend(name.split('(').next().map(str::to_owned));
                }
                is_test = false;
            } else if line.starts_with("#[") && line.contains("test") {
                is_test = true;
            } else if line.starts_with('}') {
                is_test = false;
            }
        }
    }
    names
}

#[test]
fn every_point_of_the_seed_documents_has_a_test_or_a_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/seeds.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (rows, tests) = (rows(&page), tests());
    let mut wrong = Vec::new();
    for Row { number, shown_by } in &rows {
        if shown_by.strip_prefix("not done, because ").is_some_and(|why| why.len() > 10) {
            continue;
        }
        let names: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            wrong.push(format!("{number} names no test and gives no reason"));
        }
        let unknown = names.iter().filter(|name| !tests.contains(**name));
        wrong.extend(unknown.map(|name| format!("{number}: there is no test {name}")));
    }
    assert_eq!(wrong, Vec::<String>::new());
    let numbers: BTreeSet<_> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers.len(), rows.len(), "a number stands twice");
    let seeds: BTreeSet<_> = numbers.iter().filter_map(|number| number.split('.').next()).collect();
    assert_eq!(seeds.into_iter().collect::<Vec<_>>(), ["0", "1", "2", "3", "4"]);
}

/// The first two rows of a table are its head.
const HEAD: usize = 2;

#[test]
fn each_row_of_the_wall_of_attacks_names_its_tests_and_the_tests_of_those() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/attacks.md");
    let (page, tests) = (std::fs::read_to_string(page).unwrap(), tests());
    let mut wrong = Vec::new();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with('|')).skip(HEAD).collect();
    for (row, line) in rows.iter().enumerate() {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, refused, without] = cells.as_slice() else {
            wrong.push(format!("{line} has not four cells"));
            continue;
        };
        assert_eq!(*number, (row + 1).to_string());
        for (cell, may_lack) in [(refused, false), (without, true)] {
            let has_reason =
                may_lack && cell.strip_prefix("none, because ").is_some_and(|why| why.len() > 10);
            let names: Vec<_> = cell.split('`').skip(1).step_by(2).collect();
            if names.is_empty() && !has_reason {
                wrong.push(format!("{number} names no test and gives no reason"));
            }
            let unknown = names.iter().filter(|name| !has_reason && !tests.contains(**name));
            wrong.extend(unknown.map(|name| format!("{number}: there is no test {name}")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // The other way round: no attack of the wall is left out.
    let named: BTreeSet<_> = page.split('`').skip(1).step_by(2).collect();
    let left: Vec<_> =
        tests.iter().filter(|name| name.contains("attack_") && !named.contains(&***name)).collect();
    assert_eq!(left, Vec::<&String>::new(), "attacks that the table does not name");
}
