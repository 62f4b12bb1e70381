//! Files of `server/edge` that take the whole state of the hub, `Shared`, where one part of it would serve. What takes all of it can be
//! tested only beside all of it, and is compiled when any part changes. Those that there were before this was counted stay until
//! somebody mends them, and their number only falls.

use super::source::names;
use super::{RuleViolation, SourceTree};

/// Where this number is.
const TABLE: &str = "xtask/src/tidy/whole_state.rs";

/// Where the state is used.
const HOME: &str = "server/edge/src/";

/// Where it is made, and where the hub is that serves with it.
const OWNERS: [&str; 2] = ["server/edge/src/state.rs", "server/edge/src/lib.rs"];

/// How many files outside tests still name it.
pub(super) const LEFT: usize = 26;

/// Whether there are more than are left, or fewer than is written.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    let takers = tree.sources.iter().filter(|source| {
        source.path.starts_with(HOME)
            && !OWNERS.contains(&source.path.as_str())
            && !source.is_test()
            && source.lines.iter().any(|line| names(&line.code, "Shared"))
    });
    let found = takers.count();
    let mut say = |file: &str, message: String| {
        findings.push(RuleViolation { file: file.to_owned(), line: 1, rule: "state", message });
    };
    // Where the table is not in the tree, it is no tree of the product but one of a test.
    if found < LEFT && tree.source(TABLE).is_some() {
        say(TABLE, format!("{found} files take the whole state; say so in LEFT"));
    }
    if found > LEFT {
        let message = format!(
            "{found} files take the whole state, and {LEFT} may: take the Hub, the Fanout or the part that the new file uses"
        );
        say(HOME, message);
    }
}
