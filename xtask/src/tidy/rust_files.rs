//! What holds for every Rust file by itself: its head, its length, what it may not leave behind.
//!
//! Whether a file is test code says its path ([`SourceFile::is_test`]); test code may be longer and may not
//! sleep.

use super::RuleViolation;
use super::source::{SourceFile, names};

/// The hard ceiling of a file; 300 is what to aim at.
const LINES: usize = 500;
/// The ceiling of tests and benches: they are lists of cases.
const TEST_LINES: usize = 800;

/// Applies the rules to one file.
pub(crate) fn check(source: &SourceFile, findings: &mut Vec<RuleViolation>) {
    let mut found = |line: usize, rule: &'static str, message: String| {
        findings.push(RuleViolation { file: source.path.clone(), line, rule, message });
    };
    if !source.raw.starts_with("//!") {
        found(1, "head", "the file must start with a line `//! what this file is for`".to_owned());
    }
    let (length, ceiling) = (source.raw.lines().count(), if source.is_test() { TEST_LINES } else { LINES });
    if length > ceiling {
        let message =
            format!("{length} lines, and the ceiling is {ceiling}: find the second idea and move it out");
        found(ceiling + 1, "length", message);
    }
    if source.path.ends_with("/mod.rs") {
        found(
            1,
            "mod.rs",
            "name the file after its module: `foo.rs` beside `foo/`, never `foo/mod.rs`".to_owned(),
        );
    }
    for (number, line) in source.numbered() {
        let code = line.code.as_str();
        if code.contains("#[ignore") {
            let message =
                "no test is left out: assert what happens today and say what should, or remove the test";
            found(number, "ignore", message.to_owned());
        }
        if names(code, "todo!") || names(code, "unimplemented!") {
            found(number, "todo", "finish it, or leave it out and say so in the docs".to_owned());
        }
        if source.is_test() && source.path != "tests/src/wait.rs" && names(code, "sleep(") {
            let message = "tests wait for a state with a deadline: use the waits of tests/src/wait.rs";
            found(number, "sleep", message.to_owned());
        }
    }
}
