//! Patches as Codex's `apply_patch` takes them.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/a.rs
//! @@ fn main() {
//! -    old();
//! +    new();
//! *** End Patch
//! ```

use super::diff::{Change, Line};

/// The first line of a patch.
const BEGIN: &str = "*** Begin Patch";

/// The lines of `text`, if it is a patch. A command around it, such as `apply_patch <<'EOF'`, is a part of it.
pub(super) fn patch(text: &str) -> Option<Vec<Line>> {
    text.lines().take(3).find(|line| line.trim_end() == BEGIN)?;
    let mut is_inside = false;
    let line = |text: &str| {
        if text.starts_with("*** ") {
            is_inside = text.trim_end() != "*** End Patch";
        }
        let change = match text.as_bytes().first() {
            _ if !is_inside || text.starts_with("*** ") || text.starts_with("@@") => Change::Head,
            Some(b'+') => Change::Added,
            Some(b'-') => Change::Removed,
            _ => Change::Same,
        };
        Line { change, text: text.to_owned() }
    };
    Some(text.lines().map(line).collect())
}
