//! Unified diffs, recognized by their headers.

/// The kind of a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A line that stays.
    Same,
    /// A line that is added.
    Added,
    /// A line that is removed.
    Removed,
    /// A header or another line about the diff.
    Head,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The kind of the line.
    pub change: Change,
    /// The line, with its mark.
    pub text: String,
}

/// The beginnings of lines about the diff, outside hunks.
const HEADS: [&str; 12] = [
    "--- ",
    "+++ ",
    "@@ ",
    "diff ",
    "index ",
    "old mode",
    "new mode",
    "new file",
    "deleted file",
    "similarity ",
    "rename ",
    "\\ No newline",
];

/// The lines of `text`, if it is a unified diff.
pub(super) fn diff(text: &str) -> Option<Vec<Line>> {
    let mut before = ["", ""];
    let is_diff = text.lines().any(|line| {
        let [two, one] = before;
        before = [one, line];
        line.starts_with("@@ ") && one.starts_with("+++ ") && two.starts_with("--- ")
    });
    if !is_diff {
        return None;
    }
    let mut left = (0_usize, 0_usize);
    let line = |text: &str| {
        if text.starts_with("@@ ") {
            left = hunk(text);
        }
        // Within a hunk, a line that begins with `--- ` is a removed line.
        let is_inside = left != (0, 0) && !text.starts_with("@@ ");
        let change = match text.as_bytes().first() {
            _ if !is_inside && HEADS.iter().any(|head| text.starts_with(head)) => Change::Head,
            Some(b'+') => Change::Added,
            Some(b'-') => Change::Removed,
            Some(b'\\') => Change::Head,
            _ => Change::Same,
        };
        if is_inside {
            let (old, new) = left;
            left = match change {
                Change::Added => (old, new.saturating_sub(1)),
                Change::Removed => (old.saturating_sub(1), new),
                Change::Same => (old.saturating_sub(1), new.saturating_sub(1)),
                Change::Head => left,
            };
        }
        Line { change, text: text.to_owned() }
    };
    Some(text.lines().map(line).collect())
}

/// How many old and new lines a hunk has: two and three for `@@ -1,2 +1,3 @@`.
fn hunk(head: &str) -> (usize, usize) {
    let count = |mark: char| {
        let range = head.split(' ').find_map(|word| word.strip_prefix(mark)).unwrap_or_default();
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok()).unwrap_or(0)
    };
    (count('-'), count('+'))
}
