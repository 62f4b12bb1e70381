//! `docs/seeds.md` lists every point of the seed documents, `docs/operator.md` every point of what an operator is shown, and
//! `docs/attacks.md` the attacks of the wall. Each row names tests that there are, or the command that measures it, or says why the point
//! is not done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where tests are.
const ROOMS: [&str; 7] =
    ["tests", "shared", "server", "web/src", "web/decoder/src", "integrations", "xtask/src"];

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

/// Where the benchmarks are, whose names the commands in the tables have.
const BENCHES: &str = "benches";

/// What is wrong with the rows of a page in `docs`, and the numbers of its chapters: the first halves of the rows' numbers.
fn checked(page: &str) -> (Vec<String>, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../docs").join(page)).unwrap();
    let (rows, tests) = (rows(&page), tests());
    let mut wrong = Vec::new();
    for Row { number, shown_by } in &rows {
        if shown_by.strip_prefix("not done, because ").is_some_and(|why| why.len() > 10) {
            continue;
        }
        let mut names: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            wrong.push(format!("{number} names no test and gives no reason"));
        }
        // What is measured names the command, whose benchmark is there.
        if let Some(command) = names.first().copied().filter(|_| shown_by.starts_with("measured by `")) {
            let bench = command.split_whitespace().skip_while(|word| *word != "--bench").nth(1);
            let file = |bench: &str| root.join(BENCHES).join(format!("{bench}.rs"));
            if !bench.is_some_and(|it| file(it).is_file() || root.join(BENCHES).join(it).is_dir()) {
                wrong.push(format!("{number}: there is no benchmark of {command}"));
            }
            names.remove(0);
        }
        let unknown = names.iter().filter(|name| !tests.contains(**name));
        wrong.extend(unknown.map(|name| format!("{number}: there is no test {name}")));
    }
    let numbers: BTreeSet<_> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers.len(), rows.len(), "a number stands twice");
    let mut chapters: Vec<String> =
        numbers.iter().filter_map(|number| number.split('.').next()).map(str::to_owned).collect();
    chapters.dedup();
    chapters.sort_by_key(|chapter| chapter.parse::<u32>().unwrap());
    chapters.dedup();
    (wrong, chapters)
}

#[test]
fn every_point_of_the_seed_documents_has_a_test_or_a_reason() {
    let (wrong, seeds) = checked("seeds.md");
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(seeds, ["0", "1", "2", "3", "4"]);
}

#[test]
fn every_point_of_what_an_operator_is_shown_has_a_test_or_a_reason() {
    let (wrong, chapters) = checked("operator.md");
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(chapters, (1..=32).map(|number: u32| number.to_string()).collect::<Vec<_>>());
}

/// Words that the page has another one for, and that one.
const OTHER_WORDS: [(&str, &str); 7] = [
    ("oddity", "warning"),
    ("oddities", "warnings"),
    ("anomaly", "warning"),
    ("anomalies", "warnings"),
    ("consent", "approval"),
    ("mend", "fix"),
    ("anew", "again"),
];

/// The texts in quotes of a line of code, if it is none of comment.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    let code = Some(line.trim()).filter(|line| !line.starts_with("//"));
    code.into_iter().flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[test]
fn the_page_has_one_word_for_each_thing() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/src"), &mut files);
    let mut wrong = Vec::new();
    let mut read = 0;
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // What a reader sees has a space in it or begins large; anything else is a name in the code.
        let is_read = |text: &&str| text.contains(' ') || text.starts_with(char::is_uppercase);
        for text in code.lines().flat_map(texts).filter(is_read) {
            read += 1;
            let words: Vec<String> =
                text.split(|sign: char| !sign.is_alphabetic()).map(str::to_lowercase).collect();
            let other = OTHER_WORDS.iter().find(|(other, _)| words.iter().any(|word| word == other));
            wrong.extend(other.map(|(_, word)| format!("{}: {text:?}: say {word}", file.display())));
        }
    }
    assert!(read > 500, "the texts of the page are read: {read}");
    assert_eq!(wrong, Vec::<String>::new());
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
